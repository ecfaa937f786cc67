package saturation

import (
	"iter"
	"math"
	"math/bits"

	"github.com/quotashare/quotashare/quota"
)

// Usage is what was consumed through us in one cycle.
type Usage struct{ Requests, Tokens, USD quota.Amount }

// Minus returns the usage without v, which is a part of it.
func (u Usage) Minus(v Usage) Usage {
	return Usage{u.Requests - v.Requests, u.Tokens - v.Tokens, u.USD - v.USD}
}

// plus returns the usage with v.
func (u Usage) plus(v Usage) Usage {
	return Usage{u.Requests + v.Requests, u.Tokens + v.Tokens, u.USD + v.USD}
}

// Use counts a consumption of the key at its place in the log. It is of the
// cycle that is open there, whatever its time, since providers count a request
// when they meter it; only what has a time from the cycle's reset on is of the
// next. priced says that the event had usd, be it 0.
func (m *Meter) Use(key uint32, at int64, cost *quota.Amounts, priced bool) {
	if m.Number == 0 {
		return
	}
	u := Usage{cost[quota.Requests], cost[quota.Tokens], cost[quota.USD]}
	if m.over(at) {
		m.next.add(key, u)
		m.NextUnpriced = m.NextUnpriced || !priced
		m.NextNewest = max(m.NextNewest, at)
	} else {
		m.local.add(key, u)
		m.Unpriced = m.Unpriced || !priced
		m.Newest = max(m.Newest, at)
		m.Waiting = true
	}
	m.changed = true
}

// Local returns the key's usage in the open cycle.
func (m *Meter) Local(key uint32) Usage { return m.local.of(key) }

// LocalTotal returns the usage of all keys in the open cycle. Without that of
// the listed keys it is that of all others, which Part judges as one.
func (m *Meter) LocalTotal() Usage { return m.local.total }

// Part returns the points of the pot that a usage of the open cycle caused:
//
//	floor(pot × usage / usage of all)
//
// by usd when every event of the cycle had it and their sum is more than 0, else
// by tokens when there are any, else by requests; 0/0 is 0. It counts until
// PartsUntil.
//
// The split is over the whole cycle, not over the interval between two readings:
// providers report whole points, and long streams report their tokens at their
// end, so what an interval shows is mostly somebody else's.
func (m *Meter) Part(u Usage) quota.Amount {
	share, all := m.weigh(u)
	if all <= 0 {
		return 0
	}
	// share ≤ all, so the quotient fits and is at most the pot.
	hi, lo := bits.Mul64(uint64(m.Pot), uint64(min(max(share, 0), all)))
	q, _ := bits.Div64(hi, lo, uint64(all))
	return quota.Amount(q)
}

// weigh returns a usage and that of all keys in the unit that splits.
func (m *Meter) weigh(u Usage) (share, all quota.Amount) {
	switch t := &m.local.total; m.SplitBy() {
	case quota.USD:
		return u.USD, t.USD
	case quota.Tokens:
		return u.Tokens, t.Tokens
	default:
		return u.Requests, t.Requests
	}
}

// SplitBy returns the unit by which the points are split: dollars when all usage has a
// price, else tokens, and requests when nothing else is known.
func (m *Meter) SplitBy() quota.Unit {
	switch t := &m.local.total; {
	case !m.Unpriced && t.USD > 0:
		return quota.USD
	case t.Tokens > 0:
		return quota.Tokens
	default:
		return quota.Requests
	}
}

// Keys returns how many keys have usage in the open cycle.
func (m *Meter) Keys() int { return int(m.local.n) }

// Attributed returns the parts of all keys, in points, which count until
// PartsUntil. It takes a step for every one of the Keys. Part(LocalTotal()) takes
// one, and is more by less than a millionth of a point for each key.
func (m *Meter) Attributed() (points quota.Amount) {
	for _, u := range m.local.all() {
		points += m.Part(u)
	}
	return points
}

// Unattributed returns the points of the level at instant now that are no key's
// part; ok is false when the level is unknown. It takes a step for every key.
func (m *Meter) Unattributed(now, ttl int64) (points quota.Amount, ok bool) {
	l, ok := m.At(now, ttl)
	if !ok || now >= m.PartsUntil() {
		return l.Used, ok
	}
	return l.Used - m.Attributed(), true
}

// ledger is the usage of many keys. Rows lie in chunks that never move, and
// only the index knows keys, so that nothing here is a pointer for each key.
// There is no removal: a cycle ends, and its ledger is let go whole.
type ledger struct {
	places  map[uint32]uint32 // by key
	chunks  []*[chunkRows]row
	n       uint32
	total   Usage
	changed []uint32 // places of rows that changed since they were stored
}

type row struct {
	Usage
	key     uint32
	changed bool
}

// chunkRows is small because most meters have few keys: 2 KiB.
const chunkRows = 64

func (l *ledger) at(place uint32) *row { return &l.chunks[place/chunkRows][place%chunkRows] }

// of returns the key's usage.
func (l *ledger) of(key uint32) Usage {
	if place, ok := l.places[key]; ok {
		return l.at(place).Usage
	}
	return Usage{}
}

// add adds to the key's row. What the total has no room for is left out of both,
// so that the rows always add up to the total and the parts to the pot.
func (l *ledger) add(key uint32, u Usage) {
	u.Requests = fit(l.total.Requests, u.Requests)
	u.Tokens = fit(l.total.Tokens, u.Tokens)
	u.USD = fit(l.total.USD, u.USD)
	place := l.need(key)
	r := l.at(place)
	r.Usage = r.plus(u)
	l.total = l.total.plus(u)
	if !r.changed {
		r.changed = true
		l.changed = append(l.changed, place)
	}
}

// fit returns what of the amount, which is not negative, a sum has room for.
func fit(sum, amount quota.Amount) quota.Amount {
	return min(max(amount, 0), math.MaxInt64-sum)
}

// need returns the place of the key's row and makes it when it is new.
func (l *ledger) need(key uint32) uint32 {
	if place, ok := l.places[key]; ok {
		return place
	}
	if l.places == nil {
		l.places = make(map[uint32]uint32)
	}
	place := l.n
	if place%chunkRows == 0 {
		l.chunks = append(l.chunks, new([chunkRows]row))
	}
	l.n++
	l.at(place).key = key
	l.places[key] = place
	return place
}

// all yields the rows in the order in which their keys came.
func (l *ledger) all() iter.Seq2[uint32, Usage] {
	return func(yield func(uint32, Usage) bool) {
		for place := range l.n {
			if r := l.at(place); !yield(r.key, r.Usage) {
				return
			}
		}
	}
}
