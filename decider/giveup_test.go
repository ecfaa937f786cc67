package decider

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
)

// TestNothingStandsOfWhatWasBlocked: arrays that give up just as the fold has their
// verdicts, so that it comes in between two answers, and into one. What was let pass
// stands and what was blocked does not, whichever was first.
func TestNothingStandsOfWhatWasBlocked(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 1_000_000, func(p *plans.Pool) { p.OnDegraded = plans.Closed })
	want, blocked := 1, 0
	for call := range 50 {
		qs := make([]questions.Question, 1000)
		for i := range qs {
			qs[i] = held(fmt.Sprintf("%d-%d", call, i))
			qs[i].MaxWaitMs = int64(2 + call%3)
		}
		for _, got := range r.askAll(qs...) {
			if got.Allow {
				want++
			} else {
				blocked++
			}
		}
	}
	r.folded(held("last")) // behind all that was written
	if r.open() != want {
		t.Errorf("%d are open, want the %d that were let pass (%d were blocked)", r.open(), want, blocked)
	}
}
