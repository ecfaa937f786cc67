package decider

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/questions"
)

// atCount is a counter that does something when it counts.
type atCount struct {
	prometheus.Counter
	do func()
}

func (c atCount) Add(n float64) {
	c.Counter.Add(n)
	c.do()
}

// TestNobodyKeepsWhatFoundNoRoom: the writer has not taken the hold of a call, and
// the call's time ends just then, or does not. Either way it is free to be used again.
func TestNobodyKeepsWhatFoundNoRoom(t *testing.T) {
	for _, ends := range []bool{false, true} {
		var kept *pending
		answered := make(chan struct{})
		r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) {
			e.holds.most = 0
			e.metrics.holds.overflow = atCount{e.metrics.holds.overflow, func() {
				e.waiters.mu.Lock()
				kept = e.waiters.ends[0].first
				e.waiters.mu.Unlock()
				if ends {
					e.Hurry()
					await(t, answered, "the answer to a call that is hurried")
				}
			}}
		})
		rs := make([]questions.Reply, 1)
		if at := r.Begin([]questions.Question{held("1")}, rs, func() { close(answered) }); at == ends || !rs[0].Allow {
			t.Errorf("its time ends %v: answered at once %v, %+v", ends, at, rs[0])
		}
		if n := kept.owners.Load(); n != 0 {
			t.Errorf("its time ends %v: %d have it still", ends, n)
		}
	}
}
