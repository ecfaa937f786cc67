package decider

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// oneLimit is a pool whose only connection has this limit of requests an hour, all
// of it alice's.
func oneLimit(r *running, limit int64) {
	r.t.Helper()
	_, err := r.PutPlan(r.within(), "c", []plans.Dimension{{Unit: quota.Requests, Window: quota.Hourly, Limit: quota.Amount(limit * 1000)}}, httpapi.Meta{})
	r.must(err)
	p := team("p", "c")
	p.Allocations = []plans.Allocation{{APIKeyID: "alice", Weight: 100 * quota.RatioOne, Policy: plans.Burst}}
	_, err = r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
}

// TestNoMoreThanTheLimit asks two deciders in parallel for twice as much as there is.
func TestNoMoreThanTheLimit(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	oneLimit(a, 20)
	b.must(b.current.Load().loop.Wait(b.within(), a.Applied()))
	var admitted atomic.Int64
	var all sync.WaitGroup
	for i := range 40 {
		r := []*running{a, b}[i%2]
		all.Go(func() {
			rs := make([]questions.Reply, 1)
			r.Decide(context.Background(), []questions.Question{{APIKeyID: "alice", ConnectionID: "c", Reserve: true, MaxWaitMs: 20_000, Estimate: quota.Amounts{1000}}}, rs)
			if rs[0].Err != nil || len(rs[0].Degraded) > 0 || rs[0].RequestID == "" {
				t.Errorf("answered %+v", rs[0])
			}
			if rs[0].Allow {
				admitted.Add(1)
			}
		})
	}
	all.Wait()
	if n := admitted.Load(); n != 20 {
		t.Errorf("%d of 40 were admitted, want 20", n)
	}
}
