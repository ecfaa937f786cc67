package pebblestore_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/pebblestore"
)

// A full disk is no place for a new store, nothing is begun on it, and one that is
// there answers.
func TestOpenOnAFullDisk(t *testing.T) {
	disk := &fullDisk{FS: vfs.NewMem(), free: 1 << 20}
	if _, err := pebblestore.Open(pebblestore.Options{Dir: "state", FS: disk}); !errors.Is(err, projector.ErrFull) {
		t.Fatalf("a new store: %v, want ErrFull", err)
	}
	if list, err := disk.List("state"); err != nil || len(list) > 1 { // the lock
		t.Errorf("it left %v, %v", list, err)
	}
	disk.free = 1 << 30
	s := open(t, disk)
	commit(t, s, "a", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	disk.free = 1 << 20
	if _, err := pebblestore.Open(pebblestore.Options{Dir: "state", FS: disk}); !errors.Is(err, projector.ErrFull) || errors.Is(err, projector.ErrCorrupt) {
		t.Errorf("without room for its log: %v, want ErrFull and no damage", err)
	}
	disk.free = 40 << 20
	s = open(t, disk)
	if v, ok, err := s.Get([]byte("a"), nil); !ok || err != nil || string(v) != "1" {
		t.Errorf("the store that was there: %q %v %v", v, ok, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// endingDisk has no room for new files while it ends; it says that it has room.
type endingDisk struct {
	fullDisk
	ends   atomic.Bool
	refuse func(name string) bool
	tried  atomic.Int64
}

func (d *endingDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.ends.Load() && d.refuse(name) {
		d.tried.Add(1)
		return nil, &fs.PathError{Op: "create", Path: name, Err: syscall.ENOSPC}
	}
	return d.FS.Create(name, c)
}

// What fails again and again is said once.
func TestFailuresAreSaidOnce(t *testing.T) {
	disk := &endingDisk{
		fullDisk: fullDisk{FS: vfs.NewMem(), free: 1 << 30},
		refuse:   func(name string) bool { return strings.HasSuffix(name, ".sst") },
	}
	var said bytes.Buffer
	s, err := pebblestore.Open(pebblestore.Options{Dir: "state", FS: disk, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		disk.tried.Store(0)
		disk.ends.Store(true)
		commit(t, s, "a", "1")
		done := make(chan error, 1)
		go func() { done <- s.Flush() }()
		for disk.tried.Load() < 20 {
			runtime.Gosched()
			select {
			case err := <-done:
				t.Fatalf("flushed: %v", err)
			default:
			}
		}
		disk.ends.Store(false)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(said.String(), "background work failed"); got != n+1 {
			t.Errorf("said %d times, want %d:\n%s", got, n+1, said.String())
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A store for the moment does not say that the state goes on in memory: nothing does.
func TestAScratchStoreSaysNothingOfAFullDisk(t *testing.T) {
	for _, scratch := range []bool{false, true} {
		disk := &fullDisk{FS: vfs.NewMem(), free: 1 << 20}
		var said bytes.Buffer
		_, err := pebblestore.Open(pebblestore.Options{Dir: "state", FS: disk, Scratch: scratch, Log: slog.New(slog.NewTextHandler(&said, nil))})
		if !errors.Is(err, projector.ErrFull) || strings.Contains(said.String(), "goes on in memory") == scratch {
			t.Errorf("scratch %t: %v\n%s", scratch, err, &said)
		}
	}
}
