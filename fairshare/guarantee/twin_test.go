package guarantee

import (
	"math/big"
	"slices"
)

// The plain form: as the rule is written, with numbers that have no end.

type plainKey struct {
	curr, held int64
	share      int64
	weight     int64
	suspended  bool
}

type plain struct {
	limit, total, outside int64 // total with all holds; outside with those of nobody in keys
	window, left, reserve int64
	anchored              bool
	keys                  []plainKey
}

// big_ is a number without an end.
func big_(n int64) *big.Int { return big.NewInt(n) }

func floorDiv(a, b *big.Int) *big.Int { return new(big.Int).Div(a, b) } // Euclidean: floors for b > 0

func mul(ns ...int64) *big.Int {
	p := big_(1)
	for _, n := range ns {
		p.Mul(p, big_(n))
	}
	return p
}

func minBig(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func maxBig(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

func sub(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
func add(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }

var endless = new(big.Int).Lsh(big_(1), 200)

type plainVerdict struct {
	outcome                  Outcome
	promised, kept, headroom int64
}

// terms are those of the rule that do not depend on who asks.
func (d *plain) terms() (c, l, keep, pace []*big.Int, all *big.Int) {
	zero, all := big_(0), big_(d.outside)
	for j, k := range d.keys {
		c = append(c, add(big_(k.curr), big_(k.held)))
		all = add(all, c[j])
		l = append(l, minBig(big_(k.share), floorDiv(mul(k.share, d.reserve, d.left), mul(100, d.window))))
		keep = append(keep, maxBig(zero, minBig(sub(big_(k.share), c[j]), l[j])))
		pace = append(pace, floorDiv(mul(k.share, d.left), big_(d.window)))
		if k.suspended {
			l[j], keep[j], pace[j] = zero, zero, zero
		}
	}
	return c, l, keep, pace, all
}

// judge is the rule; i < 0 is an asker without an allocation.
func (d *plain) judge(i int, estimate int64, yields bool) (v plainVerdict) {
	zero, limit := big_(0), big_(d.limit)
	x := minBig(maxBig(big_(estimate), big_(1)), limit)
	n := len(d.keys)
	c, l, keep, pace, all := d.terms()
	equal := !slices.ContainsFunc(d.keys, func(k plainKey) bool { return k.weight != 0 })
	total := big_(d.total)
	if d.anchored {
		total = all
	}
	within := i >= 0 && add(c[i], x).Cmp(l[i]) <= 0
	need, e, h := make([]*big.Int, n), zero, [2]*big.Int{zero, zero}
	sum := big_(0)
	for j, k := range d.keys {
		if j == i {
			continue
		}
		up, pre := endless, endless
		if i >= 0 {
			wi, wj := d.keys[i].weight, k.weight
			if equal {
				wi, wj = 1, 1
			}
			if wi > 0 {
				up = floorDiv(new(big.Int).Mul(add(c[i], x), big_(wj)), big_(wi))
				pre = floorDiv(new(big.Int).Mul(c[i], big_(wj)), big_(wi))
			}
		}
		hj := maxBig(zero, minBig(floorDiv(sub(pre, c[j]), big_(16)), pace[j]))
		switch {
		case within:
			need[j] = maxBig(zero, sub(minBig(up, l[j]), c[j]))
		case i < 0 || yields:
			need[j] = maxBig(zero, sub(l[j], c[j]))
		default:
			need[j] = maxBig(zero, sub(minBig(maxBig(up, l[j]), add(c[j], keep[j])), c[j]))
			e = maxBig(e, sub(minBig(hj, l[j]), need[j]))
		}
		sum = add(sum, need[j])
		if i >= 0 && !yields {
			g := 0
			if k.curr == 0 {
				g = 1
			}
			h[g] = maxBig(h[g], hj)
		}
	}
	kept, head := add(sum, e), add(h[0], h[1])
	v.kept, v.headroom = kept.Int64(), head.Int64()
	if i >= 0 {
		v.promised = maxBig(zero, sub(l[i], c[i])).Int64()
	}
	switch {
	case add(total, x).Cmp(limit) > 0:
		v.outcome = Full
	case add(add(all, x), kept).Cmp(limit) > 0:
		v.outcome = Reserved
	case i >= 0 && !d.anchored && add(add(total, x), head).Cmp(limit) > 0:
		v.outcome = Yield
	case i < 0:
		v.outcome = Outside
	case within:
		v.outcome = Guaranteed
	case add(c[i], x).Cmp(big_(d.keys[i].share)) > 0:
		v.outcome = Borrowed
	default:
		v.outcome = OK
	}
	return v
}
