package sim

import (
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/sim/model"
)

// tug has two requests share a pool to the brim before anybody else comes. One is
// given up, and at about that moment the other one wants all of it, or more. Whether its
// decider sees the end of the first or not, the log has it in its order: a block on
// the view must not be the answer. By chance alone this is too rare to be relied on.
func (w *world) tug() {
	for _, id := range w.names.pools {
		p := w.check.model.Pools[id]
		if p == nil || p.Mode != plans.Enforce {
			continue
		}
		connection := p.Connections[0].ConnectionID
		lines := w.check.model.Lines(&model.Question{Key: "b", Connection: connection}, w.now)
		if len(lines) == 0 || lines[0].Limit == 0 {
			continue
		}
		unit, limit := lines[0].Unit, lines[0].Limit
		stays, goes := w.tugger(connection, unit, limit/3), w.tugger(connection, unit, limit-limit/3)
		stays.script = func(answer) {
			stays.script = nil
			stays.estimate[unit] = limit * quota.Amount(w.dice.between(1, 2))
			w.after(w.dice.between(994, 1_003), stays.ask)
		}
		goes.script = func(answer) {
			e := events.Event{Kind: events.Release, APIKeyID: goes.key, RequestID: goes.request}
			w.after(1_000, func() { w.publish(w.draft(e), 5, nil) })
		}
		stays.ask()
		goes.ask()
	}
}

func (w *world) tugger(connection string, u quota.Unit, amount quota.Amount) *call {
	c := &call{w: w}
	c.key, c.connection, c.lease = "b", connection, 3_600_000
	c.request = w.names.request(w.dice, c.key)
	c.given = given(quota.Requests, u)
	c.estimate[u] = amount
	return c
}
