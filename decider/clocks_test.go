package decider

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/questions"
)

// apart is a change of an engine whose clock is that far from the broker's.
func apart(by time.Duration) func(*Engine) {
	return func(e *Engine) {
		e.now = func() int64 { return time.Now().Add(by).UnixMilli() }
	}
}

// Two deciders whose clocks are five minutes apart, and leases of two: to the fast
// one every lease is over as soon as it is given, to the slow one none ever is. The
// fold knows neither clock.
func TestClocksThatDifferAdmitNoMoreThanTheLimit(t *testing.T) {
	nc := startLog(t, t.TempDir())
	slow, fast := start(t, nc, t.TempDir()+"/slow", apart(-150*time.Second)), start(t, nc, t.TempDir()+"/fast", apart(150*time.Second))
	oneLimit(slow, 20)
	fast.level(slow)
	var admitted atomic.Int64
	var all sync.WaitGroup
	question := func(i int) questions.Question {
		q := held(fmt.Sprint("r-", i))
		q.LeaseMs = 120_000
		return q
	}
	for i := range 60 {
		all.Go(func() {
			if got := []*running{slow, fast}[i%2].folded(question(i)); got.Allow {
				admitted.Add(1)
			}
		})
	}
	await(t, returned(all.Wait), "the answer to all")
	if n := admitted.Load(); n != 20 {
		t.Errorf("%d of 60 were admitted, want 20", n)
	}
	fast.level(slow)
	for i, r := range []*running{slow, fast} {
		if got := r.folded(question(60 + i)); got.Allow || got.Reason != fairshare.GlobalSaturated.String() {
			t.Errorf("one more is answered %+v", got)
		}
		if r.open() != 20 {
			t.Errorf("%d holds are open, want 20", r.open())
		}
	}
}
