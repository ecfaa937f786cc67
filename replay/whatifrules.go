package replay

import (
	"context"
	"fmt"
	"slices"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/wire"
)

// enforce brings the documents of the trial into force on the side after.
func (w *whatIf) enforce(ctx context.Context) error {
	if err := w.checkPools(); err != nil {
		return err
	}
	w.set = make(map[string]bool)
	for _, id := range w.t.Without {
		if err := w.put(ctx, events.ConfigPool.Subject(id), nil); err != nil {
			return err
		}
	}
	if err := w.putPools(ctx); err != nil {
		return err
	}
	if err := w.share(ctx); err != nil {
		return err
	}
	for i := range w.t.Plans {
		var doc []byte
		if p := &w.t.Plans[i]; !p.Delete {
			doc = plans.AppendPlanJSON(nil, p.ConnectionID, p.Dimensions)
		}
		if err := w.put(ctx, events.ConfigPlan.Subject(w.t.Plans[i].ConnectionID), doc); err != nil {
			return err
		}
	}
	if w.t.Settings.Kind == wire.Absent {
		return nil
	}
	next, faults := w.sides[whatif.After].p.State().Settings().Change(w.t.Settings)
	if err := faults.Err(); err != nil {
		return err
	}
	return w.put(ctx, events.SettingsSubject, plans.AppendSettingsJSON(nil, &next))
}

// checkPools reports what the pools that are tried have in common with those that
// stay.
func (w *whatIf) checkPools() error {
	var faults wire.Faults
	stay, known := map[string]string{}, map[string]bool{} // the pool of each connection; ids
	w.were = make(map[string]*plans.Pool)
	for _, p := range w.sides[whatif.After].p.State().Pools() {
		known[p.Doc.ID] = true
		w.were[p.Doc.ID] = p.Doc
		if slices.Contains(w.t.Without, p.Doc.ID) || slices.ContainsFunc(w.t.Pools, func(q *plans.Pool) bool { return q.ID == p.Doc.ID }) {
			continue
		}
		for _, c := range p.Doc.Connections {
			stay[c.ConnectionID] = p.Doc.ID
		}
	}
	w.absent = make(map[string]string)
	for _, id := range w.t.Without {
		if !known[id] {
			w.absent[events.ConfigPool.Subject(id)] = fmt.Sprintf("withoutPools: there was no pool %q, so to be without it changes nothing", id) // it may come in the range
		}
	}
	for i, p := range w.t.Pools {
		for k, c := range p.Connections {
			if other, taken := stay[c.ConnectionID]; taken {
				faults.Add(fmt.Sprintf("pools[%d].connections[%d].connectionId", i, k),
					fmt.Sprintf("is %s, which was in pool %s where the range begins: try that pool too, without it", wire.Show(c.ConnectionID), wire.Show(other)))
			}
		}
	}
	return faults.Err()
}

// putPools puts each pool when its connections are free. Those that wait for each
// other are let go of one by one.
func (w *whatIf) putPools(ctx context.Context) error {
	left := slices.Clone(w.t.Pools)
	for len(left) > 0 {
		i := slices.IndexFunc(left, w.isFree)
		if i < 0 {
			if err := w.put(ctx, events.ConfigPool.Subject(w.inTheWay(left)), nil); err != nil {
				return err
			}
			continue
		}
		if err := w.put(ctx, events.ConfigPool.Subject(left[i].ID), plans.AppendPoolJSON(nil, left[i])); err != nil {
			return err
		}
		left = slices.Delete(left, i, i+1)
	}
	return nil
}

// isFree reports whether no other pool has a connection of it.
func (w *whatIf) isFree(p *plans.Pool) bool { return w.owner(p) == "" }

// owner is another pool that has a connection of it, "" = none.
func (w *whatIf) owner(p *plans.Pool) string {
	s := w.sides[whatif.After].p.State()
	for _, c := range p.Connections {
		if id := s.Plan(c.ConnectionID).Pool; id != "" && id != p.ID {
			return id
		}
	}
	return ""
}

// inTheWay is a pool that has what the first one needs. It is one of those that are
// put later, for those that stay were checked.
func (w *whatIf) inTheWay(left []*plans.Pool) string { return w.owner(left[0]) }

// put puts a document on the side after, or deletes it (nil).
func (w *whatIf) put(ctx context.Context, subject string, doc []byte) error {
	s := w.sides[whatif.After]
	w.set[subject] = true
	m := events.Message{Subject: subject, Data: doc, Header: map[string][]string{events.HeaderConfig: {events.ConfigPut}}}
	if doc == nil {
		m.Header[events.HeaderConfig] = []string{events.ConfigDelete}
	}
	before := s.p.State().Counts().Rejected
	if err := s.fold(ctx, m); err != nil {
		return err
	}
	if s.p.State().Counts().Rejected != before {
		return fmt.Errorf("replay: the fold refuses %s as it is tried", subject)
	}
	return nil
}
