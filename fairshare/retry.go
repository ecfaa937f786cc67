package fairshare

import "slices"

// RetryAfter returns the first wait in ms after which the question would be
// judged allow if nothing else happened, exact to the millisecond: 0 when it is
// allowed now; ok is false when it never would be.
func (f *Facts) RetryAfter(now int64) (ms int64, ok bool) {
	from, to := f.asked()
	ms = f.wait(now, from, to)
	return ms, ms >= 0
}

// wait finds the first instant at which one of the connections from..to-1 is
// judged allow, as a wait in ms; -1 when none ever is.
//
// No step through time is needed. Counters only fall, holds only end, room
// for one more stays, and a reading stands still while it stands. The one thing that can rise is what
// comes in the place of a reading that ends: our own count. So between two such
// ends a block turns into allow at most once and never back: a stretch whose
// last millisecond blocks, blocks throughout, and in one whose last millisecond
// allows, halving finds the turn. Ends of buckets and of leases need no stretch
// of their own, because nothing rises there.
func (f *Facts) wait(now int64, from, to int) int64 {
	if f.conns == 0 || f.roomFrees {
		return max(0, f.roomOn(from)-now)
	}
	if f.allowed(now, from, to) {
		return 0
	}
	f.findStretches(now)
	start := now
	for _, end := range f.stretches {
		if f.allowed(end-1, from, to) {
			return f.turn(start, end-1, from, to) - now
		}
		start = end
	}
	return -1 // suspended: all else is over at the last stretch's end
}

// turn returns the first instant of start..last that allows; last does.
func (f *Facts) turn(start, last int64, from, to int) int64 {
	for start < last {
		mid := start + (last-start)/2
		if f.allowed(mid, from, to) {
			last = mid
		} else {
			start = mid + 1
		}
	}
	return last
}

// allowed reports whether one of the connections from..to-1 is judged allow.
func (f *Facts) allowed(now int64, from, to int) bool {
	f.measure(now)
	for conn := from; conn < to; conn++ {
		if !f.verdict(conn, now).Reason.Blocks() {
			return true
		}
	}
	return false
}

// findStretches lists the ends of the stretches after now: each instant at
// which a reading or a part of one ends, and last one just after everything,
// counters and holds too, is over.
func (f *Facts) findStretches(now int64) {
	s := f.stretches[:0]
	over := max(now+1, f.q.RoomAt, f.q.NotBefore)
	for _, at := range f.q.PlaceAt {
		over = max(over, at)
	}
	for i := range f.readings {
		r := &f.readings[i]
		s = append(s, r.Current.Until, r.Other.Until, r.PartUntil)
		width := f.lines[i/f.conns].window.Millis()
		over = max(over, f.keys[i].End(width), f.totals[i].End(width))
	}
	for _, l := range f.scoped {
		s = append(s, l.Until)
	}
	if f.listed {
		over = max(over, f.lastEnd())
	}
	s = slices.DeleteFunc(s, func(end int64) bool { return end <= now })
	for _, end := range s {
		over = max(over, end)
	}
	s = append(s, over+1)
	slices.Sort(s)
	f.stretches = slices.Compact(s)
}
