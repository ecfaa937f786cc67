//go:build unix

package snapdir_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// TestOnlyAFileIsOpened: a pipe by the name of a snapshot is none, is told of, and nobody
// waits for who would write into it.
func TestOnlyAFileIsOpened(t *testing.T) {
	path := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(path, "00000000000000009999.snapshot"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(path, "00000000000000009998.snapshot"), 0o700); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	dir := snapdir.New(snapdir.Options{Dir: path, Log: slog.New(slog.NewTextHandler(&said, nil))})
	done := make(chan error, 1)
	go func() {
		_, err := dir.Newest(func(snapshots.Header) bool { return true })
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, snapdir.ErrNone) || !errors.Is(err, snapshots.ErrDamaged) || strings.Count(said.String(), "it is no regular file") != 2 {
			t.Errorf("%v\n%s", err, &said)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for who writes into the pipe")
	}
}
