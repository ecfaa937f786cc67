package fairshare

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// measure makes the numbers those of instant now, if they are of another.
func (f *Facts) measure(now int64) {
	if now != f.measured {
		f.sum(now)
	}
}

// sum works out the numbers of every line at instant now, all but u, which
// depends on the serving connection.
func (f *Facts) sum(now int64) {
	f.measured, f.numbers = now, f.numbers[:0]
	for i := range f.lines {
		f.numbers = append(f.numbers, numbers{})
		f.sumLine(&f.numbers[i], i, now)
	}
}

// sumLine works out the numbers of one line.
func (f *Facts) sumLine(n *numbers, i int, now int64) {
	l := &f.lines[i]
	*n = numbers{}
	n.estimate, n.limit, n.used = f.q.Estimate[l.unit], l.limit, unknownUsed
	n.share, n.shared = l.share, f.q.Allocation >= 0
	n.cap, n.capReason = l.cap, CapAbsolute
	if l.kind == modelCapped {
		n.capReason = ModelCap
	}
	f.sumCounters(n, l, i*f.conns, now)
	h := f.holdingAt(i, now)
	n.heldTotal, n.held, n.heldCap = h.all, h.key, h.cap
	n.againstC = quota.AddSat(n.consumed, h.cap)
	if n.guaranteed = f.guaranteed(l); n.guaranteed {
		n.promise = f.guarantee(i, n, n.estimate, now)
	}
}

// sumCounters adds up the line over the connections, each one's value floored
// before it is added. In percent the provider's word stands before our count:
// the reading for the connection's total, the part of its cycle for the key.
func (f *Facts) sumCounters(n *numbers, l *line, at int, now int64) {
	width := l.window.Millis()
	bucket, elapsed := windows.Bucket(now, width)
	percent := l.unit == quota.Percent
	for conn := range f.conns {
		r := &f.readings[at+conn]
		key := f.keys[at+conn].EffectiveAt(bucket, elapsed, width)
		if percent && now < r.PartUntil {
			key = r.Part
		}
		n.consumed = quota.AddSat(n.consumed, key)
		if l.kind != dimension {
			continue
		}
		total, level := f.total(l, at+conn, bucket, elapsed, now)
		if level.Until == 0 {
			n.reported = n.reported.plus(product(int64(total), 1e8))
		} else {
			n.reported = n.reported.plus(product(int64(level.Used), int64(l.perConns[conn])))
		}
		n.total = quota.AddSat(n.total, total)
	}
}

// total returns what a connection adds to the total of line l, a dimension, and
// the provider's word on it. k is its place in f.totals; bucket and elapsed are
// those of now.
func (f *Facts) total(l *line, k int, bucket, elapsed, now int64) (quota.Amount, Level) {
	level := f.readings[k].at(now)
	if l.unit == quota.Percent && level.Until != 0 {
		return level.Used, level
	}
	return f.totals[k].EffectiveAt(bucket, elapsed, l.window.Millis()), level
}

// serve sets u: the largest of the serving connection's unscoped reading and
// its scoped ones that apply to the model.
func (f *Facts) serve(i, conn int, now int64) {
	n, k := &f.numbers[i], i*f.conns+conn
	from := 0
	if k > 0 {
		from = f.scopedAt[k-1]
	}
	all := f.readings[k].at(now)
	level := all
	for _, l := range f.scoped[from:f.scopedAt[k]] {
		level = level.larger(l, now)
	}
	n.used, n.resetAt, n.observed = unknownUsed, 0, 0
	n.scoped = level.Until != 0 && level.Used >= full && (all.Until == 0 || all.Used < full)
	if level.Until != 0 && f.lines[i].kind == dimension {
		n.used, n.resetAt, n.observed = level.Used, level.ResetAt, level.Observed
	}
}
