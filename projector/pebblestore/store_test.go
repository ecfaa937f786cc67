package pebblestore_test

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/pebblestore"
	"github.com/quotashare/quotashare/projector/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	storetest.Run(t, func() projector.Store { return open(t, vfs.NewMem()) })
}

func open(t *testing.T, fs vfs.FS) *pebblestore.Store {
	t.Helper()
	s, err := pebblestore.Open(pebblestore.Options{Dir: "state", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func commit(t *testing.T, s *pebblestore.Store, key, value string) {
	t.Helper()
	b := s.NewBatch()
	if err := errors.Join(b.Set([]byte(key), []byte(value)), s.Commit(b)); err != nil {
		t.Fatal(err)
	}
}

// A crash may lose the newest commits, but only whole ones, and only those
// that no Sync came after.
func TestCrashKeepsAPrefixOfTheCommits(t *testing.T) {
	for seed := range uint64(20) {
		fs := vfs.NewCrashableMem()
		s := open(t, fs)
		commit(t, s, "a", "1")
		commit(t, s, "b", "1")
		if err := s.Sync(); err != nil {
			t.Fatal(err)
		}
		commit(t, s, "c", "1")
		commit(t, s, "d", "1")
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(seed, 1))})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, crashed)
		have := ""
		for _, key := range []string{"a", "b", "c", "d"} {
			if _, ok, err := s.Get([]byte(key), nil); err != nil {
				t.Fatal(err)
			} else if ok {
				have += key
			}
		}
		if have != "ab" && have != "abc" && have != "abcd" {
			t.Errorf("seed %d: after the crash %q is there, want ab and a prefix of cd", seed, have)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// fullDisk is a file system with little room.
type fullDisk struct {
	vfs.FS
	free uint64
}

func (d *fullDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free}, nil
}

// A commit that the disk may have no room for is not begun, and can be tried
// again: Pebble does not survive the end of the disk.
func TestFullDisk(t *testing.T) {
	disk := &fullDisk{FS: vfs.NewMem(), free: 1 << 30}
	s := open(t, disk)
	disk.free = 1 << 20
	b := s.NewBatch()
	if err := errors.Join(b.Set([]byte("a"), []byte("1")), s.Commit(b)); !errors.Is(err, projector.ErrFull) {
		t.Fatalf("commit to a full disk: %v, want ErrFull", err)
	}
	if _, ok, err := s.Get([]byte("a"), nil); ok || err != nil {
		t.Fatalf("after a commit that was refused: there %v, %v", ok, err)
	}
	disk.free = 1 << 30
	if err := s.Commit(b); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Get([]byte("a"), nil); !ok || err != nil {
		t.Fatalf("after the commit: there %v, %v", ok, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A store whose directory was removed must be given up while it can be closed.
func TestRemovedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s, err := pebblestore.Open(pebblestore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, "a", "1")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(s.NewBatch()); !errors.Is(err, projector.ErrCorrupt) {
		t.Errorf("commit after the directory was removed: %v, want ErrCorrupt", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A file where the store should be is damage: it can be set aside.
func TestAFileInPlaceOfAStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(dir, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pebblestore.Open(pebblestore.Options{Dir: dir}); !errors.Is(err, projector.ErrCorrupt) {
		t.Errorf("a file: %v, want ErrCorrupt", err)
	}
}

// A store that somebody has open is not damaged, and the error says where it is
// and what to look for.
func TestOneProgramPerStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s, err := pebblestore.Open(pebblestore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = pebblestore.Open(pebblestore.Options{Dir: dir})
	if err == nil || errors.Is(err, projector.ErrCorrupt) {
		t.Fatalf("the second: %v, want an error that is not ErrCorrupt", err)
	}
	for _, part := range []string{dir, "another program"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the second: %v, want %q in it", err, part)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A damaged table must come out as ErrCorrupt, which the caller rebuilds from,
// and never as a wrong value or the end of the process.
func TestDamageIsReported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s, err := pebblestore.Open(pebblestore.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		commit(t, s, string(rune('a'+i%26))+string(rune('a'+i/26)), "a value that is long enough to fill a table")
	}
	if err := errors.Join(s.Flush(), s.Close()); err != nil {
		t.Fatal(err)
	}
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	if len(tables) == 0 {
		t.Fatal("no table was written")
	}
	for _, name := range tables {
		flip(t, name)
	}
	s, err = pebblestore.Open(pebblestore.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = errors.Join(s.Scan([]byte{0}, []byte{0xff}, func(_, _ []byte) error { return nil }), s.Close())
	}
	if !errors.Is(err, projector.ErrCorrupt) {
		t.Errorf("reading a damaged table: %v, want ErrCorrupt", err)
	}
}

// flip damages a file in the middle of its first block.
func flip(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[40] ^= 0xff
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
