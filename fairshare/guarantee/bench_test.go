package guarantee

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// town is a dimension of so many keys in the midst of a window, some of whom used a lot,
// some nothing.
func town(n int) *Dimension {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	d := &Dimension{Limit: 1_000_000_000, Window: 3_600_000, Left: 1_700_000, Reserve: 100}
	weights := make([]quota.Ratio, n)
	for i := range weights {
		weights[i] = quota.Ratio(1+r.Int64N(100)) * quota.RatioOne / quota.Ratio(n)
	}
	for i, share := range plans.Shares(d.Limit, weights) {
		k := Key{Share: share, Weight: int64(weights[i])}
		if i%3 > 0 {
			k.Used, k.Begun = quota.Amount(r.Int64N(int64(share))), true
		}
		d.Keys, d.Spent = append(d.Keys, k), d.Spent+k.Used
	}
	d.Total = d.Spent + d.Limit/10
	return d
}

// BenchmarkJudge is a decision over two dimensions, asked by each key in turn.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{2, 10, 100} {
		one, two := town(n), town(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				a := Asker{Key: i, Estimate: 20_000}
				one.Judge(a)
				two.Judge(a)
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}
