package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/wire"
)

// share brings the rules of sharing that are tried into force on the side after. A pool
// keeps all else that the history says of it, so what came later still comes: that is why
// it is no document of the trial.
func (w *whatIf) share(ctx context.Context) error {
	w.shared = make(map[string]*whatif.Rule)
	for i := range w.t.Rules {
		r := &w.t.Rules[i]
		subject := events.ConfigPool.Subject(r.PoolID)
		w.shared[subject] = r
		pool, there := w.sides[whatif.After].p.State().Pool(r.PoolID)
		if !there {
			w.absent[subject] = fmt.Sprintf("rules: there was no pool %q, so another rule for it changes nothing", r.PoolID)
			continue
		}
		if err := w.put(ctx, subject, plans.AppendPoolJSON(nil, r.On(pool.Doc))); err != nil {
			return err
		}
		delete(w.set, subject)
	}
	return nil
}

// shares makes a message that brings a pool, or changes it, one that brings it with the
// rule tried. What is no such document the fold refuses as it is.
func shares(m *events.Message, r *whatif.Rule) {
	for _, it := range events.Decode(m, nil) {
		if it.Err != nil || it.Event.Delete {
			return
		}
		pool, faults := plans.ParsePool(it.Event.ConfigID, it.Event.Document)
		if len(faults) > 0 {
			return
		}
		m.Data = plans.AppendPoolJSON(nil, r.On(pool))
		m.Header = map[string][]string{events.HeaderConfig: {events.ConfigPut}}
		if it.Event.ID != "" {
			m.Header[events.HeaderMsgID] = []string{it.Event.ID}
		}
	}
}

// hears remembers whose provider speaks in the range.
func (w *whatIf) hears(m *events.Message) {
	if m.Subject != events.Saturation.String() {
		return
	}
	for _, it := range events.Decode(m, nil) {
		if it.Err == nil && !w.told[it.Event.ConnectionID] {
			w.told[strings.Clone(it.Event.ConnectionID)] = true
		}
	}
}

// remarkTold notes the pools tried of which a provider tells how much is used: that is
// the same on both sides, so what the one lets pass more never fills it.
func (w *whatIf) remarkTold() {
	var ids []string
	for _, p := range w.t.Pools {
		ids = append(ids, p.ID)
	}
	for i := range w.t.Rules {
		ids = append(ids, w.t.Rules[i].PoolID)
	}
	for _, id := range ids {
		pool, there := w.sides[whatif.After].p.State().Pool(id)
		if !there || !slices.ContainsFunc(pool.Doc.Connections, func(c plans.Connection) bool { return w.told[c.ConnectionID] }) {
			continue
		}
		resolved := w.sides[whatif.After].p.State().Resolved(pool.Doc.Connections[0].ConnectionID)
		if resolved != nil && slices.ContainsFunc(resolved.Dimensions, func(d plans.PoolDimension) bool { return d.Unit == quota.Percent }) {
			w.note("pool %s: how many percent are used the provider told, and that is the same on both sides: what would have been let pass more, or less, is not in it", wire.Show(id))
		}
	}
}
