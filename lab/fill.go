package lab

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// Fill returns what weighted max-min gives each key of the limit, of which it asks for so
// much: nobody can have more but from somebody who has no more for its weight. It is what
// filling vessels with water comes to, each as wide as its key's weight and as high as what
// it asks for. Nothing asked for is negative; a weight of 0 has what the others leave,
// equally.
//
// With the keys by what they ask for in proportion to their weight, each has all of it as
// long as
//
//	asked / weight ≤ rest of the limit / rest of the weights
//
// and from the first that asks for more, all have the rest by their weights. That is
// rounded down; the steps that remain, fewer than keys, go one by one to the key that is
// lowest with it, the earlier of several. So it is the same as to deal all of the limit
// step by step to the lowest, and costs nothing.
func Fill(limit quota.Amount, asked []quota.Amount, weights []int64) []quota.Amount {
	got := make([]quota.Amount, len(asked))
	left := fillGroup(limit, asked, weights, got)
	if left > 0 {
		same := make([]int64, len(weights))
		for i, w := range weights {
			if w == 0 {
				same[i] = 1
			}
		}
		fillGroup(left, asked, same, got)
	}
	return got
}

// fillGroup fills those that have a weight, and returns what is left.
func fillGroup(rest quota.Amount, asked []quota.Amount, weights []int64, got []quota.Amount) quota.Amount {
	var order []int
	var sum int64
	for i, w := range weights {
		if w > 0 {
			order, sum = append(order, i), sum+w
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(asked[a], weights[b], asked[b], weights[a]) })
	for k, i := range order {
		if compare(asked[i], sum, rest, weights[i]) > 0 {
			return fillLevel(rest, sum, order[k:], asked, weights, got)
		}
		got[i] = asked[i]
		rest, sum = rest-asked[i], sum-weights[i]
	}
	return rest
}

// fillLevel fills all of these to one level.
func fillLevel(rest quota.Amount, sum int64, keys []int, asked []quota.Amount, weights []int64, got []quota.Amount) quota.Amount {
	left := rest
	for _, i := range keys {
		hi, lo := bits.Mul64(uint64(rest), uint64(weights[i]))
		q, _ := bits.Div64(hi, lo, uint64(sum))
		got[i] = quota.Amount(q)
		left -= got[i]
	}
	slices.Sort(keys)
	for ; left > 0; left-- {
		lowest := -1
		for _, i := range keys {
			if got[i] < asked[i] && (lowest < 0 || compare(got[i]+1, weights[lowest], got[lowest]+1, weights[i]) < 0) {
				lowest = i
			}
		}
		got[lowest]++
	}
	return 0
}

// compare compares a·v with b·w, of numbers that are not negative.
func compare(a quota.Amount, v int64, b quota.Amount, w int64) int {
	aHi, aLo := bits.Mul64(uint64(a), uint64(v))
	bHi, bLo := bits.Mul64(uint64(b), uint64(w))
	if c := cmp.Compare(aHi, bHi); c != 0 {
		return c
	}
	return cmp.Compare(aLo, bLo)
}
