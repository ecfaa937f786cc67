package natsapi

import (
	"strconv"
	"sync/atomic"
)

// Counts are the counters of a Server. All but Waiting only grow.
type Counts struct {
	Messages  atomic.Uint64 // that came in
	Questions atomic.Uint64 // that were read and decided
	Errors    atomic.Uint64 // questions and messages answered with an error
	NoReply   atomic.Uint64 // messages without reply subject, not answered
	Refused   atomic.Uint64 // messages whose reply subject is ours or the broker's, not answered
	Unsent    atomic.Uint64 // answers that the connection did not take
	Panics    atomic.Uint64
	Waits     atomic.Uint64 // messages that waited
	Hurried   atomic.Uint64 // messages that should have waited, but too many did
	Waiting   atomic.Int64  // messages that wait now
}

// Each gives every counter with its name in snake case.
func (c *Counts) Each(yield func(name string, value uint64)) {
	yield("messages", c.Messages.Load())
	yield("questions", c.Questions.Load())
	yield("errors", c.Errors.Load())
	yield("no_reply", c.NoReply.Load())
	yield("refused", c.Refused.Load())
	yield("unsent", c.Unsent.Load())
	yield("panics", c.Panics.Load())
	yield("waits", c.Waits.Load())
	yield("hurried", c.Hurried.Load())
	yield("waiting", uint64(max(c.Waiting.Load(), 0)))
}

// appendJSON appends the counters as an object, for the service's statistics.
func (c *Counts) appendJSON(dst []byte) []byte {
	mark := byte('{')
	c.Each(func(name string, value uint64) {
		dst = append(dst, mark)
		dst = strconv.AppendQuote(dst, name)
		dst = append(dst, ':')
		dst = strconv.AppendUint(dst, value, 10)
		mark = ','
	})
	return append(dst, '}')
}
