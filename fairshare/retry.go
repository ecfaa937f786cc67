package fairshare

import (
	"slices"

	"github.com/quotashare/quotashare/plans"
)

// RetryAfter returns the first wait in ms after which the question would be
// judged allow if nothing else happened, exact to the millisecond: 0 when it is
// allowed now; ok is false when it never would be.
func (f *Facts) RetryAfter(now int64) (ms int64, ok bool) {
	from, to := f.asked()
	ms = f.wait(now, f.span(from, to))
	return ms, ms >= 0
}

// RetryAfterAmong is RetryAfter as if one of these connections were asked for, at least
// one, of facts that were gathered for AnyConnection. It needs no other facts for each of
// many, and no search. c is that of Gather: when holds end it is asked now, should it not
// have been.
func (f *Facts) RetryAfterAmong(conns []int, c Counters, now int64) (ms int64, ok bool) {
	f.needPeers(c)
	if !f.listed {
		f.holds, f.listed = c.Holds(f.holds), true
	}
	ms = f.wait(now, conns)
	return ms, ms >= 0
}

// span returns the connections from..to-1, until it is called again.
func (f *Facts) span(from, to int) []int {
	f.spanned = f.spanned[:0]
	for conn := from; conn < to; conn++ {
		f.spanned = append(f.spanned, conn)
	}
	return f.spanned
}

// wait finds the first instant at which one of the connections is judged allow, as
// a wait in ms; -1 when none ever is.
//
// No step through time is needed. Counters only fall, holds only end, room
// for one more stays, and a reading stands still while it stands. The one thing that can rise is what
// comes in the place of a reading that ends: our own count. So between two such
// ends a block turns into allow at most once and never back: a stretch whose
// last millisecond blocks, blocks throughout, and in one whose last millisecond
// allows, halving finds the turn. Ends of buckets and of leases need no stretch
// of their own, because nothing rises there.
func (f *Facts) wait(now int64, conns []int) int64 {
	switch {
	case f.conns == 0:
		return max(0, f.roomOn(0)-now)
	case f.roomFrees:
		return max(0, f.roomOn(conns[0])-now)
	case f.allowed(now, conns):
		return 0
	case f.suspended():
		return -1
	}
	if f.crowd().ruled {
		return f.waitPeriods(now, conns)
	}
	f.findStretches(now)
	start := now
	for _, end := range f.stretches {
		if f.allowed(end-1, conns) {
			return f.turn(start, end-1, conns) - now
		}
		start = end
	}
	return -1
}

// suspended reports whether nothing but an operator lets the asker pass: all else is over
// at some time. A pool that is off suspends nobody.
func (f *Facts) suspended() bool {
	a := f.allocation()
	return a != nil && a.Suspended && f.q.Pool.Pool.Mode != plans.Off
}

// turn returns the first instant of start..last that allows; last does.
func (f *Facts) turn(start, last int64, conns []int) int64 {
	for start < last {
		mid := start + (last-start)/2
		if f.allowed(mid, conns) {
			last = mid
		} else {
			start = mid + 1
		}
	}
	return last
}

// allowed reports whether one of the connections is judged allow.
func (f *Facts) allowed(now int64, conns []int) bool {
	f.measure(now)
	for _, conn := range conns {
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
