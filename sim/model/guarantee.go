package model

import (
	"math"
	"math/big"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// period is a dimension in its current period, by which the rule guarantee goes: the
// provider's cycle while there is a reading of one of the connections, else the bucket of
// its sliding window.
type period struct {
	cycle                bool
	limit, total, spent  int64 // L, T, C: with holds
	width, left, reserve int64
	keys                 []standing
}

// standing is how one allocation stands in the period.
type standing struct {
	curr, used    int64 // without its holds, and with them
	share, weight int64
	suspended     bool
}

// promise is what the rule says of a dimension.
type promise struct {
	full, blocks             bool
	detail                   string
	above                    bool // the asker has more than its share
	promised, kept, headroom quota.Amount
}

// ruled reports whether the line is judged by the rule guarantee.
func (l *Line) ruled(p *plans.Pool) bool {
	return p.Rule == plans.Guarantee && p.Mode != plans.Off && !l.capOnly && l.Limit > 0
}

// period is the line, whose sums are there, at an instant.
func (m *Model) period(l *Line, p *plans.Pool, q *Question, at int64) (d period) {
	d.limit, d.total, d.spent = int64(l.Limit), int64(l.Total+l.AllHeld), int64(l.AllHeld)
	d.width, d.reserve = widths[l.Window], p.Reserve
	d.left = d.width - 1 - at%d.width
	if l.Unit == quota.Percent {
		m.turn(&d, l, p, at)
	}
	for _, c := range p.Connections {
		now, _, _ := m.buckets(c.ConnectionID, l.Unit, l.Window, at, everybody, everybody)
		if used, known := m.reading(c.ConnectionID, l.Window, at); known && d.cycle {
			now = used
		}
		d.spent += int64(max(now, 0))
	}
	if d.cycle {
		d.total = d.spent
	}
	equal := true
	for i := range p.Allocations {
		equal = equal && p.Allocations[i].Weight == 0
	}
	for i := range p.Allocations {
		a := &p.Allocations[i]
		k := standing{share: int64(share(l.Limit, p, i)), weight: int64(a.Weight), suspended: a.Suspended}
		if equal {
			k.weight = 1
		}
		mine := theirs(p, a.APIKeyID)
		for _, c := range p.Connections {
			k.curr += int64(m.currentOf(l, p, c.ConnectionID, a.APIKeyID, at))
		}
		k.used = k.curr + int64(m.held(p, q, l.Unit, l.Limit, at, mine))
		d.keys = append(d.keys, k)
	}
	return d
}

// turn makes it the cycle, if there is one: it ends with the last of those of the
// connections.
func (m *Model) turn(d *period, l *Line, p *plans.Pool, at int64) {
	last := int64(0)
	for _, c := range p.Connections {
		g := m.gauges[gaugeName{c.ConnectionID, l.Window, ""}]
		of, known := g.level(at, m.settings.SignalTTLMs)
		if !known {
			continue
		}
		d.cycle = true
		if of.reset == 0 {
			of.reset = g.ends(d.width)
		}
		last = max(last, of.reset)
	}
	if d.cycle {
		d.left = max(0, min(last-at-1, d.width-1))
	}
}

// theirs says whose uses and holds are those of an allocation.
func theirs(p *plans.Pool, key string) who {
	if key == "*" {
		return func(other, _ string) bool { return !listed(p, other) }
	}
	return func(other, _ string) bool { return other == key }
}

// currentOf is what an allocation used of a connection in the period.
func (m *Model) currentOf(l *Line, p *plans.Pool, connection, key string, at int64) quota.Amount {
	_, reads := m.reading(connection, l.Window, at)
	if points, known := m.partOf(connection, l.Window, theirs(p, key), at); known && reads && l.Unit == quota.Percent {
		return points
	}
	if key == "*" {
		now, _, _ := m.unlisted(p, connection, l.Unit, l.Window, at)
		return now
	}
	mine := theirs(p, key)
	now, _, _ := m.buckets(connection, l.Unit, l.Window, at, mine, mine)
	return max(now, 0)
}

// part is floor(a × b / c), without an end when c is 0.
func part(a, b, c int64) int64 {
	if c == 0 {
		return math.MaxInt64
	}
	x := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	if x.Quo(x, big.NewInt(c)); x.IsInt64() {
		return x.Int64()
	}
	return math.MaxInt64
}

// ends is ℓ, to which a key can get at any time; pace what it would use from now on if
// it used its share evenly.
func (d *period) ends(k standing) int64 {
	if k.suspended {
		return 0
	}
	return min(k.share, part(k.share, d.reserve*d.left, 100*d.width))
}

func (d *period) pace(k standing) int64 {
	if k.suspended {
		return 0
	}
	return part(k.share, d.left, d.width)
}

// judge is the rule for the i-th key, or for one without an allocation, i = -1. Who
// gives may pass its share, and leaves what is promised to all others alone.
func (d *period) judge(i int, estimate quota.Amount, gives bool) (v promise) {
	x := min(max(int64(estimate), 1), d.limit)
	var own standing
	if i >= 0 {
		own = d.keys[i]
	}
	within := i >= 0 && own.used+x <= d.ends(own)
	kept, extra := int64(0), int64(0)
	room := map[bool]int64{} // by whether the key has used something in the period
	for j, k := range d.keys {
		if j == i {
			continue
		}
		l, up, before := d.ends(k), int64(0), int64(0)
		if i >= 0 {
			up, before = part(own.used+x, k.weight, own.weight), part(own.used, k.weight, own.weight)
		}
		keep := max(0, min(k.share-k.used, l))
		headroom := max(0, min((before-k.used)/16, d.pace(k)))
		need := max(0, min(max(up, l), k.used+keep)-k.used)
		switch {
		case within:
			need = max(0, min(up, l)-k.used)
		case gives || i < 0:
			need = max(0, l-k.used)
		default:
			extra = max(extra, min(headroom, l)-need)
		}
		kept += need
		if !gives && i >= 0 {
			room[k.curr > 0] = max(room[k.curr > 0], headroom)
		}
	}
	kept += extra
	v.kept, v.headroom = quota.Amount(kept), quota.Amount(room[true]+room[false])
	v.promised, v.above = quota.Amount(max(0, d.ends(own)-own.used)), i >= 0 && own.used > own.share
	switch {
	case d.total+x > d.limit:
		v.full, v.blocks = true, true
	case d.spent+x+kept > d.limit:
		v.blocks, v.detail = true, "reserved"
	case !d.cycle && d.total+x+int64(v.headroom) > d.limit:
		v.blocks, v.detail = true, "yield"
	case within:
		v.detail = "guaranteed"
	case i >= 0 && own.used+x > own.share:
		v.detail = "borrowed"
	case i >= 0:
		v.detail = "ok"
	}
	return v
}

// detail is what all dimensions together say of an answer that allows: the asker borrows
// when it does in one, and is inside its promise when it is so in each.
func detail(lines []Line) (of string) {
	for i := range lines {
		switch said := lines[i].promise.detail; {
		case !lines[i].Guaranteed:
		case of == "" || of == "guaranteed" || said == "borrowed":
			of = said
		}
	}
	return of
}
