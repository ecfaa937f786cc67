package sim

import (
	"fmt"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// setUp writes the configuration that a run begins with. The log takes it before
// anything can happen to it.
func (w *world) setUp() {
	if w.exact {
		p, dimensions := w.exactPool()
		for _, c := range p.Connections {
			w.log.store(putPlan(c.ConnectionID, dimensions))
		}
		w.log.store(putPool(p))
		return
	}
	for _, c := range w.names.connections {
		w.log.store(putPlan(c, w.plan()))
	}
	for _, id := range w.names.pools {
		w.log.store(putPool(w.pool(id)))
	}
}

// operate changes the configuration, and again later. Half of the time it takes
// away a pool and soon makes another of its connections.
func (w *world) operate() {
	if w.closing {
		return
	}
	id, connection := pick(w.dice, w.names.pools), pick(w.dice, w.names.connections)
	kinds, pause := []int{35, 20, 20, 5, 10, 5, 5}, int64(120_000)
	if w.paced {
		kinds, pause = []int{40, 5, 10, 1, 10, 30, 4}, 1_800_000
	}
	switch w.dice.kind(kinds...) {
	case 0:
		w.publish(putPool(w.pool(id)), 5, nil)
	case 1:
		w.publish(deletePool(id), 5, nil)
		p := w.pool(pick(w.dice, w.names.pools))
		w.after(w.dice.between(0, 30_000), func() { w.publish(putPool(p), 5, nil) })
	case 2:
		w.publish(putPlan(connection, w.plan()), 5, nil)
	case 3:
		w.publish(deletePlan(connection), 5, nil)
	case 4:
		w.publish(putSettings(w.settings()), 5, nil)
	case 5:
		w.correct()
	case 6:
		w.offerOne()
	}
	w.daemon(w.dice.between(0, pause), w.operate)
}

// correct gives back or takes what was counted wrong.
func (w *world) correct() {
	e := events.Event{
		Kind: events.Adjustment, ID: w.names.id("a"), APIKeyID: pick(w.dice, w.names.keys),
		ConnectionID: pick(w.dice, w.names.connections), RequestID: w.names.id(""), Reason: "a bill",
		Given: given(quota.Tokens, quota.Requests),
	}
	if len(w.names.asked) > 0 { // it settles no hold, whatever request it names
		last := pick(w.dice, w.names.asked)
		e.APIKeyID, e.RequestID = last.key, last.request
	}
	e.Cost[quota.Tokens] = tokens(w.dice.between(-2_000, 500))
	e.Cost[quota.Requests] = requests(w.dice.between(-3, 1))
	w.publish(w.draft(e), 5, nil)
}

// offerOne writes a hold that leaves the choice of one connection.
func (w *world) offerOne() {
	id := w.names.id("h")
	w.publish(w.draft(events.Event{
		Kind: events.Hold, ID: id, DecisionID: id, APIKeyID: pick(w.dice, w.names.keys), RequestID: w.names.id(""),
		Candidates: []events.Candidate{{ConnectionID: pick(w.dice, w.names.connections)}}, LeaseMs: 60_000, Cost: quota.Amounts{requests(1)}, Given: given(quota.Requests),
	}), 5, nil)
}

// tell lets a provider say how much is used, and again later.
func (w *world) tell() {
	if w.closing {
		return
	}
	d := w.dice
	e := events.Event{Kind: events.Saturation, ConnectionID: pick(d, w.names.connections)}
	if d.chance(70) {
		e.ID = w.names.id("s")
	}
	if d.chance(40) {
		e.Time = w.now - d.between(-10_000, 60_000)
	}
	for _, window := range some(d, []quota.Window{quota.Hourly, quota.FiveHour, quota.Daily, quota.Rate}, int(d.between(1, 3))) {
		r := events.Reading{Window: window, UsedPercent: quota.Amount(d.between(0, 110)) * 1_000_000}
		if d.chance(15) {
			r.UsedPercent = 100_000_000
		}
		if d.chance(25) {
			r.Scope = pick(d, w.names.scopes)
		}
		if d.chance(30) {
			r.UsedPercent = quota.Amount(d.between(0, 5_000_000))
		}
		if w.paced && d.chance(85) {
			w.goOn(&r, e.ConnectionID)
		} else if d.chance(60) { // resets lie in a grid, as those of providers do
			at := w.now + d.between(0, 3)*1_800_000
			r.ResetAt = at - at%1_800_000 + d.between(0, 50_000)
		}
		e.Readings = append(e.Readings, r)
	}
	if !w.paced || e.ConnectionID != w.silent {
		w.publish(w.draft(e), 3, nil)
	}
	w.daemon(d.between(0, 240_000), w.tell)
}

// goOn is a reading of a provider whose cycles end when they should, and in which a
// little more is used each time.
func (w *world) goOn(r *events.Reading, connection string) {
	width := r.Window.Millis()
	r.Scope, r.ResetAt = "", w.now+width-(w.now+777_000)%width
	cycle := fmt.Sprint(connection, " ", r.Window, " ", r.ResetAt)
	w.told[cycle] = min(w.told[cycle]+points(w.dice.between(0, 9)), points(98))
	r.UsedPercent = w.told[cycle]
}
