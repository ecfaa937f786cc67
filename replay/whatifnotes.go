package replay

import (
	"slices"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/wire"
)

// remark says what may not be meant: what apply would warn of, and what misspelt names
// look like. One that nobody has an allocation or a limit by frees all that it should
// have bound, and the table alone would praise the rules for it. It is done where the
// range ends, as a name that comes up in it is no mistake.
func (w *whatIf) remark() {
	w.warn()
	w.remarkTold()
	seen := sightingsOf(w.sides[whatif.Before].p.State())
	for _, p := range w.t.Pools {
		if w.sides[whatif.Before].p.Missing().Count == 0 { // else nobody knows who was there
			w.strangers(p, seen)
		}
		if was := w.were[p.ID]; was != nil {
			w.leftOut(was, p, seen)
		}
	}
}

// warn notes what apply would warn of.
func (w *whatIf) warn() {
	s := w.sides[whatif.After].p.State()
	for _, p := range w.t.Pools {
		v, _ := s.Pool(p.ID)
		for _, f := range v.Warnings {
			w.note("pool %s: %s %s", wire.Show(p.ID), f.Field, f.Problem)
		}
	}
	for i := range w.t.Plans {
		if p := &w.t.Plans[i]; !p.Delete {
			for _, f := range s.Plan(p.ConnectionID).Warnings {
				w.note("plan %s: %s %s", wire.Show(p.ConnectionID), f.Field, f.Problem)
			}
		}
	}
}

// came remembers the pools that came in the range, for what is tried in their place.
func (w *whatIf) came() {
	for _, p := range w.t.Pools {
		if v, there := w.sides[whatif.Before].p.State().Pool(p.ID); there && w.were[p.ID] == nil {
			w.were[p.ID] = v.Doc
		}
	}
}

// strangers notes what a pool that is tried names for the first time, and nobody has
// used.
func (w *whatIf) strangers(p *plans.Pool, seen sightings) {
	was := w.were[p.ID]
	for _, a := range p.Allocations {
		if a.APIKeyID != quota.AllOthers && !seen.keys[a.APIKeyID] && !allots(was, a.APIKeyID) {
			w.note("pool %s has an allocation for key %s, by which nothing was consumed up to message %d: look whether it is spelt as its gateway spells it",
				wire.Show(p.ID), wire.Show(a.APIKeyID), w.made.To)
		}
	}
	for _, c := range p.Connections {
		if !seen.connections[c.ConnectionID] && !has(was, c.ConnectionID) {
			w.note("pool %s has connection %s, on which nothing was consumed up to message %d: look whether it is spelt as its gateway spells it",
				wire.Show(p.ID), wire.Show(c.ConnectionID), w.made.To)
		}
	}
}

// leftOut notes whom a pool had, that asked in the range, and has not any more as it is
// tried.
func (w *whatIf) leftOut(was, p *plans.Pool, seen sightings) {
	now := "so it is let pass while there is room"
	if allots(p, quota.AllOthers) {
		now = "so it shares that of all others"
	}
	for _, a := range was.Allocations {
		if w.rows[a.APIKeyID] != nil && !allots(p, a.APIKeyID) {
			w.note("pool %s has no allocation for key %s any more, which asks in the range, %s", wire.Show(p.ID), wire.Show(a.APIKeyID), now)
		}
	}
	after := w.sides[whatif.After].p.State()
	for _, c := range was.Connections {
		if seen.connections[c.ConnectionID] && after.Plan(c.ConnectionID).Pool == "" {
			w.note("connection %s was in pool %s and is in none any more, so nothing is blocked on it", wire.Show(c.ConnectionID), wire.Show(p.ID))
		}
	}
}

// allots reports whether a pool has an allocation of that name; none has none.
func allots(p *plans.Pool, apiKeyID string) bool {
	return p != nil && slices.ContainsFunc(p.Allocations, func(a plans.Allocation) bool { return a.APIKeyID == apiKeyID })
}

// has reports whether a pool has the connection; none has none.
func has(p *plans.Pool, connectionID string) bool {
	return p != nil && slices.ContainsFunc(p.Connections, func(c plans.Connection) bool { return c.ConnectionID == connectionID })
}
