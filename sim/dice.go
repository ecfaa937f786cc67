package sim

import "math/rand/v2"

// dice is the only source of chance, so a seed is a whole run.
type dice struct{ r *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// chance is true in that many of a hundred.
func (d dice) chance(percent int) bool { return d.r.IntN(100) < percent }

// between draws from low..high, both among them.
func (d dice) between(low, high int64) int64 { return low + d.r.Int64N(high-low+1) }

// kind draws the place of one of the weights, in proportion to it.
func (d dice) kind(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := d.r.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return len(weights) - 1
}

func pick[T any](d dice, list []T) T { return list[d.r.IntN(len(list))] }

// some draws n different items, in random order.
func some[T any](d dice, list []T, n int) []T {
	var drawn []T
	for _, i := range d.r.Perm(len(list))[:min(n, len(list))] {
		drawn = append(drawn, list[i])
	}
	return drawn
}
