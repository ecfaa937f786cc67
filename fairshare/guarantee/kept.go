package guarantee

import (
	"cmp"
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// Promise is what key k can still use whatever the others do: max(0, ℓ_k − c_k), at once
// in a cycle, by the end of the bucket in a sliding window. It is what Judge says the key
// is promised when it asks, at the cost of one key and not of all.
func (d *Dimension) Promise(k int) quota.Amount {
	s := sums{d: d, promise: newPart(d.Reserve*d.Left, 100*d.Window)}
	return s.owed(&d.Keys[k])
}

// Kept is a key that a question stands behind, and by how much.
type Kept struct {
	Key    int // index in Dimension.Keys
	Amount quota.Amount
}

// KeptFor appends for whom capacity is kept against the question, which Judge blocked
// with that outcome: most keys of them, those with the largest amounts first, then those
// that come first in the dimension. Of Reserved it is what each key needs, and E with the
// one that it comes from, so that all of them together are what the verdict has as Kept.
// Of Yield it is the headroom of each, of which the two largest may be the verdict's.
// Another outcome has none.
func (d *Dimension) KeptFor(a Asker, outcome Outcome, most int, dst []Kept) []Kept {
	if outcome != Reserved && outcome != Yield {
		return dst
	}
	first := len(dst)
	extra, at := quota.Amount(0), 0
	for j := range d.Keys {
		need, more, headroom := d.against(a, j)
		if more > extra {
			extra, at = more, j
		}
		if outcome == Yield {
			need = headroom
		}
		dst = append(dst, Kept{j, need})
	}
	if list := dst[first:]; outcome == Reserved && extra > 0 {
		list[at].Amount += extra
	}
	list := slices.DeleteFunc(dst[first:], func(k Kept) bool { return k.Amount <= 0 })
	slices.SortStableFunc(list, func(x, y Kept) int { return cmp.Compare(y.Amount, x.Amount) })
	return append(dst[:first], list[:min(most, len(list))]...)
}

// against is what the question finds of key j alone: need_j, what E would be, and h_j.
// Every key is asked about by the code that judges all at once, so there is no second
// formula that could say another thing.
func (d *Dimension) against(a Asker, j int) (need, extra, headroom quota.Amount) {
	if j == a.Key {
		return 0, 0, 0
	}
	s := d.begin(a)
	alone := *d
	alone.Keys = d.Keys[j : j+1]
	s.d = &alone
	if a.Key == NoKey {
		s.outsider()
	} else {
		s.a.Key = NoKey // the asker is not among them
		s.scan()
	}
	return s.need, s.extra, quota.AddSat(s.headroom[0], s.headroom[1])
}

// Most is the most that the asker may use at once, up to most; its estimate is not looked
// at. What the rule lets pass of more it lets pass of less, so halving finds it. Each
// answer narrows the rest besides: what is kept only grows with what is asked for, so of
// what is kept against x
//
//	L − C − kept, and no more than L − T − H of a sliding window,
//
// may be asked for by whoever is blocked with x, and no more than that by whoever is not.
func (d *Dimension) Most(a Asker, most quota.Amount) quota.Amount {
	least := quota.Amount(0) // nothing is always let pass
	for a.Estimate = most; least < most; a.Estimate = least + (most-least+1)/2 {
		v := d.Judge(a)
		room := d.Limit - d.Spent - v.Kept
		if !d.Cycle {
			room = min(room, d.Limit-d.Total-v.Headroom)
		}
		if v.Outcome.Blocks() {
			least, most = max(least, min(room, a.Estimate-1)), a.Estimate-1
		} else {
			least, most = a.Estimate, min(most, room)
		}
	}
	return least
}
