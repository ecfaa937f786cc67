package decider

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/projected"
)

// kept is a log with two snapshots of it, and an engine over them that does not run.
type kept struct {
	t            *testing.T
	nc           *nats.Conn
	dir          string // of the snapshots
	older, newer httpapi.Snapshot
	*Engine
	said lines
}

func newKept(t *testing.T) *kept {
	t.Helper()
	k := &kept{t: t, nc: startLog(t, t.TempDir()), said: lines{grew: make(chan struct{}, 1)}}
	dir := t.TempDir()
	k.dir = filepath.Join(dir, "snapshots")
	r := start(t, k.nc, filepath.Join(dir, "state"), keeping)
	r.usage(1)
	k.older = r.snapshot()
	r.usage(1)
	k.newer = r.snapshot()
	r.stop()
	k.again()
	return k
}

// again makes an engine that knows nothing of what was said and refused.
func (k *kept) again() {
	k.t.Helper()
	k.said.buf.Reset()
	e, err := New(Options{Conn: k.nc, SnapshotDir: k.dir, Log: slog.New(slog.NewTextHandler(&k.said, nil))})
	if err != nil {
		k.t.Fatal(err)
	}
	k.Engine = e
}

func (k *kept) file(seq uint64) string {
	return filepath.Join(k.dir, fmt.Sprintf("%020d.snapshot", seq))
}

// rewrite puts what change makes of a file in its place.
func (k *kept) rewrite(seq uint64, change func(data []byte) []byte) {
	k.t.Helper()
	data, err := os.ReadFile(k.file(seq))
	if err == nil {
		err = os.WriteFile(k.file(seq), change(data), 0o600)
	}
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kept) read(s httpapi.Snapshot) []byte {
	k.t.Helper()
	data, err := os.ReadFile(k.file(s.Seq))
	if err != nil {
		k.t.Fatal(err)
	}
	return data
}

// begins loads an empty store, and returns where the state is then. It has the digest
// of the snapshot that it began from.
func (k *kept) begins() uint64 {
	k.t.Helper()
	s, err := k.snapshots.load(k.t.Context(), memstore.New())
	if err != nil {
		k.t.Fatal(err)
	}
	seq, _ := s.At()
	digest, err := s.Digest()
	if err != nil {
		k.t.Fatal(err)
	}
	for _, from := range []httpapi.Snapshot{k.older, k.newer} {
		if got := fmt.Sprintf("%x", digest); from.Seq == seq && got != from.Digest {
			k.t.Errorf("at %d the digest is %s, want %s", seq, got, from.Digest)
		}
	}
	return seq
}

// harmed puts a harmed file in the place of the newer snapshot: the older one is used,
// and that is said once, however often one is looked for.
func (k *kept) harmed(data []byte, what string, looks int) {
	k.t.Helper()
	if err := os.WriteFile(k.file(k.newer.Seq), data, 0o600); err != nil {
		k.t.Fatal(err)
	}
	k.again()
	for range looks {
		if got := k.begins(); got != k.older.Seq {
			k.t.Errorf("%s: it begins at %d, want %d", what, got, k.older.Seq)
		}
	}
	if n := strings.Count(k.said.String(), "a snapshot cannot be used"); n != 1 {
		k.t.Errorf("%s: that was said %d times:\n%s", what, n, k.said.String())
	}
}

// TestNoDamageOfASnapshotIsBelieved flips a bit of each byte of the newest one, and
// cuts it at each. That of a byte each bit is found, the package of the file shows.
func TestNoDamageOfASnapshotIsBelieved(t *testing.T) {
	k := newKept(t)
	if got := k.begins(); got != k.newer.Seq {
		t.Fatalf("unharmed it begins at %d, want %d", got, k.newer.Seq)
	}
	data := k.read(k.newer)
	for i := range data {
		data[i] ^= 1 << (i % 8)
		k.harmed(data, fmt.Sprintf("bit %d of byte %d", i%8, i), 1+i%8/7)
		data[i] ^= 1 << (i % 8)
	}
	for n := range data {
		k.harmed(data[:n], fmt.Sprintf("cut at byte %d", n), 1)
	}
	k.harmed(append(data, 0), "a byte more", 2)
}

// TestASnapshotThatIsNoStateIsNotTriedAgain: its checksums are right and it is wrong.
func TestASnapshotThatIsNoStateIsNotTriedAgain(t *testing.T) {
	for name, harm := range map[string]func(store projector.Store, b projector.Batch) error{
		"a record that none is": func(_ projector.Store, b projector.Batch) error { return b.Set([]byte("c"), nil) },
		"another digest": func(store projector.Store, b projector.Batch) error {
			return b.Delete([]byte("c\x00\x00\x00\x01\x00\x00\x00\x01\x01"))
		},
	} {
		k := newKept(t)
		s, err := k.snapshots.dir.Newest(projected.Fits)
		if err != nil {
			t.Fatal(err)
		}
		store := memstore.New()
		state, err := k.snapshots.fill(t.Context(), store, s)
		if err != nil || state == nil {
			t.Fatal(err)
		}
		b := store.NewBatch()
		if err := errors.Join(harm(store, b), store.Commit(b), s.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := k.snapshots.dir.Save(s.Header(), func(add func(key, value []byte) error) error {
			return store.Scan([]byte{0}, []byte{0xff}, add)
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := k.snapshots.load(t.Context(), memstore.New()); !errors.Is(err, projector.ErrCorrupt) {
			t.Errorf("%s: %v, want that the store is corrupt now", name, err)
		}
		if got := k.begins(); got != k.older.Seq {
			t.Errorf("%s: then it begins at %d, want %d", name, got, k.older.Seq)
		}
		list, err := k.Snapshots(t.Context())
		if err != nil || len(list) != 2 || list[0].Problem == "" || list[1].Problem != "" {
			t.Errorf("%s: the list is %+v, %v", name, list, err)
		}
	}
}

// TestASnapshotOfAnotherLogIsPassedOver: one whose message the log does not have.
func TestASnapshotOfAnotherLogIsPassedOver(t *testing.T) {
	k := newKept(t)
	stream, err := k.js.Stream(t.Context(), events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	// The newer one's message is gone, and should not be; then no message at all is
	// as it was.
	if err := stream.DeleteMsg(t.Context(), k.newer.Seq); err != nil {
		t.Fatal(err)
	}
	if got := k.begins(); got != k.older.Seq {
		t.Errorf("without the message of the newer one it begins at %d, want %d", got, k.older.Seq)
	}
	for _, n := range []int{1, 3} {
		k.nc = startLog(t, t.TempDir())
		k.again()
		if n == 1 { // a message that is not there yet is not one that was purged
			k.o.PurgeAge = time.Millisecond
		}
		for range n {
			if _, err := k.js.Publish(t.Context(), "quota.consumption", []byte(`{"apiKeyId":"x","connectionId":"y"}`)); err != nil {
				t.Fatal(err)
			}
		}
		if got := k.begins(); got != 0 {
			t.Errorf("in another log of %d it begins at %d, want 0", n, got)
		}
	}
	if said := k.said.String(); strings.Contains(said, "begins from") {
		t.Errorf("it says %s", said)
	}
}

// resaved writes the newer snapshot again, with what change makes of its header.
func (k *kept) resaved(change func(*snapshots.Header)) {
	k.t.Helper()
	s, err := k.snapshots.dir.Newest(projected.Fits)
	if err != nil {
		k.t.Fatal(err)
	}
	h := s.Header()
	change(&h)
	if _, err := k.snapshots.dir.Save(h, func(add func(key, value []byte) error) error {
		for {
			key, value, err := s.Next()
			if err != nil {
				return eofIsNil(err)
			}
			if err := add(key, value); err != nil {
				return err
			}
		}
	}); err != nil {
		k.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		k.t.Fatal(err)
	}
}

func eofIsNil(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

const ofAnother = "it is of another log"

// TestASnapshotThatDoesNotFitIsPassedOver: it is well, and of other rules, which is
// expected, or of a log that had another message at the same place and time, which is
// said.
func TestASnapshotThatDoesNotFitIsPassedOver(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*snapshots.Header)
		problem string
	}{
		"other rules":     {func(h *snapshots.Header) { h.Rules++ }, "it was folded by rules version"},
		"another message": {func(h *snapshots.Header) { h.Hash[0] ^= 1 }, ofAnother},
	} {
		k := newKept(t)
		k.resaved(c.change)
		if got := k.begins(); got != k.older.Seq || strings.Contains(k.said.String(), "WARN") != (c.problem == ofAnother) {
			t.Errorf("%s: it begins at %d, want %d; it says %s", name, got, k.older.Seq, k.said.String())
		}
		list, err := k.Snapshots(t.Context())
		if err != nil || len(list) != 2 || !strings.HasPrefix(list[0].Problem, c.problem) || list[1] != k.older {
			t.Errorf("%s: the list is %+v, %v", name, list, err)
		}
	}
}

// TestARefusedSnapshotIsNotTriedAgain where only the reader of the log can tell: each
// is tried once, and then the log is folded from its start.
func TestARefusedSnapshotIsNotTriedAgain(t *testing.T) {
	k := newKept(t)
	nc := startLog(t, t.TempDir())
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	c := stream.CachedInfo().Config
	c.AllowDirect = true
	if _, err := js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := js.Publish(t.Context(), "quota.consumption", []byte(`{"apiKeyId":"x","connectionId":"y"}`)); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, nc, filepath.Join(filepath.Dir(k.dir), "state-of-another"), keeping)
	if got, want := r.digest(), foldedAnew(t, nc); got != want {
		t.Errorf("the digest is %s, want %s", got, want)
	}
	for _, seq := range []uint64{k.newer.Seq, k.older.Seq} {
		if n := strings.Count(r.said.String(), fmt.Sprintf("begins from a snapshot\" seq=%d ", seq)); n != 1 {
			t.Errorf("it began from snapshot %d %d times:\n%s", seq, n, r.said.String())
		}
	}
}

// TestDamageOfTheStoreFallsBackToASnapshot harms every file of the store, where the
// log alone is too short. What it then counts is right, whichever it began from.
func TestDamageOfTheStoreFallsBackToASnapshot(t *testing.T) {
	c := newCrashing(t, func(r *running) { r.usage(3) })
	var files []string
	state := filepath.Join(c.before, "state")
	if err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, strings.TrimPrefix(path, c.before))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	began := 0
	for _, file := range files {
		for part := range 4 {
			what := fmt.Sprintf("%s harmed at %d/4", file, part)
			dir := c.copied(t, func(dir string) error { return harmFile(filepath.Join(dir, file), part) })
			r := start(t, c.nc, filepath.Join(dir, "state"), keeping)
			if got := r.digest(); got != c.want {
				t.Errorf("%s: the digest is %s, want %s\n%s", what, got, c.want, r.said.String())
			}
			if strings.Contains(r.said.String(), "begins from a snapshot") {
				began++
			}
			r.stop()
		}
	}
	if began < 3 {
		t.Errorf("of %d files harmed only %d led to a snapshot", len(files), began)
	}
}

// harmFile flips a byte at so many fourths of a file; the last one is its end.
func harmFile(path string, part int) error {
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return err
	}
	data[part*(len(data)-1)/3] ^= 0x55
	return os.WriteFile(path, data, 0o600)
}

// TestAStoreThatDoesNotLoadIsNotKept: it is set aside, and the snapshots stay as they
// were.
func TestAStoreThatDoesNotLoadIsNotKept(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", keeping)
	r.usage(3)
	good := r.snapshot()
	r.usage(2)
	want := r.digest()
	store := r.current.Load().store
	b := store.NewBatch()
	r.must(errors.Join(b.Set([]byte("c"), nil), store.Commit(b)))
	if _, err := r.Snapshot(r.within()); !errors.Is(err, projector.ErrCorrupt) {
		t.Errorf("of a store with a record that is none: %v", err)
	}
	r.awaitSaid(fmt.Sprintf("begins from a snapshot\" seq=%d", good.Seq))
	r.must(r.AwaitReady(r.within()))
	if got := r.digest(); got != want {
		t.Errorf("afterwards the digest is %s, want %s", got, want)
	}
	if list, err := r.Snapshots(r.within()); err != nil || len(list) != 1 || list[0] != good {
		t.Errorf("the snapshots are %+v, %v; want %+v", list, err, good)
	}
}
