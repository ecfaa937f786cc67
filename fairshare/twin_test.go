package fairshare

import (
	"math/big"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// twin judges the same question from the same book, slowly, in fractions, rule
// by rule as the package comment and the contract say it.
type twin struct {
	q    *Question
	b    *book
	conn int
	now  int64
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func sum(parts ...*big.Rat) *big.Rat {
	s := new(big.Rat)
	for _, p := range parts {
		s.Add(s, p)
	}
	return s
}

func least(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// value is the floored sliding value of a counter.
func (t *twin) value(c windows.Counter, w quota.Window) *big.Rat {
	width, now := w.Millis(), t.now
	if now < c.Index*width {
		now = c.Index * width
	}
	curr, prev := c.Curr, c.Prev
	for i := c.Index; i < now/width; i++ {
		if prev, curr = curr, 0; prev == 0 {
			break
		}
	}
	part := new(big.Rat).Mul(rat(int64(max(prev, 0))), big.NewRat(width-now%width, width))
	v := sum(rat(int64(curr)), new(big.Rat).SetInt(new(big.Int).Quo(part.Num(), part.Denom())))
	if v.Sign() < 0 {
		return new(big.Rat)
	}
	return v
}

// says returns the provider's percentage, nil when it is unknown.
func (t *twin) says(levels ...Level) *big.Rat {
	var most *big.Rat
	for _, l := range levels {
		if t.now < l.Until && (most == nil || most.Cmp(rat(int64(l.Used))) < 0) {
			most = rat(int64(l.Used))
		}
	}
	return most
}

func (t *twin) reading(conn int, w quota.Window) *big.Rat {
	r := t.b.conns[conn].readings[w]
	return t.says(r.Current, r.Other)
}

// serving is u.
func (t *twin) serving(w quota.Window) *big.Rat { return t.says(t.levels(w)...) }

// levels are those that may be u.
func (t *twin) levels(w quota.Window) []Level {
	r := t.b.conns[t.conn].readings[w]
	levels := []Level{r.Current, r.Other}
	if t.q.Model != "" {
		levels = append(levels, t.b.conns[t.conn].scoped[w]...)
	}
	return levels
}

// said is the reset of the level that has this value, and when it was observed.
func (t *twin) said(u *big.Rat, levels ...Level) (resetAt, observed int64) {
	for _, l := range levels {
		if t.now < l.Until && u.Cmp(rat(int64(l.Used))) == 0 {
			return l.ResetAt, l.Observed
		}
	}
	panic("nobody said it")
}

// consumed is the key's use over the pool's connections, without holds.
func (t *twin) consumed(u quota.Unit, w quota.Window) *big.Rat {
	c := new(big.Rat)
	for _, conn := range t.b.conns {
		r := conn.readings[w]
		if u == quota.Percent && t.now < r.PartUntil {
			c = sum(c, rat(int64(r.Part)))
		} else {
			c = sum(c, t.value(conn.key[u][w], w))
		}
	}
	return c
}

func (t *twin) total(u quota.Unit, w quota.Window) *big.Rat {
	all := new(big.Rat)
	for i := range t.b.conns {
		all = sum(all, t.totalOf(i, u, w))
	}
	return all
}

// totalOf is what one connection adds to the total.
func (t *twin) totalOf(i int, u quota.Unit, w quota.Window) *big.Rat {
	if r := t.reading(i, w); u == quota.Percent && r != nil {
		return r
	}
	return t.value(t.b.conns[i].total[u][w], w)
}

// held sums the open holds that count, each with at most most (nil = all of it).
func (t *twin) held(u quota.Unit, most *big.Rat, counts func(Hold) bool) *big.Rat {
	all := new(big.Rat)
	for _, h := range t.b.holds {
		if t.now >= h.End || !counts(h) {
			continue
		}
		v := rat(int64(h.Amounts[u]))
		if most != nil {
			v = least(v, most)
		}
		all = sum(all, v)
	}
	return all
}

// reaches is rule 1 and the second half of rule 2.
func (t *twin) reaches(have *big.Rat, u quota.Unit, limit *big.Rat) bool {
	e := least(rat(int64(t.q.Estimate[u])), limit)
	return have.Cmp(limit) >= 0 || sum(have, e).Cmp(limit) > 0
}

func (t *twin) capped(u quota.Unit, w quota.Window, value quota.Amount) bool {
	most := rat(int64(value))
	return t.reaches(sum(t.consumed(u, w), t.held(u, most, func(h Hold) bool { return h.Key })), u, most)
}

func (t *twin) modelCapped(c plans.ModelCap) bool {
	have := new(big.Rat)
	for _, conn := range t.b.conns {
		have = sum(have, t.value(conn.model[c.CapUnit], quota.Hourly))
	}
	most := rat(int64(c.CapValue))
	return t.reaches(sum(have, t.held(c.CapUnit, most, func(h Hold) bool { return h.Model })), c.CapUnit, most)
}

// full is rule 2 but for the provider's word.
func (t *twin) full(d *plans.PoolDimension) bool {
	return d.Limit > 0 && t.reaches(t.totalHeld(d), d.Unit, rat(int64(d.Limit)))
}

func (t *twin) totalHeld(d *plans.PoolDimension) *big.Rat {
	return sum(t.total(d.Unit, d.Window), t.heldIn(d, func(Hold) bool { return true }))
}

func (t *twin) heldIn(d *plans.PoolDimension, counts func(Hold) bool) *big.Rat {
	if d.Limit == 0 {
		return t.held(d.Unit, nil, counts)
	}
	return t.held(d.Unit, rat(int64(d.Limit)), counts)
}

// strict is rule 3, with divisions.
func (t *twin) strict(d *plans.PoolDimension) bool {
	if d.Limit == 0 {
		return false
	}
	limit := rat(int64(d.Limit))
	reported := new(big.Rat)
	for i, conn := range t.b.conns {
		if r := t.reading(i, d.Window); r != nil {
			part := new(big.Rat).Quo(r, rat(100e6))
			reported = sum(reported, part.Mul(part, rat(int64(d.PerConnection[i]))))
		} else {
			reported = sum(reported, t.value(conn.total[d.Unit][d.Window], d.Window))
		}
	}
	threshold := big.NewRat(int64(t.q.Threshold), 1e6)
	used := new(big.Rat).Quo(t.totalHeld(d), limit)
	return used.Cmp(threshold) >= 0 || reported.Quo(reported, limit).Cmp(threshold) >= 0
}

func (t *twin) above(d *plans.PoolDimension) bool {
	if d.Limit == 0 || t.q.Allocation < 0 || !t.strict(d) {
		return false
	}
	c := sum(t.consumed(d.Unit, d.Window), t.heldIn(d, func(h Hold) bool { return h.Key }))
	return c.Cmp(rat(int64(d.Shares[t.q.Allocation]))) > 0
}
