package decider

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/quotashare/quotashare/snapshots/retention"
)

// A plan is in its file, not finished, before anything of it is done: after a crash it
// is seen that something may have been.
func TestAPlanIsKeptBeforeItIsDone(t *testing.T) {
	s := tell(t)
	defer func() { s.end() }()
	var (
		mu    sync.Mutex
		wrong []string
		done  int
	)
	told := s.change
	s.change = func(e *Engine) {
		told(e)
		e.o.Step = func(step string) {
			action, ok := strings.CutPrefix(step, retentionStep)
			if !ok || action == "keep the plan" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			if text, err := os.ReadFile(e.retention.file); err != nil || !bytes.Contains(text, []byte(`"finished": false`)) {
				wrong = append(wrong, step)
			}
		}
	}
	s.run(func(r *running) { r.retained() })
	mu.Lock()
	defer mu.Unlock()
	if done == 0 || len(wrong) > 0 {
		t.Errorf("%d steps, of which the file did not tell: %q", done, wrong)
	}
}

// What the purge may count on has to be done before it.
func TestAStepThatFailsLeavesTheLog(t *testing.T) {
	s := tell(t)
	defer func() { s.end() }()
	s.run(func(r *running) {
		for ctx := r.within(); !r.shared.lease.Held(); {
			if err := ctx.Err(); err != nil {
				t.Fatal("nobody has the lease")
			}
		}
		p := r.current.Load()
		fails := retention.Step{Action: "of a later version"}
		purge := retention.Step{Action: retention.PurgeLog, Seq: r.usage(3)}
		r.retention.turn.Lock()
		defer r.retention.turn.Unlock()
		_, _, before := s.sequences()
		if err := r.retention.execute(r.within(), p, []retention.Step{fails, purge}); err == nil {
			t.Error("nothing failed")
		}
		if _, _, n := s.sequences(); n != before {
			t.Errorf("the log has %d messages, had %d", n, before)
		}
		r.must(r.retention.execute(r.within(), p, []retention.Step{purge}))
		if _, _, n := s.sequences(); n >= before {
			t.Errorf("the log has %d messages, had %d, and a purge takes none", n, before)
		}
	})
}
