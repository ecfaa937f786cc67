package projector

import (
	"errors"
	"slices"
	"strconv"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
	"github.com/quotashare/quotashare/wire"
)

// Usage is State.Usage with burn rates, which are those of the complete minutes
// before. An error is that of the store.
func (l *Loop) Usage(poolID string, clock int64) (u *usage.Snapshot, ok bool, err error) {
	x, ok := l.state.usage(poolID, clock)
	if !ok {
		return nil, false, nil
	}
	rows, err := l.History(connectionIDs(x.pool.doc))
	if err != nil {
		return nil, false, err
	}
	if err := errors.Join(x.addBurn(rows), rows.Close()); err != nil {
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
func (x *usageSheet) addBurn(rows *History) error {
	recent := usage.NewRecent(x.snapshot)
	from, to := recent.Span()
	read := func(key string, take func(time int64, a quota.Amounts)) error {
		return rows.Minutes(key, from/minuteMillis, to/minuteMillis, func(m Minute) { take(m.Minute*minuteMillis, m.Consumed) })
	}
	err := read("", recent.AddTotal)
	for key := range x.countedSince(from - MaxAhead) {
		row := x.rows[key]
		err = errors.Join(err, read(x.snapshot.Keys[row].ID, func(time int64, a quota.Amounts) { recent.Add(row, time, a) }))
	}
	recent.Finish()
	return err
}

// countedSince returns the keys of the excerpt's rows that were counted at that
// log time or later; no others have rows of minutes that are later by more than
// MaxAhead. Most keys of a large pool are silent for hours.
func (x *excerpt) countedSince(time int64) map[ref]struct{} {
	keys := make(map[ref]struct{})
	for i := range x.counters.pairs.n {
		if p := x.counters.pairs.at(i); p.key != 0 && x.counters.changed(p) >= time {
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
// too much, other errors are those of the store.
func (l *Loop) UsageHistory(q usage.Query) (h *usage.History, ok bool, err error) {
	pool, ok := l.state.Pool(q.PoolID)
	if !ok {
		return nil, false, nil
	}
	rows, err := l.History(connectionIDs(pool.Doc))
	if err != nil {
		return nil, false, err
	}
	x := &historian{pool: pool.Doc, rows: rows, h: usage.NewHistory(&q)}
	if err := errors.Join(x.fill(q.Key), rows.Close()); err != nil {
		return nil, false, err
	}
	return x.h, true, nil
}

// historian makes a history out of minute rows.
type historian struct {
	pool    *plans.Pool
	rows    *History
	h       *usage.History
	amounts int // of keys, so far
}

func (x *historian) fill(key string) error {
	switch {
	case key == "":
		return x.fillAll()
	case key == quota.AllOthers:
		return x.fillOthers()
	}
	own := slices.ContainsFunc(x.pool.Allocations, func(a plans.Allocation) bool { return a.APIKeyID == key })
	err := x.each(key, func(r *usage.Row, m *Minute) {
		add(&r.Total, &m.Consumed, 1)
		add(&r.Adjusted, &m.Adjusted, 1)
		if own {
			x.addKey(r, key, m)
		} else {
			add(&r.Unlisted, &m.Consumed, 1)
		}
	})
	return errors.Join(err, x.tooMany())
}

// fillAll shows all keys. What the unlisted ones used is what the listed ones
// leave of the total.
func (x *historian) fillAll() error {
	err := x.each("", func(r *usage.Row, m *Minute) {
		add(&r.Total, &m.Consumed, 1)
		add(&r.Adjusted, &m.Adjusted, 1)
		add(&r.Unlisted, &m.Consumed, 1)
	})
	for i := 0; err == nil && i < len(x.pool.Allocations); i++ {
		key := x.pool.Allocations[i].APIKeyID
		if key == quota.AllOthers {
			continue
		}
		err = errors.Join(x.each(key, func(r *usage.Row, m *Minute) {
			add(&r.Unlisted, &m.Consumed, -1)
			x.addKey(r, key, m)
		}), x.tooMany())
	}
	return err
}

// fillOthers shows the unlisted keys, as if there were no others.
func (x *historian) fillOthers() error {
	take := func(sign quota.Amount) func(*usage.Row, *Minute) {
		return func(r *usage.Row, m *Minute) {
			add(&r.Total, &m.Consumed, sign)
			add(&r.Unlisted, &m.Consumed, sign)
			add(&r.Adjusted, &m.Adjusted, sign)
		}
	}
	err := x.each("", take(1))
	for i := 0; err == nil && i < len(x.pool.Allocations); i++ {
		if key := x.pool.Allocations[i].APIKeyID; key != quota.AllOthers {
			err = x.each(key, take(-1))
		}
	}
	return err
}

// each calls fn for each minute of the key with the row that it lies in.
func (x *historian) each(key string, fn func(*usage.Row, *Minute)) error {
	return x.rows.Minutes(key, x.h.From/minuteMillis, x.h.To/minuteMillis, func(m Minute) {
		fn(x.h.Row(m.Minute*minuteMillis), &m)
	})
}

// addKey adds to the key's amounts in the row: the last ones, for keys are read
// one after the other.
func (x *historian) addKey(r *usage.Row, key string, m *Minute) {
	if m.Consumed == (quota.Amounts{}) || x.amounts > maxKeyAmounts {
		return
	}
	if n := len(r.PerKey); n == 0 || r.PerKey[n-1].APIKeyID != key {
		x.amounts++
		r.PerKey = append(r.PerKey, usage.KeyAmounts{APIKeyID: key})
	}
	add(&r.PerKey[len(r.PerKey)-1].Amounts, &m.Consumed, 1)
}

func (x *historian) tooMany() error {
	if x.amounts <= maxKeyAmounts {
		return nil
	}
	return wire.Faults{{Field: "step", Problem: "gives more than " + strconv.Itoa(maxKeyAmounts) +
		" amounts of keys: use a larger step, a shorter time, or key for one of them"}}
}

// add adds the amounts, or with sign -1 takes them away, held at the ends of
// int64.
func add(sum, more *quota.Amounts, sign quota.Amount) {
	for u := range sum {
		sum[u] = quota.AddSat(sum[u], sign*more[u])
	}
}
