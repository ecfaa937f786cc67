package sim

import (
	"maps"
	"slices"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// writer puts hold events into the log and waits for their verdicts.
type writer struct {
	d       *decider
	queue   []events.Event
	flying  int // messages not acknowledged
	waiting map[string]*waiter
}

// waiter is a question whose verdict is on its way. It answers once.
type waiter struct {
	reserve
	expected  projector.Expected
	openFirst bool // the request was held on the view
	end       func(answer)
}

// reserve expects the event before it is written: its verdict can be there before
// its acknowledgement.
func (w *writer) reserve(r reserve, q questions.Question, viewAllow bool, end func(answer)) {
	id := w.d.w.names.id("h")
	w.d.w.check.views[id] = viewAllow
	x := &waiter{reserve: r, openFirst: w.d.state.HoldOpen(r.key, r.request), end: end}
	x.expected = projector.Expected{ID: id, Question: q, Done: make(chan struct{}, 1)}
	w.d.state.Expect(&x.expected)
	w.waiting[id] = x
	w.queue = append(w.queue, r.event(id))
	w.flush()
	if w.d.w.dice.chance(1) {
		w.d.after(w.d.w.dice.between(0, 10), w.d.stumble)
	}
	patience := int64(100)
	if w.d.w.dice.chance(20) {
		patience = w.d.w.dice.between(1, 3_000)
	}
	w.d.after(patience, func() { w.overdue(id) })
}

// flush writes what is queued as one message, while not too many are under way.
func (w *writer) flush() {
	if len(w.queue) == 0 || w.flying >= 2 {
		return
	}
	if len(w.queue) > 1 {
		w.d.w.report.count(WrittenTogether)
	}
	d := w.d.w.draft(w.queue...)
	w.queue = nil
	w.flying++
	// A dead decider's message can still be on its way, but nobody waits for it.
	w.d.w.publish(d, 3, func(bool) { w.d.after(0, w.landed) })
}

func (w *writer) landed() {
	w.flying--
	w.flush()
}

// collect looks which verdicts are there. Now and then a waiter is slow to wake,
// and its patience ends between the verdict and the look at it.
func (w *writer) collect() {
	for _, id := range slices.Sorted(maps.Keys(w.waiting)) {
		if len(w.waiting[id].expected.Done) == 0 {
			continue
		}
		if w.d.w.dice.chance(10) {
			w.d.after(w.d.w.dice.between(0, 100), func() { w.wake(id) })
		} else {
			w.wake(id)
		}
	}
}

func (w *writer) wake(id string) {
	if x := w.waiting[id]; x != nil {
		delete(w.waiting, id)
		x.deliver()
	}
}

func (x *waiter) deliver() {
	a := &x.expected.Asked
	verdict := a.Facts.Decide(a.Now)
	x.end(answer{allowed: verdict.Allowed(), held: x.expected.Held, reason: verdict.Reason.String(), retryMs: verdict.RetryMs})
}

// overdue gives up waiting, unless the verdict came meanwhile. A closed pool's
// block takes its hold back, unless one was there before it.
func (w *writer) overdue(id string) {
	x := w.waiting[id]
	if x == nil {
		return
	}
	delete(w.waiting, id)
	if w.d.state.Unexpect(&x.expected) {
		w.d.w.report.count(VerdictAtTheLastMoment)
		x.deliver()
		return
	}
	w.d.w.report.count(NoVerdict)
	w.d.w.say("%s gives up %s of %q", w.d.name, id, x.request)
	if x.closed && !x.openFirst {
		w.d.w.publish(w.d.w.draft(events.Event{Kind: events.Release, APIKeyID: x.key, RequestID: x.request}), 5, nil)
	}
	x.end(answer{allowed: !x.closed, degraded: true})
}
