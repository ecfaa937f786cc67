package decider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector/pebblestore"
)

// The process that is killed is this test binary once more, told by its environment
// what to do and before which step to end. It ends by SIGKILL, as nothing of a
// program runs then: what is on the disk is what is there.
const (
	killLog  = "QUOTASHARE_TEST_KILL_LOG"  // URL of the broker
	killDir  = "QUOTASHARE_TEST_KILL_DIR"  // with the store and the snapshots
	killStep = "QUOTASHARE_TEST_KILL_STEP" // the number of the step, from 1
	killDo   = "QUOTASHARE_TEST_KILL_DO"   // "snapshot" = take one, once it is ready; "retention" = execute a plan
)

// TestTheProcessThatIsKilled does nothing but in that process.
func TestTheProcessThatIsKilled(t *testing.T) {
	if os.Getenv(killLog) == "" {
		return
	}
	left, err := strconv.Atoi(os.Getenv(killStep))
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(os.Getenv(killLog))
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv(killDir)
	if os.Getenv(killDo) == "retention" {
		retainUntilKilled(t, nc, dir, left)
		os.Exit(0)
	}
	e, err := New(Options{
		Conn: nc, Dir: filepath.Join(dir, "state"), SnapshotDir: filepath.Join(dir, "snapshots"), Version: "0.0.1",
		Settings: plans.DefaultSettings(), Log: slog.New(slog.DiscardHandler),
		Step: func(name string) { // of one goroutine after the other
			if strings.HasPrefix(name, retentionStep) {
				return // of one that goes on beside
			}
			if left--; left == 0 {
				fmt.Println("killed before:", name)
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go e.Run(ctx)
	if err := e.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if os.Getenv(killDo) == "snapshot" {
		if _, err := e.Snapshot(ctx); err != nil {
			t.Fatal(err)
		}
	}
	os.Exit(0) // like a kill, after the last step
}

// killed runs the process until its n-th step, and returns what that would have been,
// "" when there were fewer.
func killed(t *testing.T, nc *nats.Conn, dir, do string, n int) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTheProcessThatIsKilled$")
	cmd.Env = append(os.Environ(), killLog+"="+nc.ConnectedUrl(), killDir+"="+dir, killStep+"="+strconv.Itoa(n), killDo+"="+do)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	_, step, _ := strings.Cut(string(out), "killed before: ")
	switch {
	case err == nil && step == "":
		return ""
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL && step != "":
		return strings.TrimSpace(step)
	}
	t.Fatalf("the process ended otherwise: %v\n%s", err, out)
	return ""
}

// crashing is a log, and a directory as it was before the process began.
type crashing struct {
	nc     *nats.Conn
	before string // the directory
	want   string // digest of everything in the log
	first  uint64 // sequence of the snapshot that is there
}

// many publishes usage that makes a state of several batches.
func (r *running) many() {
	r.t.Helper()
	for i := range 6 {
		var body strings.Builder
		for j := range 1000 {
			fmt.Fprintf(&body, `,{"apiKeyId":"key-%d-%d","connectionId":"connection-%d","cost":{"tokens":5,"usd":0.25,"requests":1}}`, i, j, j%7)
		}
		r.publish("quota.consumption", "["+body.String()[1:]+"]")
	}
}

// newCrashing has one snapshot, a store that is further, and a log that begins at the
// snapshot: who folds it from its start, or uses half of anything, has another digest.
func newCrashing(t *testing.T, publish func(*running)) *crashing {
	t.Helper()
	nc := startLog(t, t.TempDir())
	c := &crashing{nc: nc, before: t.TempDir()}
	r := start(t, nc, filepath.Join(c.before, "state"), keeping)
	publish(r)
	c.first = r.snapshot().Seq
	r.usage(4)
	c.want = r.digest()
	r.stop()
	stream, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(stream.Purge(t.Context(), jetstream.WithPurgeSequence(c.first)))
	return c
}

// copied is the directory again, with what change makes of it.
func (c *crashing) copied(t *testing.T, change func(dir string) error) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := errors.Join(os.CopyFS(dir, os.DirFS(c.before)), change(dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// check starts an engine over the directory, and once more without its store.
func (c *crashing) check(t *testing.T, dir, when string) {
	t.Helper()
	for _, store := range []string{"the store", "the snapshots alone"} {
		r := start(t, c.nc, filepath.Join(dir, "state"), keeping)
		if got := r.digest(); got != c.want {
			t.Errorf("killed before %s, from %s the digest is %s, want %s\n%s", when, store, got, c.want, r.said.String())
		}
		if said := r.said.String(); strings.Contains(said, "cannot be used") || strings.Contains(said, "did not become") {
			t.Errorf("killed before %s, from %s it says\n%s", when, store, said)
		}
		if store != "the store" {
			r.snapshot() // what was left does not stand in its way
			if left, err := filepath.Glob(filepath.Join(dir, "snapshots", "*.new")); err != nil || left != nil {
				t.Errorf("killed before %s: %v is left, %v", when, left, err)
			}
		}
		r.stop()
		r.must(os.RemoveAll(filepath.Join(dir, "state")))
	}
}

// otherRules makes the store one of another version, so that it is set aside.
func otherRules(dir string) error {
	s, err := pebblestore.Open(pebblestore.Options{Dir: filepath.Join(dir, "state")})
	if err != nil {
		return err
	}
	b := s.NewBatch()
	return errors.Join(b.Set([]byte("p"), []byte{1}), s.Commit(b), s.Close())
}

// TestKilledAtEveryStep: whenever the process ends, the next one counts right.
func TestKilledAtEveryStep(t *testing.T) {
	small, large := newCrashing(t, func(r *running) { r.usage(3) }), newCrashing(t, (*running).many)
	for _, way := range []struct {
		name, do string
		*crashing
		change func(dir string) error
		want   []string // the steps, but those that are as the one before
	}{
		{"a snapshot is taken", "snapshot", small, func(string) error { return nil }, []string{
			"snapshot: make the directory", "snapshot: sync the directory", "snapshot: create", "snapshot: write", "snapshot: sync",
			"snapshot: rename", "snapshot: sync the directory",
		}},
		{"the store is gone", "", large, func(dir string) error { return os.RemoveAll(filepath.Join(dir, "state")) }, []string{
			"restore: commit",
		}},
		{"the store is set aside", "", large, otherRules, []string{
			"set aside: remove the one before", "set aside: rename", "restore: commit",
		}},
	} {
		var steps []string
		for n := 1; ; n++ {
			dir := way.copied(t, way.change)
			step := killed(t, way.nc, dir, way.do, n)
			if step == "" {
				break
			}
			steps = append(steps, step)
			way.check(t, dir, fmt.Sprintf("step %d, %s, as %s", n, step, way.name))
		}
		t.Logf("%s: %d steps", way.name, len(steps))
		if diff := cmp.Diff(way.want, slices.Compact(steps)); diff != "" {
			t.Errorf("%s: the steps (-want +got):\n%s", way.name, diff)
		}
	}
}
