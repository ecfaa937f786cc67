package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// half is a connection whose two dimensions are in use: c for the key, t for
// all keys.
type half struct {
	c, t [quota.NumUnits]windows.Counter
}

func (h *half) Key(_ int, u quota.Unit, _ quota.Window) windows.Counter   { return h.c[u] }
func (h *half) Total(_ int, u quota.Unit, _ quota.Window) windows.Counter { return h.t[u] }
func (h *half) Model(int, quota.Unit) windows.Counter                     { return windows.Counter{} }

func (h *half) Reading(int, quota.Window) fairshare.Reading { return fairshare.Reading{} }

func (h *half) As(int) fairshare.Counters { return h }

func (h *half) Scoped(_ int, _ quota.Window, dst []fairshare.Level) []fairshare.Level { return dst }

func (h *half) Held(quota.Unit, quota.Amount, fairshare.Whose, int64) quota.Amount { return 0 }
func (h *half) Holds(dst []fairshare.Hold) []fairshare.Hold                        { return dst }

// pure measures the judgement alone, of a soft key above its share: every rule
// is gone through.
func pure(ctx context.Context, r *runner) ([]Row, error) {
	const now = 1_790_000_000_000
	pool := poolOf(poolID, connection, poolKeys)
	pool.Allocations[0].Policy = plans.Soft
	resolved := plans.Resolve(pool, func(string) plans.Plan { return plans.Plan{Dimensions: dimensions()} })
	h := new(half)
	for _, d := range dimensions() {
		bucket, _ := windows.Bucket(now, d.Window.Millis())
		h.c[d.Unit] = windows.Counter{Index: bucket, Curr: d.Limit / 3, Prev: d.Limit / 5}
		h.t[d.Unit] = windows.Counter{Index: bucket, Curr: d.Limit / 2, Prev: d.Limit / 4}
	}
	q := fairshare.Question{Pool: resolved, APIKeyID: keyName(0), Threshold: quota.RatioOne / 2, SoftFactor: quota.RatioOne * 7 / 10}
	q.Estimate[quota.Requests] = quota.Amount(quota.Requests.Scale())

	var f fairshare.Facts
	var nanos, allocs []float64
	for range r.rounds {
		ns, n := count(r.calls, func() {
			f.Gather(&q, h, now)
			_ = f.Decide(now)
		})
		nanos, allocs = append(nanos, ns), append(allocs, n)
	}
	if !f.Decide(now).Deprioritize {
		return nil, fmt.Errorf("the key above its share was judged %v", f.Decide(now).Verdict)
	}
	return []Row{
		Row{Name: "pure decision, 2 dimensions", Unit: "ns", Ours: median(nanos)}.judged(atMost(300)),
		Row{Name: "pure decision, 2 dimensions", Unit: "allocations", Ours: median(allocs)}.judged(atMost(0)),
	}, ctx.Err()
}

// count returns nanoseconds and allocations of one call.
func count(calls int, call func()) (nanos, allocs float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range calls {
		call()
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	// As the testing package does: what the runtime allocates now and then is
	// not the call's.
	return float64(took.Nanoseconds()) / float64(calls), float64((after.Mallocs - before.Mallocs) / uint64(calls))
}
