package decider

import (
	"context"
	"testing"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/natsapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
)

// hurried is the context of who finds no room to wait.
func hurried() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(natsapi.ErrHurried)
	return ctx
}

// askHurried asks without waiting.
func (r *running) askHurried(qs ...questions.Question) []questions.Reply {
	r.t.Helper()
	rs := make([]questions.Reply, len(qs))
	r.decide(hurried(), qs, rs)
	return rs
}

// TestHurriedIsWritten: who finds no room to wait is answered at once, and what was
// let pass is in the log all the same, for another decider and the next one here. What
// was blocked is not.
func TestHurriedIsWritten(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	oneLimit(a, 2)
	b.level(a)
	for i, got := range a.askHurried(held(""), held("2"), held("3")) {
		if got.Allow != (i < 2) || len(got.Degraded) != 1 || got.Degraded[0] != answers.NoHold {
			t.Errorf("answer %d is %+v", i, got)
		}
	}
	a.foldedElsewhere("last")
	b.level(a)
	for _, r := range []*running{a, b} {
		if r.open() != 3 || r.locally() != 0 {
			t.Errorf("%d are open and %d count beside the log, want 3 and none", r.open(), r.locally())
		}
	}
	if n := a.written("quota.release"); n != 0 {
		t.Errorf("%d releases were written", n)
	}
}

// TestHurriedAndClosed: what a closed pool blocks is not written.
func TestHurriedAndClosed(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 2, func(p *plans.Pool) { p.OnDegraded = plans.Closed })
	if got := r.askHurried(held("1"))[0]; got.Allow || got.Reason != answers.Degraded {
		t.Errorf("answered %+v", got)
	}
	r.folded(held("last"))
	if n := r.written("quota.hold"); n != 1 || r.open() != 1 {
		t.Errorf("%d messages and %d open, want the last alone", n, r.open())
	}
}

// TestHurriedAndNoRoom: the queue has a bound for them too, and each counts here.
func TestHurriedAndNoRoom(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) { e.holds.most = 2 })
	oneLimit(r, 9)
	r.askHurried(held("1"), held("2"), held("3"))
	r.showing(map[string]float64{"hold_overflow_total": 3, "local_holds_open": 3})
	r.folded(held("last"))
	if r.open() != 1 || r.locally() != 3 {
		t.Errorf("%d are open and %d count, want the last and three", r.open(), r.locally())
	}
}
