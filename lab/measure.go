package lab

import (
	"math/bits"

	"github.com/quotashare/quotashare/quota"
)

// window is what every key asked for in one window, and what it was served.
type window struct{ asked, served []quota.Amount }

func newWindow(keys int) window {
	return window{make([]quota.Amount, keys), make([]quota.Amount, keys)}
}

// result measures what came of it.
func (r *run) result() *Result {
	res := &Result{Scenario: r.s.Name, Kind: r.kind, Rule: r.rule, Figures: r.referee.figures, Points: r.points}
	for i, k := range r.s.Keys {
		res.Keys = append(res.Keys, Share{Name: k.Name, Weight: k.Weight, Share: r.pool.Dimensions[0].Shares[i], WaitMs: r.referee.waits[i]})
		res.WaitMs = max(res.WaitMs, r.referee.waits[i])
	}
	measured := r.windows[r.s.Warmup:]
	for _, w := range measured {
		r.measure(res, w)
	}
	n := quota.Ratio(len(measured))
	for _, p := range []*quota.Ratio{&res.Served, &res.Missed, &res.Excess, &res.Gap, &res.Jain} {
		*p /= n
	}
	for i := range res.Keys {
		k := &res.Keys[i]
		for _, p := range []*quota.Amount{&k.Asked, &k.Optimum, &k.Served} {
			*p /= quota.Amount(n)
		}
	}
	return res
}

// measure adds up one window.
func (r *run) measure(res *Result, w window) {
	best := Fill(Whole, w.asked, r.pool.Weights)
	var served, missed, excess quota.Amount
	for i := range best {
		k := &res.Keys[i]
		k.Asked, k.Optimum, k.Served = k.Asked+w.asked[i], k.Optimum+best[i], k.Served+w.served[i]
		served += w.served[i]
		missed += max(0, best[i]-w.served[i])
		excess += max(0, w.served[i]-best[i])
	}
	res.Served += ofWhole(served)
	res.Missed += ofWhole(missed)
	res.Excess += ofWhole(excess)
	res.Gap += ofWhole((missed + excess) / 2)
	res.Jain += jain(w.served, best, r.pool.Weights)
}

// ofWhole is an amount in millionths of the limit.
func ofWhole(a quota.Amount) quota.Ratio {
	return quota.Ratio(a / (Whole / quota.Amount(quota.RatioOne)))
}

// jain is the weighted index of fairness of what was served by what is best,
//
//	(Σ w·x)² / (Σ w · Σ w·x²)    x = served / best
//
// over the keys that get anything at best; 1 when they get nothing, or there are none.
// Weights are in millionths of their sum, and x in thousandths, 1,000 at most. So Σ w·x is
// at most 10^12 and Σ w·x² at most 10^18.
func jain(served, best []quota.Amount, weights []int64) quota.Ratio {
	var all int64
	for i, w := range weights {
		if best[i] > 0 {
			all += w
		}
	}
	var sum, first, second uint64
	for i, w := range weights {
		if best[i] == 0 || w == 0 {
			continue
		}
		w := uint64(w) * 1_000_000 / uint64(all)
		x := uint64(min(served[i]*1_000/best[i], 1_000_000))
		sum, first, second = sum+w, first+w*x, second+w*x*x
	}
	if second == 0 {
		return quota.RatioOne
	}
	hi, lo := bits.Mul64(first, first)
	mean, _ := bits.Div64(hi, lo, sum)
	hi, lo = bits.Mul64(mean, uint64(quota.RatioOne))
	index, _ := bits.Div64(hi, lo, second) // ≤ 1, as (Σ w·x)² ≤ Σ w · Σ w·x²
	return quota.Ratio(index)
}
