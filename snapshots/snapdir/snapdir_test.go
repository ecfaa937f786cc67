package snapdir_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func all(snapshots.Header) bool { return true }

// records are those of the snapshot of a sequence, told from any other's.
func records(seq uint64) func(add func(key, value []byte) error) error {
	return func(add func(key, value []byte) error) error {
		for i := range 3 {
			if err := add([]byte{'c', byte(i)}, fmt.Appendf(nil, "%d of %d", i, seq)); err != nil {
				return err
			}
		}
		return nil
	}
}

func save(t *testing.T, d *snapdir.Dir, seqs ...uint64) {
	t.Helper()
	for _, seq := range seqs {
		if _, err := d.Save(snapshots.Header{Rules: 5, Seq: seq}, records(seq)); err != nil {
			t.Fatal(err)
		}
	}
}

// newest returns the sequence of the newest good snapshot, 0 for none, and checks
// that the records are its own.
func newest(t *testing.T, d *snapdir.Dir, fits func(snapshots.Header) bool) uint64 {
	t.Helper()
	s, err := d.Newest(fits)
	if errors.Is(err, snapdir.ErrNone) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	seq := s.Header().Seq
	if err := records(seq)(func(key, value []byte) error {
		k, v, err := s.Next()
		if err == nil && (!bytes.Equal(k, key) || !bytes.Equal(v, value)) {
			t.Errorf("%d has %q %q, want %q %q", seq, k, v, key, value)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%d ends in %v", seq, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return seq
}

func TestOnTheDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	d := snapdir.New(snapdir.Options{Dir: dir})
	if list, err := d.List(); err != nil || list != nil {
		t.Fatalf("no directory: %v, %v", list, err)
	}
	if got := newest(t, d, all); got != 0 {
		t.Fatalf("no directory has %d", got)
	}
	save(t, d, 9, 100, 1<<63, 11)
	for _, stranger := range []string{"12.snapshot", "00000000000000000200.snapshot.new", "readme", "000000000000000000x9.snapshot"} {
		if err := os.WriteFile(filepath.Join(dir, stranger), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := d.List(); err != nil || !slices.Equal(list, []uint64{1 << 63, 100, 11, 9}) {
		t.Fatalf("list %v, %v", list, err)
	}
	if got := newest(t, d, all); got != 1<<63 {
		t.Errorf("newest %d", got)
	}
	if got := newest(t, d, func(h snapshots.Header) bool { return h.Seq <= 99 }); got != 11 {
		t.Errorf("newest up to 99: %d", got)
	}
	for range 2 { // a removal may be done again
		if err := d.Remove(1 << 63); err != nil {
			t.Fatal(err)
		}
	}
	if got := newest(t, d, all); got != 100 {
		t.Errorf("newest after a removal: %d", got)
	}
	if h, err := d.Header(11); err != nil || h.Seq != 11 || h.Rules != 5 {
		t.Errorf("header %v, %v", h, err)
	}
	save(t, d, 12) // and what was being written is swept
	if _, err := os.Stat(filepath.Join(dir, "00000000000000000200.snapshot.new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file of a killed process: %v", err)
	}
}

const dir = "state/snapshots"

func pathOf(seq uint64) string { return fmt.Sprintf("%s/%020d.snapshot", dir, seq) }

func open(m *mem) (*snapdir.Dir, *bytes.Buffer) {
	var log bytes.Buffer
	return snapdir.New(snapdir.Options{Dir: dir, FS: m, Log: slog.New(slog.NewTextHandler(&log, nil))}), &log
}

func TestADamagedOneIsPassedOverAndToldOfOnce(t *testing.T) {
	m := newMem()
	d, log := open(m)
	save(t, d, 1, 2, 3)
	good := get(t, m, pathOf(3))
	var cases [][]byte
	for i := range good {
		flipped := bytes.Clone(good)
		flipped[i] ^= 1 << (i % 8)
		cases = append(cases, flipped, good[:i])
	}
	cases = append(cases, get(t, m, pathOf(2))) // whole, and another one
	for i, bad := range cases {
		d, log = open(m)
		put(t, m, pathOf(3), bad)
		if first, second := newest(t, d, all), newest(t, d, all); first != 2 || second != 2 {
			t.Errorf("case %d: newest %d, then %d", i, first, second)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("case %d: told of %d times: %s", i, n, log)
		}
	}
	save(t, d, 3)
	if got := newest(t, d, all); got != 3 {
		t.Errorf("written anew: %d", got)
	}
	put(t, m, pathOf(3), good[:20])
	newest(t, d, all)
	if n := strings.Count(log.String(), "level=WARN"); n != 2 {
		t.Errorf("damaged anew, told of %d times in all, want 2", n)
	}
}

func TestWhenNoneIsGoodTheFaultOfEachIsTold(t *testing.T) {
	m := newMem()
	d, _ := open(m)
	save(t, d, 1, 2)
	put(t, m, pathOf(1), nil)
	put(t, m, pathOf(2), nil)
	_, err := d.Newest(all)
	if !errors.Is(err, snapdir.ErrNone) || !errors.Is(err, snapshots.ErrDamaged) || strings.Count(err.Error(), "cut short") != 2 {
		t.Error(err)
	}
}

func TestOneThatDoesNotFitIsNoFault(t *testing.T) {
	d, log := open(newMem())
	save(t, d, 1, 2)
	if got := newest(t, d, func(h snapshots.Header) bool { return h.Rules == 6 }); got != 0 || log.Len() > 0 {
		t.Errorf("%d, and it says %s", got, log)
	}
}

func TestReceive(t *testing.T) {
	m := newMem()
	d, _ := open(m)
	save(t, d, 5)
	good := get(t, m, pathOf(5))
	other, _ := open(newMem())
	if h, err := other.Receive(bytes.NewReader(good)); err != nil || h.Seq != 5 {
		t.Fatalf("%v, %v", h, err)
	}
	if got := newest(t, other, all); got != 5 {
		t.Errorf("received %d", got)
	}
	into := newMem()
	d, _ = open(into)
	for n := range good {
		if _, err := d.Receive(bytes.NewReader(good[:n])); !errors.Is(err, snapshots.ErrDamaged) {
			t.Fatalf("%d bytes of %d: %v", n, len(good), err)
		}
		if names, err := into.List(dir); err != nil || len(names) > 0 {
			t.Fatalf("%d bytes of %d leave %v, %v", n, len(good), names, err)
		}
	}
}
