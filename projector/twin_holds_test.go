package projector_test

import (
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

type requestName struct{ key, request string }

func nameOf(e *events.Event) requestName { return requestName{e.APIKeyID, e.RequestID} }

// hold opens a hold. There are no pools, so each is let pass, but for one that asks
// for any connection of a pool; of candidates there is one.
func (w *twin) hold(e *events.Event) {
	_, before := w.holds[nameOf(e)]
	delete(w.holds, nameOf(e))
	connection := e.ConnectionID
	if len(e.Candidates) > 0 {
		connection = e.Candidates[0].ConnectionID
	}
	if e.Pool != "" {
		w.counts.Holds.Refused++
		if before {
			w.counts.Holds.Withdrawn++
		}
		return
	}
	if at, settled := w.settled[nameOf(e)]; settled && w.logTime-at < 3_600_000 {
		w.counts.Holds.Late++
		if before {
			w.counts.Holds.Withdrawn++
		}
		return
	}
	w.counts.Holds.Opened++
	if before {
		w.counts.Holds.Replaced++
	}
	w.holds[nameOf(e)] = projector.OpenHold{
		Connection: connection, Key: e.APIKeyID, Model: e.Model, Amounts: e.Cost, End: w.logTime + e.LeaseMs, LeaseMs: e.LeaseMs,
	}
}

func (w *twin) release(e *events.Event) {
	if _, open := w.holds[nameOf(e)]; open {
		delete(w.holds, nameOf(e))
		w.counts.Holds.Released++
	}
}

func (w *twin) settle(e *events.Event) {
	x, open := w.holds[nameOf(e)]
	switch {
	case e.Kind != events.Consumption || e.RequestID == "":
	case e.Partial && open:
		for u, a := range e.Cost {
			x.Amounts[u] = max(x.Amounts[u]-a, 0)
		}
		x.End = w.logTime + x.LeaseMs
		w.holds[nameOf(e)] = x
	case e.Partial:
	default:
		if open {
			delete(w.holds, nameOf(e))
			w.counts.Holds.Settled++
		}
		if at, known := w.settled[nameOf(e)]; !known || w.logTime-at >= 3_600_000 {
			w.settled[nameOf(e)] = w.logTime
		}
	}
}

func (w *twin) expireHolds() {
	for name, x := range w.holds {
		if x.End <= w.logTime {
			delete(w.holds, name)
			w.counts.Holds.Expired++
		}
	}
}

// held reports whether a request is in flight on the connection.
func (w *twin) held(connection string) bool {
	for _, x := range w.holds {
		if x.Connection == connection {
			return true
		}
	}
	return false
}

func (w *twin) compareHolds(t *rapid.T, s *projector.State) {
	want := map[[16]byte]projector.OpenHold{}
	for name, x := range w.holds {
		want[projector.RequestOf(name.key, name.request)] = x
		if !s.HoldOpen(name.key, name.request) {
			t.Fatalf("%v is not open", name)
		}
	}
	if d := cmp.Diff(want, s.OpenHolds()); d != "" {
		t.Fatalf("holds (-twin +state):\n%s", d)
	}
	c := w.counts.Holds
	if n := c.Opened - c.Settled - c.Released - c.Expired - c.Replaced - c.Withdrawn; n != uint64(s.Holds().Open) {
		t.Fatalf("%+v, and %d are open", c, s.Holds().Open)
	}
	for name, at := range w.settled {
		if got, want := s.Settled(name.key, name.request), w.logTime-at < 3_600_000; got != want {
			t.Fatalf("%v was settled %d ms ago: known %t", name, w.logTime-at, got)
		}
	}
}
