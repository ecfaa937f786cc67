package sim

import (
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// hearExact is how a gateway of an exact run takes an answer: it sends nothing
// upstream without a hold, and uses what it held. So what is used can only stay
// within the limits if what is admitted does. Who heard nothing gives up its name
// too: a release of it may still be on its way.
func (c *call) hearExact(a answer) {
	w := c.w
	switch {
	case a.silent || a.degraded:
		w.after(0, c.release)
		return
	case !a.held:
		return
	}
	switch w.dice.kind(60, 10, 10, 10, 10) {
	case 0:
		w.after(c.life(), c.settleExactly)
	case 1:
		c.streamExactly(int(w.dice.between(1, 4)))
	case 2:
		w.after(c.life(), c.release)
	case 3:
		if c.rounds < 4 && c.spent == (quota.Amounts{}) {
			c.connection = pick(w.dice, w.check.model.PoolOf(c.connection).Connections).ConnectionID
			w.after(c.life(), c.ask)
			return
		}
		w.after(c.life(), c.settleExactly)
	default:
		w.report.count(Forgotten)
	}
}

// streamExactly reports a part only when the one before is stored: a part that
// came after the end would be used without being held.
func (c *call) streamExactly(n int) {
	if n == 0 {
		c.settleExactly()
		return
	}
	c.w.after(c.life(), func() {
		cost := c.part()
		c.spent[quota.Tokens] += cost[quota.Tokens]
		e := events.Event{Partial: true, Cost: cost, Given: given(quota.Tokens)}
		c.consume(e, func(stored bool) {
			if stored {
				c.streamExactly(n - 1)
			}
		})
	})
}

// settleExactly uses all that is left of the estimate.
func (c *call) settleExactly() {
	e := events.Event{Cost: c.estimate, Given: c.given}
	e.Cost[quota.Tokens] -= c.spent[quota.Tokens]
	c.consume(e, nil)
}
