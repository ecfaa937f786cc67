package replay

import (
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
)

// cycle is one that is being found. The state has sums of it, and the instant of the
// reading that opened it: not its place in the log, which may be another, since readings
// come late and clocks are ahead; nor the usage that came before it for it, after the
// reset of the cycle before. So a twin of the meter reads again what the provider said.
// It is right when it ends as the meter does, with the usage of all keys.
type cycle struct {
	*projector.Cycle
	twin       *saturation.Meter
	open, next points // of the twin's cycles
}

// points are the events of the asker that have parts of a cycle.
type points struct {
	used   quota.Amounts
	events int
	top    []explanation.Event
}

func newCycle(c *projector.Cycle, w quota.Window) *cycle {
	return &cycle{Cycle: c, twin: saturation.NewMeter(w)}
}

func (c *cycle) sure() bool { return c.Is(c.twin) }

// began reports whether the twin is in the cycle.
func (c *cycle) began() bool { return c.twin.Number != 0 && c.twin.Start == c.Start }

// hear takes in a reading, with the life-time of a signal that the settings had last.
// What is held is not followed: it changes the pot alone, which the state has.
func (c *cycle) hear(r *events.Reading, at, ttl int64) {
	as, _ := c.twin.Read(saturation.Observation{Used: r.UsedPercent, ResetAt: r.ResetAt, At: at}, ttl)
	switch as {
	case saturation.Rollover:
		c.open, c.next = c.next, points{}
	case saturation.First, saturation.Replaced, saturation.EarlyReset:
		c.open, c.next = points{}, points{}
	}
}

// use counts an event as the meter does, and returns the points that it has a part of:
// those of the cycle that is open where it stands in the log, or those of the next one
// if its time is from the reset on. nil = of none: nothing was said yet, or it is a
// correction, which caused no use.
func (c *cycle) use(e *events.Event, at int64) *points {
	if c.twin.Number == 0 || e.Kind != events.Consumption {
		return nil
	}
	c.twin.Use(0, at, &e.Cost, e.Given>>quota.USD&1 != 0)
	if c.twin.ResetAt != 0 && at >= c.twin.ResetAt {
		return &c.next
	}
	return &c.open
}

// add adds an event of that cost.
func (p *points) add(e *explanation.Event, cost *quota.Amounts, most int) {
	for u := range p.used {
		p.used[u] = quota.AddSat(p.used[u], cost[u])
	}
	p.events++
	p.top = top(p.top, e, most)
}
