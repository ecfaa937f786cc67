package projector

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
	"github.com/quotashare/quotashare/wire"
)

// Usage is State.Usage with burn rates, which are those of the complete minutes
// before. An error is that of the context or of the store.
func (l *Loop) Usage(ctx context.Context, poolID string, clock int64) (u *usage.Snapshot, ok bool, err error) {
	x, ok, err := l.state.usage(ctx, poolID, clock)
	if !ok || err != nil {
		return nil, false, err
	}
	rows, err := l.History(connectionIDs(x.pool.doc))
	if err != nil {
		return nil, false, err
	}
	if err := errors.Join(x.addBurn(ctx, rows), rows.Close()); err != nil {
		return nil, false, err
	}
	return x.snapshot, true, nil
}

func connectionIDs(p *plans.Pool) []string {
	ids := make([]string, len(p.Connections))
	for i, c := range p.Connections {
		ids[i] = c.ConnectionID
	}
	return ids
}

// addBurn fills in the burn rates.
func (x *usageSheet) addBurn(ctx context.Context, rows *History) error {
	recent := usage.NewRecent(x.snapshot)
	from, to := recent.Span()
	keys, places := []string{""}, []int{-1} // the total, which has no row
	for key := range x.countedSince(from - MaxAhead) {
		row := x.rows[key]
		keys, places = append(keys, x.snapshot.Keys[row].ID), append(places, row)
	}
	err := rows.Minutes(ctx, keys, from/minuteMillis, to/minuteMillis, func(key int, m Minute) error {
		if key == 0 {
			recent.AddTotal(m.Minute*minuteMillis, m.Consumed)
		} else {
			recent.Add(places[key], m.Minute*minuteMillis, m.Consumed)
		}
		return nil
	})
	recent.Finish()
	return err
}

// countedSince returns the keys of the excerpt's rows that were counted at that
// log time or later; no others have rows of minutes that are later by more than
// MaxAhead. Most keys of a large pool are silent for hours.
func (x *excerpt) countedSince(time int64) map[ref]struct{} {
	keys := make(map[ref]struct{})
	for _, p := range x.counters.pairs.all {
		if p.key != 0 && x.counters.changed(p) >= time {
			keys[p.key] = struct{}{}
		}
	}
	return keys
}

// maxKeyAmounts is how many amounts of keys a history holds at most: some
// megabytes as JSON.
const maxKeyAmounts = 100_000

// UsageHistory returns what a pool used by time, for a normalized query, as of the
// last message folded; ok is false when there is no such pool. Which connections
// are the pool's, and which keys have an allocation of their own, is as of now
// too: a history has none of its own. A wire.Faults says that the query asks for
// too much, other errors are those of the context and of the store.
func (l *Loop) UsageHistory(ctx context.Context, q usage.Query) (h *usage.History, ok bool, err error) {
	pool, ok := l.state.Pool(q.PoolID)
	if !ok {
		return nil, false, nil
	}
	rows, err := l.History(connectionIDs(pool.Doc))
	if err != nil {
		return nil, false, err
	}
	x := newHistorian(pool.Doc, &q)
	if err := errors.Join(x.fill(ctx, rows), rows.Close()); err != nil {
		return nil, false, err
	}
	return x.h, true, nil
}

// historian makes a history out of minute rows.
type historian struct {
	h      *usage.History
	keys   []string // whose rows are read; the first may be "", for all keys
	own    int      // keys before it have no allocation of their own
	others bool     // only what the keys without one used is shown
	cells  map[cell]*quota.Amounts
}

// cell is a key's place in a row of a history.
type cell struct {
	time int64 // of the row
	key  int   // in historian.keys
}

// newHistorian decides whose rows are read. What the unlisted keys used is what
// the listed ones leave of the total.
func newHistorian(pool *plans.Pool, q *usage.Query) *historian {
	x := &historian{h: usage.NewHistory(q), keys: []string{""}, own: 1, others: q.Key == quota.AllOthers, cells: make(map[cell]*quota.Amounts)}
	for _, a := range pool.Allocations {
		if a.APIKeyID != quota.AllOthers {
			x.keys = append(x.keys, a.APIKeyID)
		}
	}
	if q.Key == "" || x.others {
		return x
	}
	if !slices.Contains(x.keys, q.Key) {
		x.keys = []string{q.Key}
	} else {
		x.keys, x.own = []string{q.Key}, 0
	}
	return x
}

func (x *historian) fill(ctx context.Context, rows *History) error {
	take := x.add
	if x.others {
		take = x.addOthers
	}
	err := rows.Minutes(ctx, x.keys, x.h.From/minuteMillis, x.h.To/minuteMillis, func(key int, m Minute) error {
		return take(x.h.Row(m.Minute*minuteMillis), key, &m)
	})
	x.addCells()
	return err
}

// add adds what a key used in a minute to the row that it lies in.
func (x *historian) add(r *usage.Row, key int, m *Minute) error {
	if total := key == 0; total {
		add(&r.Total, &m.Consumed, 1)
		add(&r.Adjusted, &m.Adjusted, 1)
	}
	if key < x.own {
		add(&r.Unlisted, &m.Consumed, 1)
		return nil
	}
	if x.own > 0 {
		add(&r.Unlisted, &m.Consumed, -1)
	}
	return x.addKey(r, key, m)
}

// addOthers shows the unlisted keys, as if there were no others.
func (x *historian) addOthers(r *usage.Row, key int, m *Minute) error {
	sign := quota.Amount(1)
	if key >= x.own {
		sign = -1
	}
	add(&r.Total, &m.Consumed, sign)
	add(&r.Unlisted, &m.Consumed, sign)
	add(&r.Adjusted, &m.Adjusted, sign)
	return nil
}

// addKey adds to the key's amounts in the row.
func (x *historian) addKey(r *usage.Row, key int, m *Minute) error {
	if m.Consumed == (quota.Amounts{}) {
		return nil
	}
	at := cell{r.Time, key}
	sum, there := x.cells[at]
	if !there {
		if len(x.cells) == maxKeyAmounts {
			return wire.Faults{{Field: "step", Problem: "gives more than " + strconv.Itoa(maxKeyAmounts) +
				" amounts of keys: use a larger step, a shorter time, or key for one of them"}}
		}
		sum = new(quota.Amounts)
		x.cells[at] = sum
	}
	add(sum, &m.Consumed, 1)
	return nil
}

// addCells puts what the keys used into the rows, in the order of the keys.
func (x *historian) addCells() {
	order := slices.SortedFunc(maps.Keys(x.cells), func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.key, b.key))
	})
	for _, at := range order {
		r := x.h.Row(at.time)
		r.PerKey = append(r.PerKey, usage.KeyAmounts{APIKeyID: x.keys[at.key], Amounts: *x.cells[at]})
	}
}

// add adds the amounts, or with sign -1 takes them away, held at the ends of
// int64.
func add(sum, more *quota.Amounts, sign quota.Amount) {
	for u := range sum {
		sum[u] = quota.AddSat(sum[u], sign*more[u])
	}
}
