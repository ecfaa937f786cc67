package client

import "sync/atomic"

// Stats is what a client has done so far. All only grow, but for
// Waiting and OnDisk and their bytes.
type Stats struct {
	// Questions by what became of them; together they are all that were asked.
	Allowed      uint64
	Blocked      uint64
	FailedOpen   uint64 // allowed without an answer
	Left         uint64 // nobody waited for the answer any more
	FailedClosed uint64 // blocked without an answer
	Invalid      uint64 // not answerable

	Deprioritized uint64 // of Allowed
	Degraded      uint64 // of Allowed and Blocked: the engine's answer says degraded
	Failures      map[Cause]uint64

	// Events by what became of them.
	Published    uint64 // taken into the buffer: Stored + Spooled + TooLarge + Lost + Waiting
	Stored       uint64 // the log has them
	Spooled      uint64 // on disk, for a log that was away
	TooLarge     uint64 // the log takes no message of their size
	Lost         uint64 // not stored when Close's time was over
	Waiting      int
	WaitingBytes int
	Full         uint64 // refused: there was no room
	Malformed    uint64 // refused: no such event

	// Events on disk, those of the program before this one too, which it left there.
	OnDisk      int
	OnDiskBytes int64
	Drained     uint64 // the log has them
	Refused     uint64 // the log will never take them: they were put aside

	// Calls that Middleware passed on, by how they ended. The rest of Calls are under
	// way.
	Calls     uint64
	Settled   uint64 // charged
	Estimated uint64 // of Settled: what was cut before it stated its usage
	Released  uint64 // nothing came, or the provider refused
	Renewed   uint64 // leases

	Messages uint64 // of events that the log has
	Retries  uint64 // messages tried again
}

// Each gives every counter with its name in snake case, the failures by their cause
// as failures_timeout, in one order.
func (s *Stats) Each(yield func(name string, value uint64)) {
	yield("allowed", s.Allowed)
	yield("blocked", s.Blocked)
	yield("failed_open", s.FailedOpen)
	yield("left", s.Left)
	yield("failed_closed", s.FailedClosed)
	yield("invalid", s.Invalid)
	yield("deprioritized", s.Deprioritized)
	yield("degraded", s.Degraded)
	for _, cause := range causes {
		yield("failures_"+snake(cause), s.Failures[cause])
	}
	yield("published", s.Published)
	yield("stored", s.Stored)
	yield("spooled", s.Spooled)
	yield("too_large", s.TooLarge)
	yield("lost", s.Lost)
	yield("waiting", uint64(s.Waiting))
	yield("waiting_bytes", uint64(s.WaitingBytes))
	yield("full", s.Full)
	yield("malformed", s.Malformed)
	yield("on_disk", uint64(s.OnDisk))
	yield("on_disk_bytes", uint64(s.OnDiskBytes))
	yield("drained", s.Drained)
	yield("refused", s.Refused)
	yield("calls", s.Calls)
	yield("settled", s.Settled)
	yield("estimated", s.Estimated)
	yield("released", s.Released)
	yield("renewed", s.Renewed)
	yield("messages", s.Messages)
	yield("retries", s.Retries)
}

func snake(c Cause) string {
	b := []byte(c)
	for i := range b {
		if b[i] == '-' {
			b[i] = '_'
		}
	}
	return string(b)
}

// counts are the counters of questions.
type counts struct {
	allowed, blocked, failedOpen, failedClosed, left, invalid atomic.Uint64
	deprioritized, degraded                                   atomic.Uint64
	failures                                                  [len(causes)]atomic.Uint64
}

// calls are the counters of Middleware.
type calls struct{ begun, settled, estimated, released, renewed atomic.Uint64 }

// fill reads the ends before the beginnings, so that no more have ended than begun.
func (c *calls) fill(s *Stats) {
	s.Estimated, s.Settled, s.Released = c.estimated.Load(), c.settled.Load(), c.released.Load()
	s.Renewed, s.Calls = c.renewed.Load(), c.begun.Load()
}

func (c *counts) decided(d *Decision) {
	if d.Allow {
		c.allowed.Add(1)
	} else {
		c.blocked.Add(1)
	}
	if d.Deprioritize {
		c.deprioritized.Add(1)
	}
	if len(d.Degraded) > 0 {
		c.degraded.Add(1)
	}
}

func (c *counts) failed(cause Cause, closed bool) {
	switch {
	case cause == Canceled: // the engine is not to blame
		c.left.Add(1)
	case closed:
		c.failedClosed.Add(1)
	default:
		c.failedOpen.Add(1)
	}
	for i := range causes {
		if causes[i] == cause {
			c.failures[i].Add(1)
		}
	}
}

func (c *counts) fill(s *Stats) {
	s.Allowed, s.Blocked, s.Invalid = c.allowed.Load(), c.blocked.Load(), c.invalid.Load()
	s.FailedOpen, s.FailedClosed, s.Left = c.failedOpen.Load(), c.failedClosed.Load(), c.left.Load()
	s.Deprioritized, s.Degraded = c.deprioritized.Load(), c.degraded.Load()
	s.Failures = make(map[Cause]uint64, len(causes))
	for i, cause := range causes {
		s.Failures[cause] = c.failures[i].Load()
	}
}
