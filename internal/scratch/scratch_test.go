package scratch_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/quotashare/quotashare/internal/scratch"
)

// parent is set for a process that makes a directory below it, and is killed.
const parent = "SCRATCH_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parent); dir != "" {
		if made, err := scratch.Make(dir, slog.Default()); err != nil || os.WriteFile(filepath.Join(made.Path, "state"), []byte("x"), 0o600) != nil {
			os.Exit(1)
		}
		self, _ := os.FindProcess(os.Getpid()) // there is one
		_ = self.Kill()
		select {}
	}
	os.Exit(m.Run())
}

// age makes the locks below a directory so old that they are looked at.
func age(t *testing.T, dir string) {
	t.Helper()
	locks, err := filepath.Glob(filepath.Join(dir, "*", "LOCK"))
	if err != nil || len(locks) == 0 {
		t.Fatal("no locks", err)
	}
	for _, name := range locks {
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

func count(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func scratchIn(t *testing.T, dir string) *scratch.Dir {
	t.Helper()
	made, err := scratch.Make(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestWhatAKilledProcessLeftIsRemoved by the next one, and nothing of one that runs, nor
// what is somebody else's.
func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	if err := os.MkdirAll(filepath.Join(dir, "quotashare-audit-of-somebody"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		killed := exec.Command(os.Args[0])
		killed.Env = append(os.Environ(), parent+"="+dir)
		if err := killed.Run(); err == nil || killed.ProcessState.ExitCode() != -1 {
			t.Fatalf("it was not killed: %v", err)
		}
	}
	running := scratchIn(t, dir)
	if n := count(t, dir); n != 5 {
		t.Fatalf("%d directories; those of a moment ago may be on their way to be locked", n)
	}
	age(t, dir)
	next := scratchIn(t, dir)
	if n := count(t, dir); n != 3 {
		t.Errorf("%d directories, want that which runs, the next, and one without a lock", n)
	}
	if _, err := os.Stat(running.Path); err != nil {
		t.Errorf("one that runs is gone: %v", err)
	}
	for _, d := range []*scratch.Dir{running, next} {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := count(t, dir); n != 1 {
		t.Errorf("%d are left", n)
	}
}

// TestAPlaceThatCannotBeMadeIsSaid: a file is none.
func TestAPlaceThatCannotBeMadeIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if made, err := scratch.Make(file, slog.Default()); err == nil {
		t.Error("a place below a file", made.Close())
	}
}
