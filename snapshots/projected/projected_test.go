package projected_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const start int64 = 1_790_000_000_000

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder folds messages into a store, and commits after each.
type folder struct {
	t     *testing.T
	store projector.Store
	state *projector.State
}

func newFolder(t *testing.T, store projector.Store) *folder {
	t.Helper()
	state, err := projector.Load(store)
	must(t, err)
	return &folder{t: t, store: store, state: state}
}

func (f *folder) fold(bodies ...string) *folder {
	f.t.Helper()
	for _, body := range bodies {
		seq, _ := f.state.At()
		var r projector.Run
		r.Add(events.Message{Subject: "quota.consumption", Seq: seq + 1, Time: start + int64(seq)*1000, Data: []byte(body)})
		must(f.t, f.state.Apply(&r))
		b := f.store.NewBatch()
		must(f.t, f.state.Cut(b))
		must(f.t, f.store.Commit(b))
		f.state.Committed()
	}
	return f
}

func (f *folder) digest() [32]byte {
	f.t.Helper()
	d, err := f.state.Digest()
	must(f.t, err)
	return d
}

const (
	one   = `{"id":"1","apiKeyId":"a","connectionId":"c","provider":"kimi","cost":{"tokens":5}}`
	two   = `{"id":"2","apiKeyId":"b","connectionId":"c","cost":{"tokens":7,"usd":"0.01"}}`
	three = `[{"id":"1","apiKeyId":"a","connectionId":"c","provider":"kimi","cost":{"tokens":5}},{"apiKeyId":"a","connectionId":"d"}]`
)

func dirOf(t *testing.T) *snapdir.Dir {
	t.Helper()
	return snapdir.New(snapdir.Options{Dir: filepath.Join(t.TempDir(), "snapshots")})
}

// TestSavedRestoredAndFoldedOn: also what was seen is known again.
func TestSavedRestoredAndFoldedOn(t *testing.T) {
	f := newFolder(t, memstore.New()).fold(one, two)
	dir := dirOf(t)
	h, sum, err := projected.Save(t.Context(), dir, f.store)
	must(t, err)
	pos := f.state.Position()
	_, logTime := f.state.At()
	want := snapshots.Header{Rules: projector.RulesVersion, Seq: 2, Time: pos.Time, Hash: pos.Hash, LogTime: logTime, Digest: f.digest()}
	if diff := cmp.Diff(want, h); diff != "" || sum.Records == 0 {
		t.Errorf("the header (-want +got), of %d records:\n%s", sum.Records, diff)
	}
	if got := projected.PositionIn(&h); got != pos {
		t.Errorf("its position is %+v, want %+v", got, pos)
	}
	s, err := dir.Newest(projected.Fits)
	must(t, err)
	into := memstore.New()
	must(t, projected.Restore(t.Context(), into, s))
	must(t, s.Close())
	g := newFolder(t, into)
	if g.digest() != h.Digest {
		t.Errorf("restored the digest is %x, want %x", g.digest(), h.Digest)
	}
	if f.fold(three); g.fold(three).digest() != f.digest() || g.state.Counts().Duplicates != 1 {
		t.Errorf("folded on the digest is %x, want %x; %d duplicates, want 1", g.digest(), f.digest(), g.state.Counts().Duplicates)
	}
}

// meanwhile is a store that is folded into as soon as a snapshot of it was taken.
type meanwhile struct {
	projector.Store
	then func()
}

func (m meanwhile) Snapshot() (projector.Snapshot, error) {
	s, err := m.Store.Snapshot()
	m.then()
	return s, err
}

// TestASnapshotIsOfOneMoment, while the fold goes on.
func TestASnapshotIsOfOneMoment(t *testing.T) {
	f := newFolder(t, memstore.New()).fold(one)
	want := f.digest()
	dir := dirOf(t)
	h, _, err := projected.Save(t.Context(), dir, meanwhile{f.store, func() { f.fold(two, three) }})
	must(t, err)
	s, err := dir.Newest(projected.Fits)
	must(t, err)
	defer s.Close()
	into := memstore.New()
	must(t, projected.Restore(t.Context(), into, s))
	if got := newFolder(t, into).digest(); got != want || h.Digest != want || h.Seq != 1 {
		t.Errorf("at %d: restored the digest is %x, in the header %x, and it was %x", h.Seq, got, h.Digest, want)
	}
}

// TestWhatIsNotSaved leaves no file.
func TestWhatIsNotSaved(t *testing.T) {
	folded := func() *folder { return newFolder(t, memstore.New()).fold(one) }
	harm := func(key string, value []byte) projector.Store {
		f := folded()
		b := f.store.NewBatch()
		must(t, errors.Join(b.Set([]byte(key), value), f.store.Commit(b)))
		return f.store
	}
	gone := folded()
	must(t, gone.store.Close())
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		name string
		from projector.Store
		ctx  context.Context
		want error
	}{
		{"nothing", memstore.New(), t.Context(), projected.ErrNothing},
		{"nothing folded", newFolder(t, memstore.New()).store, t.Context(), projected.ErrNothing},
		{"a record that is none", harm("c", nil), t.Context(), projector.ErrCorrupt},
		{"other rules", harm("p", []byte{projector.RulesVersion + 1}), t.Context(), projector.ErrVersion},
		{"a closed store", gone.store, t.Context(), projector.ErrClosed},
		{"told to stop", folded().store, ended, context.Canceled},
	} {
		dir := dirOf(t)
		if _, _, err := projected.Save(c.ctx, dir, c.from); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if list, err := dir.List(); err != nil || len(list) != 0 {
			t.Errorf("%s: it left %v, %v", c.name, list, err)
		}
	}
}

// TestWhatIsNotRestored: other rules, and a file that changes after it was found whole.
func TestWhatIsNotRestored(t *testing.T) {
	at := filepath.Join(t.TempDir(), "snapshots")
	dir := snapdir.New(snapdir.Options{Dir: at})
	f := newFolder(t, memstore.New()).fold(one)
	b := f.store.NewBatch()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 100 { // more than a reader takes at once
		noise := make([]byte, 10_000)
		for j := range noise {
			noise[j] = byte(rng.Uint32())
		}
		must(t, b.Set(fmt.Appendf(nil, "r%012d", i), noise))
	}
	must(t, f.store.Commit(b))
	h, _, err := projected.Save(t.Context(), dir, f.store)
	must(t, err)
	file := filepath.Join(at, "00000000000000000001.snapshot")
	data, err := os.ReadFile(file)
	must(t, err)
	all := func(snapshots.Header) bool { return true }
	s, err := dir.Newest(all)
	must(t, err)
	data[len(data)-1] ^= 1
	must(t, os.WriteFile(file, data, 0o600))
	into := memstore.New()
	if err := projected.Restore(t.Context(), into, s); !errors.Is(err, snapshots.ErrDamaged) {
		t.Errorf("of a file that changed: %v", err)
	}
	must(t, s.Close())
	if _, _, ok, err := projector.PositionOf(into); ok || err != nil {
		t.Errorf("it left a position: %v, %v", ok, err)
	}

	h.Rules++
	_, err = dir.Save(h, func(add func(key, value []byte) error) error { return f.store.Scan([]byte{0}, []byte{0xff}, add) })
	must(t, err)
	s, err = dir.Newest(all)
	must(t, err)
	defer s.Close()
	if err := projected.Restore(t.Context(), memstore.New(), s); !errors.Is(err, projector.ErrVersion) {
		t.Errorf("of other rules: %v", err)
	}
}
