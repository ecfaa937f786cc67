package fairshare

import (
	"slices"

	"github.com/quotashare/quotashare/windows"
)

// mostTurns bounds the search for an instant at which several lines allow at once. Windows
// of hours, days and weeks end together after some weeks at the latest, and each turn goes
// at least to the next end of one of them.
const mostTurns = 10_000

// waitPeriods is wait under the rule guarantee, where what is kept rises when a period
// begins. Inside a period of one line everything relaxes, so one line alone is searched
// like wait does it, period by period. Lines have periods of different length: each is
// asked in turn for its first instant from where the others are, until none goes on. No
// instant is passed over at which all allow, because none before is one of each.
func (f *Facts) waitPeriods(now int64, conns []int) int64 {
	first := int64(-1)
	for _, conn := range conns {
		if at, ok := f.meet(now, conn); ok && (first < 0 || at-now < first) {
			first = at - now
		}
	}
	return first
}

// meet returns the first instant from now on at which every line allows the connection.
func (f *Facts) meet(now int64, conn int) (at int64, ok bool) {
	at = max(now, f.roomOn(conn))
	for range mostTurns {
		moved := false
		for i := range f.lines {
			next, ok := f.lineFrees(i, conn, at)
			if !ok {
				return 0, false
			}
			moved = moved || next > at
			at = next
		}
		if !moved {
			return at, true
		}
	}
	return 0, false
}

// lineFrees returns the first instant from at on at which line i allows the connection.
func (f *Facts) lineFrees(i, conn int, at int64) (int64, bool) {
	if f.lineAllows(i, conn, at) {
		return at, true
	}
	start := at
	for _, end := range f.periods(i, conn, at) {
		if !f.lineAllows(i, conn, end-1) {
			start = end
			continue
		}
		for last := end - 1; ; {
			if start == last {
				return last, true
			}
			if mid := start + (last-start)/2; f.lineAllows(i, conn, mid) {
				last = mid
			} else {
				start = mid + 1
			}
		}
	}
	return 0, false
}

// lineAllows reports whether line i lets the connection pass at an instant.
func (f *Facts) lineAllows(i, conn int, at int64) bool {
	f.measure(f.measured) // numbers are there for every line
	n := &f.numbers[i]
	kept := *n
	defer func() { *n = kept }()
	f.sumLine(i, at)
	f.serve(i, conn, at)
	reason, _ := n.judge(f.policy(), f.q.Threshold)
	return !reason.Blocks()
}

// periods lists the instants after at where something of line i may rise: where a bucket
// ends, or what the provider said. The last is the end of the first bucket in which
// nothing is left of all that counts now.
func (f *Facts) periods(i, conn int, at int64) []int64 {
	s, width := f.stretches[:0], f.lines[i].window.Millis()
	over := at + 1
	for k := i * f.conns; k < (i+1)*f.conns; k++ {
		r := &f.readings[k]
		s = append(s, r.Current.Until, r.Other.Until, r.PartUntil, r.Current.ResetAt, r.Other.ResetAt)
		over = max(over, f.keys[k].End(width), f.totals[k].End(width))
	}
	from := 0
	if k := i*f.conns + conn; k > 0 {
		from = f.scopedAt[k-1]
	}
	for _, l := range f.scoped[from:f.scopedAt[i*f.conns+conn]] {
		s = append(s, l.Until)
	}
	s = slices.DeleteFunc(s, func(end int64) bool { return end <= at })
	if f.listed {
		over = max(over, f.lastEnd())
	}
	for _, end := range s {
		over = max(over, end)
	}
	bucket, _ := windows.Bucket(at, width)
	for end := (bucket + 1) * width; ; end += width {
		s = append(s, end)
		if end-width > over {
			break
		}
	}
	slices.Sort(s)
	f.stretches = slices.Compact(s)
	return f.stretches
}
