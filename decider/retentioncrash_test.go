package decider

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/snapshots/lease"
)

// retentionStep begins the names of the steps of a plan.
const retentionStep = "retention: "

// retainUntilKilled executes one plan, as the process that does the shared work, and
// ends before its n-th step.
func retainUntilKilled(t *testing.T, nc *nats.Conn, dir string, n int) {
	r := start(t, nc, filepath.Join(dir, "state"), func(e *Engine) {
		sharing(e)
		e.retention.turn.Lock()
		e.o.Step = func(name string) {
			if !strings.HasPrefix(name, retentionStep) {
				return // of goroutines that go on beside
			}
			if n--; n == 0 {
				fmt.Println("killed before:", name)
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	})
	r.awaitSaid("this process does the work that deciders share")
	r.retention.turn.Unlock()
	r.awaitSaid("retention: done")
}

// TestKilledAtEveryStepOfAPlan: whatever was done of it, the next run does the rest,
// and the state is that of the whole log.
func TestKilledAtEveryStepOfAPlan(t *testing.T) {
	s := tell(t)
	var digest string
	s.run(func(r *running) {
		r.retention.turn.Lock() // it has not begun, or is done: without a lease nothing of the log goes
		digest = r.digest()
		r.retention.turn.Unlock()
	})
	s.end()
	var steps []string
	for n := 1; n == len(steps)+1; n++ {
		if step := s.killedAt(n, digest); step != "" {
			steps = append(steps, step)
		}
	}
	for _, want := range []string{"keep the plan", "purge-log", "purge quota.consumption", "purge quota.due", "drop-counters", "drop-models", "drop-history"} {
		if !slices.Contains(steps, retentionStep+want) {
			t.Errorf("it was never killed before %q: %q", want, steps)
		}
	}
}

// killedAt runs the process over copies of the log and the directory, and then an
// engine. It returns the step, "" when there were fewer.
func (s *story) killedAt(n int, digest string) (step string) {
	s.t.Helper()
	log, dir := filepath.Join(s.t.TempDir(), "log"), filepath.Join(s.t.TempDir(), "data")
	for to, from := range map[string]string{log: s.dir, dir: filepath.Dir(s.state)} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			s.t.Fatal(err)
		}
	}
	c := &story{oldLog: &oldLog{t: s.t, dir: log}, now: s.now, state: filepath.Join(dir, "state"), change: s.change}
	c.start()
	defer func() { c.end() }()
	step = killed(s.t, c.nc, dir, "retention", n)
	c.forgetLease()
	c.run(func(r *running) {
		if got := r.digest(); got != digest {
			s.t.Errorf("killed before %q: the digest is %s, want %s", step, got, digest)
		}
		if x := r.retained(); !x.Finished {
			s.t.Errorf("killed before %q: %+v", step, x)
		}
		if got, want := r.monthly(), c.weighs(); got != want {
			s.t.Errorf("killed before %q: the month is %d, want %d", step, got, want)
		}
		if keys := r.current.Load().state.Keys(); len(keys) != 1 {
			s.t.Errorf("killed before %q: keys %v", step, keys)
		}
	})
	if first, last, left := c.sequences(); first != 1 || last != 7 || left != 5 {
		s.t.Errorf("killed before %q: the log has %d messages from %d to %d", step, left, first, last)
	}
	return step
}

// forgetLease takes the lease from a process that was killed: its term, which has to be
// long enough for who lives on a busy machine, is not waited for.
func (s *story) forgetLease() {
	s.t.Helper()
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := js.DeleteKeyValue(s.t.Context(), lease.Bucket); err != nil {
		s.t.Fatal(err)
	}
}
