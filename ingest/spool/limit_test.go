//go:build linux || darwin

package spool

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

const limitedDir = "QUOTASHARE_TEST_LIMITED_DIR"

// The files of a real disk: a process whose files may not grow past a limit is refused in
// the middle of a record, cuts it off, and brings what it has answered for; so does the
// next one.
func TestAFileThatMayNotGrow(t *testing.T) {
	if dir := os.Getenv(limitedDir); dir != "" {
		limited(t, dir)
		return
	}
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAFileThatMayNotGrow$")
	child.Env = append(os.Environ(), limitedDir+"="+dir)
	out, err := child.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Fatalf("%v\n%s", err, out)
	}
	s := newStage(t, Options{Dir: dir})
	if st := s.Stats(); st.Messages == 0 || st.Damaged != 0 {
		t.Errorf("%+v", st)
	}
	s.bringAll()
	for i, id := range s.ids() {
		if want := name(i); id != want {
			t.Errorf("event %d is %s, want %s", i, id, want)
		}
	}
}

func name(i int) string { return strings.Repeat("n", 1+i) }

func limited(t *testing.T, dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := &syscall.Rlimit{Cur: 10_000, Max: 10_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, limit); err != nil {
		t.Fatal(err)
	}
	s := newStage(t, Options{Dir: dir})
	s.log.set(true)
	for i := 0; ; i++ {
		_, err := s.publish("quota.consumption", name(i))
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrDiskFull) || i < 10 {
			t.Fatalf("message %d: %v", i, err)
		}
		break
	}
	p := s.parts[0]
	if n, err := size(p.file); err != nil || n != p.to {
		t.Errorf("the segment ends at %d and has %d bytes, %v", p.to, n, err)
	}
}
