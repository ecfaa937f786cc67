package client

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/quotashare/quotashare/questions"
)

// Cause is why a question has no answer. Its text is in Decision.Degraded.
type Cause string

// The causes there are.
const (
	Timeout      Cause = "timeout"       // none came in time
	NoResponders Cause = "no-responders" // no engine listens
	Disconnected Cause = "disconnected"  // there is no connection to the broker
	BadReply     Cause = "bad-reply"     // what came was no answer
	EngineError  Cause = "engine-error"  // the engine says that it could not answer, and not that the question is bad
	Unsent       Cause = "unsent"        // the question could not be sent for another reason
	Canceled     Cause = "canceled"      // whoever asked has left
)

// Causes are all causes.
var causes = [...]Cause{Timeout, NoResponders, Disconnected, BadReply, EngineError, Unsent, Canceled}

// Errors of answers.
var (
	errBadReply = errors.New("the reply is none")
	errEngine   = errors.New("the engine could not answer")
)

// causeOf tells why asking gave err.
func causeOf(err error) Cause {
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, errNoResponders):
		return NoResponders
	case errors.Is(err, errDisconnected):
		return Disconnected
	case errors.Is(err, errBadReply):
		return BadReply
	case errors.Is(err, errEngine):
		return EngineError
	}
	return Unsent
}

// without is the decision when there is no answer.
func (c *Client) without(q *questions.Question, err error) Decision {
	cause := causeOf(err)
	c.counts.failed(cause, c.o.FailClosed)
	c.failures.say(cause, err, c.o.FailClosed)
	d := Decision{Degraded: []string{string(cause)}, Detail: err.Error(), ScoreFactor: 1, Hold: holdOf(q, "")}
	if !c.o.FailClosed {
		d.Allow, d.Reason, d.Status = true, ReasonFailOpen, 200
		return d
	}
	d.Reason, d.Status = ReasonDegraded, 503
	d.Message = "the quota engine gives no answer, and without one no request passes here: try again later (" + string(cause) + ")"
	if q.Reserve {
		c.giveUp(d.Hold)
	}
	return d
}

// giveUp releases what the engine may have held for a question that was answered
// without it. A release that the buffer does not take leaves the hold to its lease.
func (c *Client) giveUp(h Hold) { _ = c.Release(h) }

// sayEvery is how often one cause is in the log. A gateway with a thousand requests a
// second would otherwise write as many lines.
const sayEvery = 10 * time.Second

// failures says why there are no answers: each cause when it begins and then at most
// every sayEvery, with the number since.
type failures struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	since map[Cause]*silence
}

// silence is what has not been said of a cause.
type silence struct {
	said  time.Time
	count int
}

// say says it, or counts it for the next time. Who left does not need an answer, so
// that is only counted.
func (f *failures) say(cause Cause, err error, closed bool) {
	if cause == Canceled {
		return
	}
	f.mu.Lock()
	s := f.since[cause]
	if s == nil {
		s = new(silence)
		f.since[cause] = s
	}
	s.count++
	now, count := f.now(), s.count
	due := s.said.IsZero() || now.Sub(s.said) >= sayEvery
	if due {
		s.said, s.count = now, 0
	}
	f.mu.Unlock()
	if !due {
		return
	}
	what := "the quota engine gives no answer; requests pass unchecked"
	if closed {
		what = "the quota engine gives no answer; requests are blocked"
	}
	f.log.Warn(what, "cause", string(cause), "requests", count, "err", err)
}
