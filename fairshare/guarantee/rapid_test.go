package guarantee

import (
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// draw makes a dimension and a question, of sizes from single units to the largest.
func draw(r *rand.Rand) (*plain, int, int64, bool) {
	windows := []int64{1, 10, 1000, 3_600_000, 18_000_000, 86_400_000, 30 * 86_400_000}
	limits := []int64{1, 7, 100, 10_000, 1_500_000, 1_000_000_000, 1 << 50, 1 << 61}
	d := &plain{
		limit: 1 + r.Int64N(limits[r.IntN(len(limits))]), window: windows[r.IntN(len(windows))],
		reserve: []int64{0, 1, 50, 100, 100, 100, 200, 400}[r.IntN(8)], anchored: r.IntN(2) == 0,
	}
	d.left = []int64{0, r.Int64N(d.window), r.Int64N(d.window), d.window - 1}[r.IntN(4)]
	n := 1 + r.IntN(12)
	weights := make([]quota.Ratio, n)
	for i := range weights {
		weights[i] = []quota.Ratio{0, quota.Ratio(r.Int64N(100_000_001)), quota.Ratio(r.Int64N(100)) * quota.RatioOne / quota.Ratio(n), quota.RatioOne}[r.IntN(4)]
	}
	shares := plans.Shares(quota.Amount(d.limit), weights)
	spend := func(up int64) int64 { return []int64{0, 0, 1, r.Int64N(up + 1), r.Int64N(up/16 + 1)}[r.IntN(5)] }
	for i, w := range weights {
		d.keys = append(d.keys, plainKey{curr: spend(d.limit / int64(n)), held: spend(d.limit / int64(4*n)), share: int64(shares[i]), weight: int64(w), suspended: r.IntN(12) == 0})
	}
	d.outside = spend(d.limit / 10)
	for _, k := range d.keys {
		d.total += k.curr + k.held
	}
	d.total += d.outside + spend(d.limit/3)
	i := r.IntN(n+1) - 1
	return d, i, []int64{0, 1, spend(d.limit), spend(d.limit / 20), d.limit * 2}[r.IntN(5)], r.IntN(4) == 0
}

// TestTheFastFormIsThePlainOne on 200,000 random cases.
func TestTheFastFormIsThePlainOne(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	seen := map[Outcome]int{}
	for n := range 200_000 {
		d, i, x, gives := draw(r)
		want := d.judge(i, x, gives)
		v := d.dimension().Judge(Asker{Key: i, Estimate: quota.Amount(x), Gives: gives})
		got := plainVerdict{v.Outcome, int64(v.Promised), int64(v.Kept), int64(v.Headroom)}
		if got != want {
			t.Fatalf("seed %d, case %d: %+v, plain %+v\n%+v, key %d asks for %d, gives %v", seed, n, got, want, d, i, x, gives)
		}
		seen[v.Outcome]++
	}
	for o := OK; o <= Full; o++ {
		if seen[o] < 50 {
			t.Errorf("outcome %d was drawn %d times", o, seen[o])
		}
	}
}

// TestParts against a division, at the ends of what is allowed.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 1_000_000 {
		den := 1 + r.Int64N(1<<uint(1+r.IntN(62)))
		num := []int64{0, 1, den, den - 1, r.Int64N(den), 2 * (den >> 1)}[r.IntN(6)]
		a := []int64{0, 1, 1<<63 - 1, r.Int64(), r.Int64N(1000)}[r.IntN(5)]
		p := newPart(num, den)
		want := floorDiv(mul(a, min(num, den)), big_(den)).Int64()
		if got := p.of(quota.Amount(a)); int64(got) != want {
			t.Fatalf("%d × %d / %d is %d, want %d", a, num, den, got, want)
		}
		for _, least := range []int64{want - 1, want, want + 1} {
			if least >= 0 && p.reaches(quota.Amount(a), quota.Amount(least)) != (want >= least) {
				t.Fatalf("%d × %d / %d reaches %d wrongly", a, num, den, least)
			}
		}
	}
}
