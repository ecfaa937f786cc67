package fairshare

import (
	"math"
	"slices"
	"sort"

	"github.com/quotashare/quotashare/quota"
)

// Hold is a request in flight on one of the pool's connections. It counts with
// its full amounts until its lease ends, but never with more than the limit or
// cap it is counted against: so one huge estimate cannot shut the pool for longer
// than a full window would.
type Hold struct {
	Amounts quota.Amounts
	Key     bool  // it is the asker's, or one of the others' if it asks as they
	Model   bool  // it is the asking key's own and for the asked model
	End     int64 // epoch ms from which it counts no more
	// Allocation is the index of the allocation that its key asks by, -1 = it has none.
	// It is set for pools of the rule guarantee alone.
	Allocation int
}

// Whose says which holds are summed.
type Whose uint8

// The holds that count against a limit, a share or cap, and a cap of a model.
const (
	OfAll Whose = iota
	OfAsker
	OfAskersModel
)

// of reports whether the hold is one of those.
func (h *Hold) of(whose Whose) bool {
	return whose == OfAll || whose == OfAsker && h.Key || whose == OfAskersModel && h.Model
}

// holding is what a line has in open holds. The holds of all and of the key count
// with at most the limit, those against the cap with at most the cap.
type holding struct{ all, key, cap quota.Amount }

// capped says whose holds count against the line's cap.
func (l *line) capped() Whose {
	if l.kind == modelCapped {
		return OfAskersModel
	}
	return OfAsker
}

// holding asks for what the line has at instant now.
func (l *line) holding(c Counters, now int64) (h holding) {
	if l.kind == dimension {
		if h.all = c.Held(l.unit, l.limit, OfAll, now); h.all == 0 {
			return h // nobody holds any of the unit
		}
		h.key = c.Held(l.unit, l.limit, OfAsker, now)
	}
	if l.cap > 0 {
		h.cap = c.Held(l.unit, l.cap, l.capped(), now)
	}
	return h
}

// holdingAt returns what the i-th line has at instant now.
func (f *Facts) holdingAt(i int, now int64) holding {
	if now == f.at || !f.listed {
		return f.held[i]
	}
	if len(f.falls.ends) == 0 {
		f.falls.fill(f.lines, f.holds)
	}
	return f.falls.at(i, now)
}

// lastEnd is when the last of the holds ends.
func (f *Facts) lastEnd() (end int64) {
	for i := range f.holds {
		end = max(end, f.holds[i].End)
	}
	return end
}

// falls are how what each line has in holds falls, from the last instant back to
// the first. A search for an instant looks at a hundred of them and there may be
// thousands of holds, so they are added up once.
type falls struct {
	order []place
	spare []place
	steps []step
	ends  []int // of the steps of each sum in steps, three for each line
	dealt []int // where the holds of each allocation end in order
}

// place is where in the list a hold is.
type place struct {
	end uint64 // ms after the first of all ends
	at  int
}

// step is the sum of all holds that end at end or later.
type step struct {
	end int64
	sum quota.Amount
}

// fill adds up the holds.
func (x *falls) fill(lines []line, holds []Hold) {
	x.sort(holds)
	x.steps, x.ends = x.steps[:0], x.ends[:0]
	for i := range lines {
		l := &lines[i]
		if l.kind == dimension {
			x.add(holds, l.unit, l.limit, OfAll)
			x.add(holds, l.unit, l.limit, OfAsker)
		} else {
			x.ends = append(x.ends, len(x.steps), len(x.steps))
		}
		if l.cap > 0 {
			x.add(holds, l.unit, l.cap, l.capped())
		} else {
			x.ends = append(x.ends, len(x.steps))
		}
	}
}

// sort puts the holds in the order of their ends, byte by byte from the lowest. They
// come in any order; ten thousand of them would take twenty times as long by
// comparing. As leases end within an hour of each other, it is three bytes.
func (x *falls) sort(holds []Hold) {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range holds {
		first, last = min(first, holds[i].End), max(last, holds[i].End)
	}
	x.order = x.order[:0]
	for i := range holds {
		x.order = append(x.order, place{uint64(holds[i].End) - uint64(first), i})
	}
	x.spare = slices.Grow(x.spare[:0], len(holds))[:len(holds)]
	for shift := 0; (uint64(last)-uint64(first))>>shift > 0; shift += 8 {
		var next [257]int // where the next hold with that byte goes
		for i := range x.order {
			next[int(byte(x.order[i].end>>shift))+1]++
		}
		for b := range 256 {
			next[b+1] += next[b]
		}
		for _, p := range x.order {
			b := byte(p.end >> shift)
			x.spare[next[b]] = p
			next[b]++
		}
		x.order, x.spare = x.spare, x.order
	}
}

// fillPeers adds up what each allocation has in each of the lines, all of them dimensions.
func (x *falls) fillPeers(lines []line, holds []Hold, allocations int) {
	x.sort(holds)
	x.steps, x.ends = x.steps[:0], x.ends[:0]
	x.deal(holds, allocations)
	all := x.order
	for i := range lines {
		from := 0
		for _, end := range x.dealt {
			x.order = all[from:end]
			x.add(holds, lines[i].unit, lines[i].limit, OfAll)
			from = end
		}
	}
	x.order = all
}

// deal puts the holds in the order of their allocations, of each in the order that they
// have; those that have none are left out.
func (x *falls) deal(holds []Hold, allocations int) {
	x.dealt = room(x.dealt, allocations)
	clear(x.dealt)
	for _, p := range x.order {
		if j := holds[p.at].Allocation; j >= 0 {
			x.dealt[j]++
		}
	}
	sum := 0
	for j, n := range x.dealt { // where the next hold of each goes
		x.dealt[j] = sum
		sum += n
	}
	x.spare = x.spare[:sum]
	for _, p := range x.order {
		if j := holds[p.at].Allocation; j >= 0 {
			x.spare[x.dealt[j]] = p
			x.dealt[j]++
		}
	}
	x.order, x.spare = x.spare, x.order
}

func (x *falls) add(holds []Hold, u quota.Unit, most quota.Amount, whose Whose) {
	var sum quota.Amount
	for _, p := range slices.Backward(x.order) {
		h := &holds[p.at]
		amount := h.Amounts[u]
		if amount == 0 || !h.of(whose) {
			continue
		}
		if most > 0 {
			amount = min(amount, most)
		}
		sum = quota.AddSat(sum, amount)
		x.steps = append(x.steps, step{h.End, sum})
	}
	x.ends = append(x.ends, len(x.steps))
}

// at returns what the i-th line has at instant now.
func (x *falls) at(i int, now int64) holding {
	return holding{all: x.sum(3*i, now), key: x.sum(3*i+1, now), cap: x.sum(3*i+2, now)}
}

// sum returns the k-th sum at instant now: that of the last step whose hold has
// not ended.
func (x *falls) sum(k int, now int64) quota.Amount {
	from := 0
	if k > 0 {
		from = x.ends[k-1]
	}
	steps := x.steps[from:x.ends[k]]
	open := sort.Search(len(steps), func(i int) bool { return steps[i].end <= now })
	if open == 0 {
		return 0
	}
	return steps[open-1].sum
}
