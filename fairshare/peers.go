package fairshare

import (
	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// peers is what the rule guarantee needs to know beside one key and all: how every
// allocation of the pool stands in every dimension.
type peers struct {
	ruled bool // the pool has the rule
	n     int  // allocations

	// At (line*n + allocation)*conns + connection, of the lines that are dimensions.
	keys  []windows.Counter
	parts []quota.Amount

	held   []quota.Amount // at line*n + allocation, at the instant of Gather
	falls  falls          // later, at the same place
	listed bool           // the falls are filled

	rows []guarantee.Key // scratch
}

// guaranteed reports whether the pool has the rule guarantee, and the line a limit to
// apply it to.
func (f *Facts) guaranteed(l *line) bool { return f.peers.ruled && l.kind == dimension && l.limit > 0 }

// readPeers gathers how the other allocations stand. Dimensions come first among the
// lines, so that a line's place is that of its dimension.
func (f *Facts) readPeers(c Counters) {
	p, pool := &f.peers, f.q.Pool
	p.ruled, p.n, p.listed = false, 0, false
	if pool == nil || pool.Pool.Rule != plans.Guarantee || pool.Pool.Mode == plans.Off {
		return
	}
	p.ruled, p.n = true, len(pool.Pool.Allocations)
	size := len(pool.Dimensions) * p.n * f.conns
	p.keys, p.parts = room(p.keys, size), room(p.parts, size)
	for j := range p.n {
		peer := c.As(j)
		for i := range pool.Dimensions {
			f.readPeer(peer, i, j)
		}
	}
}

// room returns a slice of that length, of which nothing is known.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

func (f *Facts) readPeer(peer Counters, i, j int) {
	l := &f.lines[i]
	for conn := range f.conns {
		k := (i*f.peers.n+j)*f.conns + conn
		f.peers.keys[k] = peer.Key(conn, l.unit, l.window)
		if l.unit == quota.Percent {
			f.peers.parts[k] = peer.Reading(conn, l.window).Part
		}
	}
}

// holdPeers gathers what every allocation holds at instant now.
func (f *Facts) holdPeers(c Counters, now int64) {
	p := &f.peers
	if p.n == 0 {
		return
	}
	p.held = room(p.held, len(f.q.Pool.Dimensions)*p.n)
	clear(p.held)
	for j := range p.n {
		peer := c.As(j)
		for i := range f.q.Pool.Dimensions {
			if l := &f.lines[i]; f.held[i].all > 0 {
				p.held[i*p.n+j] = peer.Held(l.unit, l.limit, OfAsker, now)
			}
		}
	}
}

// peerHolds is what allocation j holds of line i at instant now.
func (f *Facts) peerHolds(i, j int, now int64) quota.Amount {
	p := &f.peers
	if now == f.at || !f.listed {
		return p.held[i*p.n+j]
	}
	if !p.listed {
		p.falls.fillPeers(f.lines[:len(f.q.Pool.Dimensions)], f.holds, p.n)
		p.listed = true
	}
	return p.falls.sum(i*p.n+j, now)
}

// guarantee judges line i by the rule guarantee at instant now, for what asks for so much
// of it. n has the line's sums already.
func (f *Facts) guarantee(i int, n *numbers, estimate quota.Amount, now int64) guarantee.Verdict {
	d := f.period(i, n, now)
	policy := f.policy()
	return d.Judge(guarantee.Asker{
		Key: f.q.Allocation, Estimate: estimate, Gives: policy == plans.Soft || policy == plans.Burst,
	})
}

// period is line i in its current period: the provider's cycle while one of the pool's
// connections has a reading, else the bucket of the sliding window.
func (f *Facts) period(i int, n *numbers, now int64) *guarantee.Dimension {
	l, p := &f.lines[i], &f.peers
	width := l.window.Millis()
	bucket, elapsed := windows.Bucket(now, width)
	d := &f.dimension
	*d = guarantee.Dimension{
		Limit: l.limit, Total: n.t(), Spent: n.heldTotal, Window: width, Left: width - 1 - elapsed, Reserve: f.q.Pool.Pool.Reserve,
	}
	d.Left, d.Cycle = f.cycle(i, d.Left, now)
	for conn := range f.conns {
		k := i*f.conns + conn
		if level := f.readings[k].at(now); d.Cycle && level.Until != 0 {
			d.Spent = quota.AddSat(d.Spent, level.Used)
		} else {
			d.Spent = quota.AddSat(d.Spent, inBucket(f.totals[k], bucket))
		}
	}
	if d.Cycle {
		d.Total = d.Spent
	}
	p.rows = p.rows[:0]
	for j := range p.n {
		a := &f.q.Pool.Pool.Allocations[j]
		used := f.usedBy(i, j, bucket, now)
		p.rows = append(p.rows, guarantee.Key{
			Used: quota.AddSat(used, f.peerHolds(i, j, now)), Begun: used > 0,
			Share: f.q.Pool.Dimensions[i].Shares[j], Weight: f.q.Pool.Weights[j], Suspended: a.Suspended,
		})
	}
	d.Keys = p.rows
	return d
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

// usedBy is what allocation j used in the current period of line i, without its holds. A
// part of a cycle stands longer than a reading without a reset does; without the reading
// it is of another period than all else.
func (f *Facts) usedBy(i, j int, bucket, now int64) (used quota.Amount) {
	percent := f.lines[i].unit == quota.Percent
	for conn := range f.conns {
		k := (i*f.peers.n+j)*f.conns + conn
		if r := &f.readings[i*f.conns+conn]; percent && now < r.PartUntil && r.at(now).Until != 0 {
			used = quota.AddSat(used, f.peers.parts[k])
			continue
		}
		used = quota.AddSat(used, inBucket(f.peers.keys[k], bucket))
	}
	return max(used, 0)
}

// inBucket is what a counter has in that bucket. One that is later already is read as it
// stands.
func inBucket(c windows.Counter, bucket int64) quota.Amount { return max(c.Rotate(bucket).Curr, 0) }
