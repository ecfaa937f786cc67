package fairshare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// reachOf says how far each key of a pool with these allocations comes, as "at once/by the
// end" by the threshold rule, and then by guarantee.
func reachOf(t *testing.T, limit quota.Amount, reserve int64, list ...plans.Allocation) (lines []string) {
	t.Helper()
	p := &plans.Pool{ID: "p", Mode: plans.Off, Reserve: reserve, Connections: []plans.Connection{{ConnectionID: "a"}, {ConnectionID: "b"}}, Allocations: list}
	for i := range list {
		list[i].APIKeyID = fmt.Sprint(i)
	}
	pool := plans.Resolve(p, func(string) plans.Plan {
		return plans.Plan{Dimensions: []plans.Dimension{{Unit: quota.Tokens, Window: quota.Hourly}, {Unit: quota.Tokens, Window: quota.Daily, Limit: limit / 2}}}
	})
	rules := [2]*Reacher{}
	for rule := range rules {
		rules[rule] = &Reacher{Pool: pool, Rule: plans.Rule(rule), Threshold: quota.RatioOne / 2}
	}
	for i := range list {
		var line []string
		for _, r := range rules {
			if reach, ok := r.Of(0, i); ok {
				t.Errorf("%+v of a limit that is unknown", reach)
			}
			reach, ok := r.Of(1, i)
			if !ok {
				t.Fatal("of a limit that is known nothing is")
			}
			line = append(line, fmt.Sprintf("%d/%d", reach.AtOnce, reach.ByEnd))
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

// TestReach of a pool of 1,000 a day. The threshold rule stops who is alone at half of it,
// or at the share. By guarantee there is at once the own share, 125 or 375, and what
// rounding leaves of the pace of the others; and by the end all of it.
func TestReach(t *testing.T) {
	weight := func(w quota.Ratio) plans.Allocation { return plans.Allocation{Weight: w * quota.RatioOne} }
	with := func(a plans.Allocation, change func(*plans.Allocation)) plans.Allocation { change(&a); return a }
	got := reachOf(
		t, 1000, 100,
		weight(20), weight(60),
		with(weight(20), func(a *plans.Allocation) { a.Policy = plans.Soft }),
		with(weight(0), func(a *plans.Allocation) { a.Suspended = true }),
		with(weight(20), func(a *plans.Allocation) { a.CapUnit, a.CapValue = quota.Tokens, 70 }),
		with(weight(20), func(a *plans.Allocation) { a.Caps = []plans.Cap{{Unit: quota.Tokens, Window: quota.Hourly, Value: 30}} }),
		with(weight(20), func(a *plans.Allocation) {
			a.Caps = []plans.Cap{{Unit: quota.Tokens, Window: quota.Monthly, Value: 40}}
		}),
	)
	want := []string{
		"500/500 130/1000", "500/500 380/1000", "1000/1000 130/1000", "0/0 0/0", "70/70 70/70", "30/500 30/1000", "40/40 40/40",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	capped := func(at quota.Amount) plans.Allocation {
		return with(weight(20), func(a *plans.Allocation) { a.CapUnit, a.CapValue = quota.Tokens, at })
	}
	got = reachOf(t, 1_000_000_000_000, 0, weight(60), capped(7), capped(9))
	if want := "[600000000001/600000000001 979591836735/1000000000000 7/7 7/7 9/9 9/9]"; fmt.Sprint(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = reachOf(t, 1_000_000_000_000, 100, weight(50), weight(50)) // the last millisecond matters
	if want := "500000005788/1000000000000"; !strings.HasSuffix(got[0], want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestReachIsWhereStepsEnd: who asks for one after the other, at the beginning of a window
// and at its end, comes as far as that; on random pools, in both kinds of periods.
func TestReachIsWhereStepsEnd(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	short := 0
	for n := range 300 {
		p := &plans.Pool{ID: "p", Rule: plans.Threshold, Reserve: []int64{0, 50, 100, 400}[r.IntN(4)], Connections: []plans.Connection{{ConnectionID: "a"}}}
		for j := range 1 + r.IntN(5) {
			p.Allocations = append(p.Allocations, plans.Allocation{
				APIKeyID: fmt.Sprint(j), Weight: quota.Ratio(r.IntN(60)) * quota.RatioOne, Policy: plans.Policy(r.IntN(3)), Suspended: r.IntN(9) == 0,
			})
		}
		unit := []quota.Unit{quota.Tokens, quota.Percent}[r.IntN(2)]
		limit := quota.Amount(1 + r.IntN(400))
		pool := plans.Resolve(p, func(string) plans.Plan {
			return plans.Plan{Dimensions: []plans.Dimension{{Unit: unit, Window: quota.Hourly, Limit: limit}}}
		})
		i := r.IntN(len(p.Allocations))
		got, _ := (&Reacher{Pool: pool, Rule: plans.Guarantee}).Of(0, i)
		want := Reach{stepped(pool, i, quota.Hourly.Millis()-1), stepped(pool, i, 0)}
		if got != want {
			t.Fatalf("seed %d, case %d: %+v, in steps %+v\n%+v", seed, n, got, want, p)
		}
		if got.AtOnce < limit {
			short++
		}
	}
	if short < 100 {
		t.Errorf("only %d did not reach all at once", short)
	}
}

// stepped is how often the allocation may use one, while so much is left of the window.
func stepped(pool *plans.Resolved, i int, left int64) (used quota.Amount) {
	p, a := pool.Pool, &pool.Pool.Allocations[i]
	if a.Suspended {
		return 0
	}
	d := &pool.Dimensions[0]
	for {
		one := guarantee.Dimension{
			Limit: d.Limit, Total: used, Spent: used, Window: d.Window.Millis(), Left: left, Reserve: p.Reserve, Cycle: d.Unit == quota.Percent,
		}
		for j := range p.Allocations {
			one.Keys = append(one.Keys, guarantee.Key{Share: d.Shares[j], Weight: pool.Weights[j], Suspended: p.Allocations[j].Suspended})
		}
		one.Keys[i].Used, one.Keys[i].Begun = used, used > 0
		if one.Judge(guarantee.Asker{Key: i, Estimate: 1, Gives: a.Policy != plans.Hard}).Outcome.Blocks() {
			return used
		}
		used++
	}
}
