package projector_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/snapshots"
)

// record is one of a store.
type record struct{ key, value []byte }

func recordsOf(t fataler, store projector.Reader) (list []record) {
	t.Helper()
	must(t, store.Scan([]byte{0}, []byte{0xff}, func(key, value []byte) error {
		list = append(list, record{bytes.Clone(key), bytes.Clone(value)})
		return nil
	}))
	return list
}

// these are the records of a list; then comes the error.
func these(list []record, last error) projector.Records {
	return func() (key, value []byte, err error) {
		if len(list) == 0 {
			return nil, nil, last
		}
		r := list[0]
		list = list[1:]
		return r.key, r.value, nil
	}
}

// restored puts the records of a store into another one, by way of a file.
func restored(t fataler, from projector.Store, into projector.Store) {
	t.Helper()
	pos, logTime, ok, err := projector.PositionOf(from)
	if must(t, err); !ok {
		return
	}
	var file bytes.Buffer
	_, err = snapshots.Write(&file, snapshots.Header{Seq: pos.Seq}, func(add func(key, value []byte) error) error {
		return from.Scan([]byte{0}, []byte{0xff}, add)
	})
	must(t, err)
	r, err := snapshots.NewReader(&file)
	must(t, err)
	must(t, projector.Restore(context.Background(), into, r.Next, pos, logTime))
}

// TestRestoredAndFoldedOnIsTheSame is the law of snapshots: a fold of everything, and
// one that begins from records anywhere on the way, in either store, end alike.
func TestRestoredAndFoldedOnIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.OneOf(histories(30), routed(40)).Draw(t, "log")
		want := plain(t, log)
		first := memstore.New()
		s := load(t, first)
		k := rapid.IntRange(0, len(log)).Draw(t, "k")
		fold(t, s, log[:k], 7)
		cut(t, s, first)
		before, err := s.Digest()
		must(t, err)

		var second projector.Store = memstore.New()
		if rapid.Bool().Draw(t, "on disk") {
			second = openPebble(t, vfs.NewMem())
		}
		restored(t, first, second)
		s = load(t, second)
		if after, err := s.Digest(); err != nil || after != before {
			t.Fatalf("restored at %d the digest is %x, %v, and was %x", k, after, err, before)
		}
		fold(t, s, log[k:], 7)
		same(t, want, finish(t, s, second), fmt.Sprintf("restoring at %d", k))
		must(t, second.Close())
	})
}

// watchedStore is a store that looks at itself after each commit.
type watchedStore struct {
	projector.Store
	commits int
	look    func(commit int)
}

func (w *watchedStore) Commit(b projector.Batch) error {
	err := w.Store.Commit(b)
	w.commits++
	w.look(w.commits)
	return err
}

// TestHalfRestoredIsNoState: until the last batch is in, a store has no position, not
// even that of 0 which a program left that folded nothing.
func TestHalfRestoredIsNoState(t *testing.T) {
	from := smallStore(t)
	// What Load would not mind beside a position of 0 comes first.
	var list []record
	for i := range 5 {
		list = append(list, record{fmt.Appendf(nil, "r%08d%04d", i, 0), bytes.Repeat([]byte{1}, 1<<18)})
	}
	list = append(list, recordsOf(t, from)...)
	want, logTime, _, err := projector.PositionOf(from)
	must(t, err)
	for _, had := range []string{"nothing", "a position of 0"} {
		into := memstore.New()
		if had != "nothing" {
			cut(t, projector.NewState(into), into)
		}
		last := 0
		half := &watchedStore{Store: into, look: func(n int) {
			last = n
			if _, err := projector.Load(into); !errors.Is(err, projector.ErrCorrupt) && n < 3 {
				t.Errorf("it had %s: after commit %d it loads: %v", had, n, err)
			}
		}}
		must(t, projector.Restore(t.Context(), half, these(list, io.EOF), want, logTime))
		if last != 3 {
			t.Errorf("it had %s: there were %d commits, want 3", had, last)
		}
		if got := load(t, into).Position(); got != want {
			t.Errorf("it had %s: restored it is at %+v, want %+v", had, got, want)
		}
	}
}

// TestWhatIsNotRestored leaves a store that is empty, or that Load refuses.
func TestWhatIsNotRestored(t *testing.T) {
	list := recordsOf(t, smallStore(t))
	want, logTime, _, err := projector.PositionOf(smallStore(t))
	must(t, err)
	without := slices.DeleteFunc(slices.Clone(list), func(r record) bool { return r.key[0] == 'p' })
	broken := errors.New("the file broke off")
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		name string
		from projector.Records
		at   projector.Position
		time int64
		into projector.Store
		ctx  context.Context
		want error
	}{
		{"another message", these(list, io.EOF), projector.Position{Seq: want.Seq + 1, Time: want.Time, Hash: want.Hash}, logTime, memstore.New(), t.Context(), projector.ErrCorrupt},
		{"another log time", these(list, io.EOF), want, logTime + 1, memstore.New(), t.Context(), projector.ErrCorrupt},
		{"no position", these(without, io.EOF), want, logTime, memstore.New(), t.Context(), projector.ErrCorrupt},
		{"broken off", these(list, broken), want, logTime, memstore.New(), t.Context(), broken},
		{"into half of one", these(list, io.EOF), want, logTime, storeOf(t, without), t.Context(), projector.ErrCorrupt},
		{"told to stop", these([]record{{[]byte("r"), make([]byte, 4<<20)}}, io.EOF), want, logTime, memstore.New(), ended, context.Canceled},
	} {
		if err := projector.Restore(c.ctx, c.into, c.from, c.at, c.time); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if s, err := projector.Load(c.into); err == nil && s.Position().Seq != 0 {
			t.Errorf("%s: afterwards it loads, at %d", c.name, s.Position().Seq)
		}
	}
}

func storeOf(t *testing.T, list []record) projector.Store {
	t.Helper()
	store := memstore.New()
	b := store.NewBatch()
	for _, r := range list {
		must(t, b.Set(r.key, r.value))
	}
	must(t, store.Commit(b))
	return store
}

// A store that was folded into is not written over.
func TestAStateIsNotRestoredOver(t *testing.T) {
	store := smallStore(t)
	list := recordsOf(t, store)
	want, logTime, _, err := projector.PositionOf(store)
	must(t, err)
	s := load(t, store)
	fold(t, s, []events.Message{usageAt(4, start, "")}, 1)
	cut(t, s, store)
	if err := projector.Restore(t.Context(), store, these(list, io.EOF), want, logTime); err == nil || errors.Is(err, projector.ErrCorrupt) {
		t.Errorf("restored over a state: %v", err)
	}
	if got := load(t, store).Position().Seq; got != 4 {
		t.Errorf("afterwards it is at %d, want 4", got)
	}
}

// TestPositionOf looks at the position alone.
func TestPositionOf(t *testing.T) {
	store := smallStore(t)
	pos, logTime, ok, err := projector.PositionOf(store)
	if err != nil || !ok || pos != load(t, store).Position() || logTime != start {
		t.Errorf("%+v at %d, %v, %v", pos, logTime, ok, err)
	}
	empty := memstore.New()
	if _, _, ok, err := projector.PositionOf(empty); ok || err != nil {
		t.Errorf("an empty store: %v, %v", ok, err)
	}
	cut(t, projector.NewState(empty), empty)
	if _, _, ok, err := projector.PositionOf(empty); ok || err != nil {
		t.Errorf("a store that nothing was folded into: %v, %v", ok, err)
	}
	for want, value := range map[error][]byte{projector.ErrVersion: {projector.RulesVersion + 1}, projector.ErrCorrupt: {projector.RulesVersion, 1}} {
		other := storeOf(t, []record{{[]byte("p"), value}})
		if _, _, _, err := projector.PositionOf(other); !errors.Is(err, want) {
			t.Errorf("%x: %v, want %v", value, err, want)
		}
	}
}
