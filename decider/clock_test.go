package decider

import (
	"sync/atomic"
	"time"
)

// clock is one that the test moves.
type clock struct{ atomic.Int64 }

func newClock() *clock {
	var c clock
	c.Store(time.Now().UnixMilli())
	return &c
}

func (c *clock) ms() int64    { return c.Load() }
func (c *clock) add(ms int64) { c.Add(ms) }

// soon looks for rows that are over all the time.
func soon(w *decisionsWriter) { w.every = time.Millisecond }
