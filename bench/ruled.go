package bench

import (
	"context"
	"fmt"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// ruledAt is the instant of all questions to either rule: some way into both windows.
const ruledAt = 1_790_000_000_000

// shared is a connection that many keys used in both its dimensions, some more and some
// nothing: by key, and at last all.
type shared struct {
	half
	keys [][quota.NumUnits]windows.Counter
	as   int
}

func (s *shared) Key(_ int, u quota.Unit, _ quota.Window) windows.Counter { return s.keys[s.as][u] }

func (s *shared) As(j int) fairshare.Counters { s.as = j; return s }

// sharedBy makes one of n keys, who used a good half of the limits in these buckets. That
// is so much that what each of them used matters.
func sharedBy(n int) *shared {
	s := &shared{keys: make([][quota.NumUnits]windows.Counter, n)}
	for _, d := range dimensions() {
		bucket, _ := windows.Bucket(ruledAt, d.Window.Millis())
		s.t[d.Unit].Index = bucket
		for j := range s.keys {
			used := d.Limit / quota.Amount(n) * quota.Amount(j*7%10) / 8
			s.keys[j][d.Unit] = windows.Counter{Index: bucket, Curr: used}
			s.t[d.Unit].Curr += used
		}
	}
	return s
}

// dimension is what the rule guarantee judges by, of the same.
func (s *shared) dimension(d plans.Dimension, pool *plans.Resolved, i int) *guarantee.Dimension {
	_, elapsed := windows.Bucket(ruledAt, d.Window.Millis())
	g := &guarantee.Dimension{
		Limit: d.Limit, Total: s.t[d.Unit].Curr, Spent: s.t[d.Unit].Curr,
		Window: d.Window.Millis(), Left: d.Window.Millis() - 1 - elapsed, Reserve: 100,
	}
	for j := range s.keys {
		used := s.keys[j][d.Unit].Curr
		g.Keys = append(g.Keys, guarantee.Key{Used: used, Begun: used > 0, Share: pool.Dimensions[i].Shares[j], Weight: pool.Weights[j]})
	}
	return g
}

// ruled measures the rule guarantee, alone and in whole questions, and those beside the
// same by the rule threshold.
func ruled(ctx context.Context, r *runner) ([]Row, error) {
	var rows []Row
	for _, c := range []struct {
		keys int
		most float64 // ns of the rule alone
	}{{10, 300}, {100, 1500}} {
		more, err := r.ruledOf(c.keys, c.most)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, ctx.Err()
}

func (r *runner) ruledOf(keys int, most float64) ([]Row, error) {
	s := sharedBy(keys)
	byPromise, byThreshold := ruledPool(keys, plans.Guarantee), ruledPool(keys, plans.Threshold)
	var dims []*guarantee.Dimension
	for i, d := range dimensions() {
		dims = append(dims, s.dimension(d, byPromise, i))
	}
	var alone, allocs, whole, bare, ratios []float64
	for range r.rounds {
		asker := 0
		ns, n := count(r.calls, func() {
			for _, d := range dims {
				d.Judge(guarantee.Asker{Key: asker, Estimate: 1000})
			}
			asker = (asker + 1) % keys
		})
		alone, allocs = append(alone, ns), append(allocs, n)
		ns, err := r.question(byPromise, s)
		if err != nil {
			return nil, err
		}
		other, err := r.question(byThreshold, s)
		if err != nil {
			return nil, err
		}
		whole, bare, ratios = append(whole, ns), append(bare, other), append(ratios, ns/other)
	}
	name := fmt.Sprintf("rule guarantee, 2 dimensions, %d keys", keys)
	return []Row{
		Row{Name: name, Unit: "ns", Ours: median(alone)}.judged(atMost(most)),
		Row{Name: name, Unit: "allocations", Ours: median(allocs)}.judged(atMost(0)),
		{Name: name + ", a question beside threshold", Unit: "ns", Ours: median(whole), Bare: median(bare), Ratio: median(ratios)},
	}, nil
}

func ruledPool(keys int, rule plans.Rule) *plans.Resolved {
	pool := poolOf(poolID, connection, keys)
	pool.Rule = rule
	return plans.Resolve(pool, func(string) plans.Plan { return plans.Plan{Dimensions: dimensions()} })
}

// question measures questions of the second key, which is let pass.
func (r *runner) question(pool *plans.Resolved, s *shared) (nanos float64, err error) {
	q := fairshare.Question{Pool: pool, Allocation: 2, APIKeyID: keyName(2), Threshold: quota.RatioOne, SoftFactor: quota.RatioOne, Brief: true}
	q.Estimate[quota.Requests] = quota.Amount(quota.Requests.Scale())
	var f fairshare.Facts
	nanos, _ = count(r.calls, func() {
		s.as = q.Allocation
		f.Gather(&q, s, ruledAt)
		_ = f.Decide(ruledAt)
	})
	if v := f.Decide(ruledAt).Verdict; !v.Allowed() {
		return nanos, fmt.Errorf("by the rule %s the key was judged %v", pool.Pool.Rule, v)
	}
	return nanos, nil
}
