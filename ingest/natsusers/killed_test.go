package natsusers_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/ingest/natsusers"
)

// killedAfter is a run that ends behind that many changes, as a killed process does: it
// puts nothing right, and its lock is gone. It reports whether it was still at work.
func killedAfter(t *testing.T, changes int, dir string, w natsusers.Want) (killed bool) {
	t.Helper()
	defer func() { killed = recover() != nil }()
	_, err := natsusers.WriteUntil(dir, w, func() {
		if changes--; changes < 0 {
			panic("killed")
		}
	})
	if !errors.Is(err, natsusers.ErrNotUser) { // he who was to go is gone
		must(t, err)
	}
	return false
}

// unknowns is how many of what was written nobody can tell.
func unknowns(made []natsusers.Written) (n int) {
	for _, w := range made {
		if w.Fate == natsusers.Unknown {
			n++
		}
	}
	return n
}

// TestAKilledRunIsFinished, wherever it ended: the next one leaves users whose logins the
// configuration has, and nothing else, as a further one confirms.
func TestAKilledRunIsFinished(t *testing.T) {
	for what, w := range map[string]natsusers.Want{
		"the first run":  {Gateways: []string{"omni"}},
		"new passwords":  {Rotate: []string{"viewer"}, Gateways: []string{"more"}, Isolate: true},
		"one goes":       {Remove: []string{"omni"}, Gateways: []string{"more"}},
		"one goes, anew": {Remove: []string{"omni"}, Gateways: []string{"omni"}},
	} {
		steps := 0
		for ; ; steps++ {
			dir := filepath.Join(t.TempDir(), "of [all] users*")
			if what != "the first run" {
				_, err := natsusers.Write(dir, natsusers.Want{Gateways: []string{"omni"}})
				must(t, err)
			}
			if !killedAfter(t, steps, dir, w) {
				fits(t, what, steps, dir, w.Isolate)
				break
			}
			killedAfter(t, 0, dir, w) // where there is something to finish, it is killed too
			again := w
			again.Rotate = nil // what is finished need not be asked for again
			if _, err := natsusers.Write(dir, again); err != nil && !errors.Is(err, natsusers.ErrNotUser) {
				t.Errorf("%s, killed after %d changes: %v", what, steps, err)
			}
			fits(t, what, steps, dir, w.Isolate)
		}
		if steps == 0 {
			t.Errorf("%s: it changed nothing", what)
		}
	}
}

// fits checks that the logins and the configuration of a directory are of each other.
func fits(t *testing.T, what string, steps int, dir string, isolate bool) {
	t.Helper()
	made, err := natsusers.Write(dir, natsusers.Want{Isolate: isolate})
	if err != nil || strings.Contains(fates(made), string(natsusers.Made)) || unknowns(made) > 0 {
		t.Errorf("%s, killed after %d changes: %s, %v", what, steps, fates(made), err)
	}
	want := []string{"LOCK", natsusers.ConfigName}
	for _, w := range made {
		want = append(want, w.User+natsusers.LoginSuffix)
	}
	var have []string
	list, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		have = append(have, e.Name())
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(have))); diff != "" {
		t.Errorf("%s, killed after %d changes, leaves (-want +have):\n%s", what, steps, diff)
	}
}

// TestOneRunAtATime: a second one that did not see what the first is about to write would
// write it away, or logins that the configuration does not know.
func TestOneRunAtATime(t *testing.T) {
	dir := t.TempDir()
	tried := 0
	_, err := natsusers.WriteUntil(dir, natsusers.Want{}, func() {
		tried++
		if _, err := natsusers.Write(dir, natsusers.Want{}); !errors.Is(err, natsusers.ErrBusy) || !strings.Contains(err.Error(), dir) {
			t.Errorf("a second one: %v", err)
		}
	})
	must(t, err)
	if tried < 11 { // five logins, the configuration, and each put in its place
		t.Errorf("it changed %d things", tried)
	}
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			for {
				_, err := natsusers.Write(dir, natsusers.Want{Gateways: []string{name}})
				if err == nil {
					return
				}
				if !errors.Is(err, natsusers.ErrBusy) {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	all.Wait()
	made, err := natsusers.Write(dir, natsusers.Want{})
	must(t, err)
	if got := fates(made); !strings.HasSuffix(got, "a gateway kept, b gateway kept, c gateway kept, d gateway kept, gateway gateway kept") {
		t.Errorf("there are %s", got)
	}
}

// TestAnotherOnesFileStays that ends like one of an unfinished run.
func TestAnotherOnesFileStays(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "other.new")
	must(t, os.WriteFile(file, []byte("x"), 0o600))
	_, err := natsusers.Write(dir, natsusers.Want{})
	must(t, err)
	if got := read(t, file); got != "x" {
		t.Errorf("it is %q", got)
	}
}
