package fairshare

import (
	"slices"

	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// peers is what the rule guarantee needs to know beside one key and all: how every
// allocation of the pool stands in every dimension. It takes a look at each of them, so
// it is gathered where the outcome depends on it.
type peers struct {
	ruled bool     // the pool has the rule
	n     int      // allocations
	known bool     // what follows is gathered
	from  Counters // what to gather it from, while Gather goes on

	// At (line*conns + connection)*n + allocation, of the lines that are dimensions.
	keys  []windows.Counter
	parts []quota.Amount

	heldAt int64          // the instant of Gather
	held   []quota.Amount // at line*n + allocation, at that instant
	falls  falls          // later, at the same place
	listed bool           // the falls are filled

	rows []guarantee.Key // scratch

	// Of a Crowd alone: what it is of, and how all stand in each line at some instants.
	pool   *plans.Resolved
	stands [][]stand
}

// guaranteed reports whether the pool has the rule guarantee, and the line a limit to
// apply it to.
func (f *Facts) guaranteed(l *line) bool {
	return f.crowd().ruled && l.kind == dimension && l.limit > 0
}

// begin forgets the peers of the last question, unless they are this one's too. They will
// come from c.
func (p *peers) begin(q *Question, c Counters, now int64) {
	if p.known && q.Crowd != nil && p.pool == q.Pool && p.heldAt == now {
		return
	}
	p.pool, p.stands = q.Pool, nil
	p.ruled, p.n, p.known, p.listed, p.from = false, 0, false, false, c
	if q.Pool != nil && q.Pool.Pool.Rule == plans.Guarantee && q.Pool.Pool.Mode != plans.Off {
		p.ruled, p.n = true, len(q.Pool.Pool.Allocations)
	}
}

// needPeers gathers how the allocations stand, unless that is known or nobody needs it.
func (f *Facts) needPeers(c Counters) {
	p := f.crowd()
	if !p.ruled || p.known {
		return
	}
	p.known = true
	size := len(f.q.Pool.Dimensions) * f.conns * p.n
	p.keys, p.parts = room(p.keys, size), room(p.parts, size)
	for j := range p.n {
		peer := c.As(j)
		for conn := range f.conns {
			f.readPeer(peer, conn, j)
		}
	}
	f.holdPeers(c, f.at)
}

// room returns a slice of that length, of which nothing is known.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// readPeer gathers an allocation on one connection. Dimensions come first among the lines,
// so that a line's place is that of its dimension.
func (f *Facts) readPeer(peer Counters, conn, j int) {
	p := f.crowd()
	for i := range f.q.Pool.Dimensions {
		l, k := &f.lines[i], (i*f.conns+conn)*p.n+j
		p.keys[k] = peer.Key(conn, l.unit, l.window)
		if l.unit == quota.Percent {
			p.parts[k] = peer.Reading(conn, l.window).Part
		}
	}
}

// holdPeers gathers what every allocation holds at instant now, where anybody holds any.
func (f *Facts) holdPeers(c Counters, now int64) {
	p, dims := f.crowd(), f.lines[:len(f.q.Pool.Dimensions)]
	p.stands, p.heldAt = nil, now
	p.held = room(p.held, len(dims)*p.n)
	clear(p.held)
	if !slices.ContainsFunc(f.held[:len(dims)], func(h holding) bool { return h.all > 0 }) {
		return
	}
	for j := range p.n {
		peer := c.As(j)
		for i := range dims {
			if l := &dims[i]; f.held[i].all > 0 {
				p.held[i*p.n+j] = peer.Held(l.unit, l.limit, OfAsker, now)
			}
		}
	}
}

// peerHolds is what allocation j holds of line i at instant now.
func (f *Facts) peerHolds(i, j int, now int64) quota.Amount {
	p := f.crowd()
	switch {
	case now == f.at || !f.listed:
		return p.held[i*p.n+j]
	case len(f.holds) == 0:
		return 0
	case !p.listed:
		p.falls.fillPeers(f.lines[:len(f.q.Pool.Dimensions)], f.holds, p.n)
		p.listed = true
	}
	return p.falls.sum(i*p.n+j, now)
}

// guarantee judges line i by the rule guarantee at instant now, for what asks for so much
// of it. n has the line's sums already. Only an explanation needs to know how much is kept
// where what all used together decides.
func (f *Facts) guarantee(i int, n *numbers, estimate quota.Amount, now int64) guarantee.Verdict {
	a := f.asker(estimate)
	if !f.q.Explain {
		v, settled := f.whole(i, n, now).Settle(a, f.own(i, n, now))
		if p := f.crowd(); settled || !p.known && p.from == nil {
			return v
		}
	}
	f.needPeers(f.crowd().from)
	return f.period(i, n, now).Judge(a)
}

// period is line i in its current period: the provider's cycle while one of the pool's
// connections has a reading, else the bucket of the sliding window.
func (f *Facts) period(i int, n *numbers, now int64) *guarantee.Dimension {
	d := f.whole(i, n, now)
	if f.q.Crowd != nil {
		s := f.stand(i, now)
		d.Keys, d.Groups = s.keys, s.groups
		return d
	}
	d.Keys = f.rows(i, now)
	return d
}

// whole is the period without its keys.
func (f *Facts) whole(i int, n *numbers, now int64) *guarantee.Dimension {
	width := f.lines[i].window.Millis()
	bucket, elapsed := windows.Bucket(now, width)
	d := &f.dimension
	*d = guarantee.Dimension{
		Limit: n.limit, Total: n.t(), Spent: n.heldTotal, Window: width, Left: width - 1 - elapsed, Reserve: f.q.Pool.Pool.Reserve,
	}
	d.Left, d.Cycle = f.cycle(i, d.Left, now)
	for k := i * f.conns; k < (i+1)*f.conns; k++ {
		if level := f.readings[k].at(now); d.Cycle && level.Until != 0 {
			d.Spent = quota.AddSat(d.Spent, level.Used)
		} else {
			d.Spent = quota.AddSat(d.Spent, inBucket(&f.totals[k], bucket))
		}
	}
	if d.Cycle {
		d.Total = d.Spent
	}
	return d
}

// own is how the asker stands in line i: like the row of its allocation, from what is
// gathered for every rule. One that has none stands nowhere.
func (f *Facts) own(i int, n *numbers, now int64) guarantee.Key {
	if f.q.Allocation < 0 {
		return guarantee.Key{}
	}
	k := f.row(i, f.q.Allocation)
	bucket, _ := windows.Bucket(now, f.lines[i].window.Millis())
	for at := i * f.conns; at < (i+1)*f.conns; at++ {
		if f.cycles(i, at, now) {
			k.Used = quota.AddSat(k.Used, f.readings[at].Part)
		} else {
			k.Used = quota.AddSat(k.Used, inBucket(&f.keys[at], bucket))
		}
	}
	k.Used = max(k.Used, 0)
	k.Begun = k.Used > 0
	k.Used = quota.AddSat(k.Used, n.held)
	return k
}

// row is allocation j in line i, without what it used.
func (f *Facts) row(i, j int) guarantee.Key {
	pool := f.q.Pool
	return guarantee.Key{Share: pool.Dimensions[i].Shares[j], Weight: pool.Weights[j], Suspended: pool.Pool.Allocations[j].Suspended}
}

// rows are all allocations in line i at instant now.
func (f *Facts) rows(i int, now int64) []guarantee.Key {
	p := f.crowd()
	p.rows = room(p.rows, p.n)
	for j := range p.rows {
		p.rows[j] = f.row(i, j)
	}
	bucket, _ := windows.Bucket(now, f.lines[i].window.Millis())
	for at := i * f.conns; at < (i+1)*f.conns; at++ {
		f.addUse(at, f.cycles(i, at, now), bucket)
	}
	for j := range p.rows {
		k := &p.rows[j]
		k.Used = max(k.Used, 0)
		k.Begun = k.Used > 0
		k.Used = quota.AddSat(k.Used, f.peerHolds(i, j, now))
	}
	return p.rows
}

// addUse adds to every row what it used on a connection, which is at that place among all
// of all lines: of the provider's cycle, or of the bucket.
func (f *Facts) addUse(at int, cycle bool, bucket int64) {
	p := f.crowd()
	from := at * p.n
	if cycle {
		for j, part := range p.parts[from : from+p.n] {
			p.rows[j].Used = quota.AddSat(p.rows[j].Used, part)
		}
		return
	}
	for j := range p.rows {
		p.rows[j].Used = quota.AddSat(p.rows[j].Used, inBucket(&p.keys[from+j], bucket))
	}
}

// cycles reports whether what a key used of line i is its part of the cycle of the
// connection at that place. The part stands longer than a reading without a reset does;
// without the reading it is of another period than all else.
func (f *Facts) cycles(i, at int, now int64) bool {
	r := &f.readings[at]
	return f.lines[i].unit == quota.Percent && now < r.PartUntil && r.at(now).Until != 0
}

// cycle is how much of the provider's cycle is left, the longest of those that the pool's
// connections have; sliding and false when none has a reading.
func (f *Facts) cycle(i int, sliding, now int64) (left int64, open bool) {
	l := &f.lines[i]
	if l.unit != quota.Percent {
		return sliding, false
	}
	var reset int64
	for conn := range f.conns {
		r := &f.readings[i*f.conns+conn]
		level := r.at(now)
		if level.Until == 0 {
			continue
		}
		open = true
		end := level.ResetAt
		if end == 0 {
			end = r.PartUntil // where it began, and a window more
		}
		reset = max(reset, end)
	}
	if !open {
		return sliding, false
	}
	return max(0, min(reset-now-1, l.window.Millis()-1)), true
}

// inBucket is what a counter has in that bucket. One that is later already is read as it
// stands.
func inBucket(c *windows.Counter, bucket int64) quota.Amount {
	if bucket > c.Index {
		return 0
	}
	return max(c.Curr, 0)
}
