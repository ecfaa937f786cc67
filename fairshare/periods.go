package fairshare

import (
	"slices"

	"github.com/quotashare/quotashare/windows"
)

// waitPeriods is wait under the rule guarantee, where what is kept rises when a period
// begins. Lines have periods of different length, and inside a period of its own a line
// only relaxes: so each line is searched alone, for the first instant from where the
// others are, in turn, until none goes on. No instant is passed over at which all allow,
// because before each step at least one line blocks.
//
// The connections differ only in when they have room and when their provider lets pass
// again. All else is of the pool, so the first of them is the first of all.
func (f *Facts) waitPeriods(now int64, conns []int) int64 {
	at := f.opens(conns[0], now)
	for _, conn := range conns[1:] {
		at = min(at, f.opens(conn, now))
	}
	f.findTails(now)
	if at, ok := f.meet(at); ok {
		return at - now
	}
	return -1
}

// opens returns from when on a connection has room, and no reading says that its
// provider's window is used up. Of those that stand the largest counts, so it is the last
// of the full ones to end.
func (f *Facts) opens(conn int, now int64) int64 {
	at := max(now, f.roomOn(conn))
	full := func(l Level) {
		if l.Used >= full {
			at = max(at, l.Until)
		}
	}
	for i := range f.lines {
		if f.lines[i].kind != dimension {
			continue
		}
		k := i*f.conns + conn
		from := 0
		if k > 0 {
			from = f.scopedAt[k-1]
		}
		full(f.readings[k].Current)
		full(f.readings[k].Other)
		for _, l := range f.scoped[from:f.scopedAt[k]] {
			full(l)
		}
	}
	return at
}

// tail is how a line goes on for ever if nothing happens: from begin on, an end of a
// bucket, nothing counts any more of all that does now, and every bucket is like the one
// before. What is left to be kept relaxes in each, so the line lets pass in the last
// milliseconds of it, as many as open says.
type tail struct {
	ends  int // of the stretches before it in f.stretches, the line's own
	begin int64
	open  int64 // 0 = not known yet
}

// meet returns the first instant from at on at which every line allows.
//
// It ends: before their tails, lines have a few stretches each, and whoever was let go on
// inside of one is not stopped in it again. In their tails they step from bucket to
// bucket, without a look at any number, and all their buckets end together every 5,040
// hours, the least common multiple of all windows; in the last millisecond nothing is
// kept. So a line whose tail never allows is the only one that stops the search.
func (f *Facts) meet(at int64) (int64, bool) {
	for {
		next, ok := f.meetTails(at)
		if next, ok = f.meetOne(next, ok); !ok {
			return 0, false
		}
		if next == at {
			return at, true
		}
		at = next
	}
}

// meetTails goes on with the lines that are in their tails.
func (f *Facts) meetTails(at int64) (int64, bool) {
	for i := range f.lines {
		if at < f.tails[i].begin {
			continue
		}
		open := f.open(i)
		if open == 0 {
			return 0, false
		}
		width := f.lines[i].window.Millis()
		_, elapsed := windows.Bucket(at, width)
		at += max(0, width-open-elapsed)
	}
	return at, true
}

// meetOne goes on with the first line that blocks of those that are before their tails.
func (f *Facts) meetOne(at int64, ok bool) (int64, bool) {
	for i := 0; ok && i < len(f.lines); i++ {
		if at < f.tails[i].begin && !f.lineAllows(i, at) {
			return f.lineFrees(i, at), true
		}
	}
	return at, ok
}

// lineFrees returns the first instant after at at which line i allows, if it does so
// before its tail, else where that begins. At at it blocks.
func (f *Facts) lineFrees(i int, at int64) int64 {
	from := 0
	if i > 0 {
		from = f.tails[i-1].ends
	}
	start := at + 1
	for _, end := range f.stretches[from:f.tails[i].ends] {
		if start >= end {
			continue
		}
		if f.lineAllows(i, end-1) {
			return f.lineTurn(i, start, end-1)
		}
		start = end
	}
	return f.tails[i].begin
}

// lineTurn returns the first instant of start..last at which line i allows; at last it
// does.
func (f *Facts) lineTurn(i int, start, last int64) int64 {
	for start < last {
		if mid := start + (last-start)/2; f.lineAllows(i, mid) {
			last = mid
		} else {
			start = mid + 1
		}
	}
	return last
}

// lineAllows reports whether line i lets pass at an instant, as far as that is the same
// on every connection.
func (f *Facts) lineAllows(i int, at int64) bool {
	var n numbers
	f.sumLine(&n, i, at)
	reason, _ := n.judge(f.policy(), f.q.Threshold)
	return !reason.Blocks()
}

// open returns how many milliseconds of each bucket of its tail line i lets pass, 0 =
// none.
func (f *Facts) open(i int) int64 {
	t, width := &f.tails[i], f.lines[i].window.Millis()
	if t.open == 0 && f.lineAllows(i, t.begin+width-1) {
		t.open = t.begin + width - f.lineTurn(i, t.begin, t.begin+width-1)
	}
	return t.open
}

// findTails finds where the tails of the lines begin, and the stretches before.
func (f *Facts) findTails(now int64) {
	f.stretches, f.tails = f.stretches[:0], f.tails[:0]
	var held int64
	if f.listed {
		held = f.lastEnd()
	}
	for i := range f.lines {
		begin := f.addStretches(i, now, held)
		f.tails = append(f.tails, tail{ends: len(f.stretches), begin: begin})
	}
}

// addStretches appends the instants after now where something of line i may rise: where a
// bucket ends, or what the provider said. The last, which is returned, is the end of a
// bucket at which nothing of all that counts now is left.
func (f *Facts) addStretches(i int, now, held int64) (begin int64) {
	width, from := f.lines[i].window.Millis(), len(f.stretches)
	over := max(held, now)
	for k := i * f.conns; k < (i+1)*f.conns; k++ {
		r := &f.readings[k]
		for _, end := range [...]int64{r.Current.Until, r.Other.Until, r.PartUntil, r.Current.ResetAt, r.Other.ResetAt} {
			if end > now {
				f.stretches, over = append(f.stretches, end), max(over, end)
			}
		}
		over = max(over, f.keys[k].End(width), f.totals[k].End(width))
	}
	bucket, _ := windows.Bucket(now, width)
	for begin = (bucket + 1) * width; ; begin += width {
		f.stretches = append(f.stretches, begin)
		if begin >= over {
			break
		}
	}
	own := f.stretches[from:]
	slices.Sort(own)
	f.stretches = f.stretches[:from+len(slices.Compact(own))]
	return begin
}
