package projector_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/quota"
)

// cell is one minute of a key on a connection; key "" = all keys.
type cell struct {
	conn, key string
	minute    int64
}

// minuteTwin keeps minute rows as a map of sums.
type minuteTwin map[cell]projector.Minute

// draw draws a message and counts its events.
func (w minuteTwin) draw(t *rapid.T, seq uint64, now int64) events.Message {
	m := events.Message{Seq: seq, Time: now, Subject: "quota.consumption"}
	kind := events.Consumption
	if rapid.IntRange(0, 2).Draw(t, "adjust") == 0 {
		m.Subject, kind = "quota.adjustment", events.Adjustment
	}
	list := make([]events.Event, rapid.IntRange(1, 3).Draw(t, "array"))
	for i := range list {
		e := &list[i]
		*e = usage(t, kind, now)
		e.ID, e.Cost[quota.Percent] = "", 0 // all of them are folded
		at := e.Time
		if at == 0 || at > now+120_000 {
			at = now
		}
		w.add(cell{e.ConnectionID, e.APIKeyID, at / 60_000}, kind, e.Cost)
		w.add(cell{e.ConnectionID, "", at / 60_000}, kind, e.Cost)
	}
	m.Data = events.AppendArray(nil, 0, list)
	return m
}

func (w minuteTwin) add(c cell, kind events.Kind, cost quota.Amounts) {
	x := w[c]
	for u := range cost {
		if kind == events.Adjustment {
			x.Adjusted[u] += cost[u]
		} else {
			x.Consumed[u] += cost[u]
		}
	}
	w[c] = x
}

func (w minuteTwin) minutes(conns []string, key string, from, to int64) (list []projector.Minute) {
	sums := minuteTwin{}
	for c, x := range w {
		if c.key == key && c.minute >= from && c.minute < to && slices.Contains(conns, c.conn) {
			all := cell{minute: c.minute}
			sums.add(all, events.Consumption, x.Consumed)
			sums.add(all, events.Adjustment, x.Adjusted)
		}
	}
	for c, x := range sums {
		x.Minute = c.minute
		if x.Consumed != (quota.Amounts{}) || x.Adjusted != (quota.Amounts{}) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b projector.Minute) int { return int(a.Minute - b.Minute) })
	return list
}

// check compares the history with the twin, for all keys and a range.
func (w minuteTwin) check(t *rapid.T, h *projector.History, conns []string) {
	edges := []int64{math.MinInt64, 0, (start - 86_400_000) / 60_000, start/60_000 - 1, start / 60_000, start/60_000 + 1, start/86_400_000*1440 + 1440, 1440 << 32, math.MaxInt64}
	from, to := rapid.SampledFrom(edges).Draw(t, "from"), rapid.SampledFrom(edges).Draw(t, "to")
	some := rapid.SampledFrom([]string{"", "alice", "bob", "a:b", "a/b", "*", "nobody"})
	list := rapid.SliceOfNDistinct(some, 0, 7, rapid.ID).Draw(t, "keys")
	got := read(t, h, list, from, to)
	for i, key := range list {
		want := w.minutes(conns, key, from, to)
		if d := cmp.Diff(want, got[i], cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("key %q of %q on %q in [%d, %d): %s", key, list, conns, from, to, d)
		}
	}
}

// read returns the minutes of each key in order, each with the sum of its rows.
func read(t fataler, h *projector.History, list []string, from, to int64) [][]projector.Minute {
	t.Helper()
	w := minuteTwin{}
	must(t, h.Minutes(context.Background(), list, from, to, func(key int, m projector.Minute) error {
		c := cell{key: list[key], minute: m.Minute}
		w.add(c, events.Consumption, m.Consumed)
		w.add(c, events.Adjustment, m.Adjusted)
		return nil
	}))
	got := make([][]projector.Minute, len(list))
	for i, key := range list {
		got[i] = w.minutes([]string{""}, key, math.MinInt64, math.MaxInt64)
	}
	return got
}

func minutes(t fataler, h *projector.History, key string, from, to int64) []projector.Minute {
	t.Helper()
	return read(t, h, []string{key}, from, to)[0]
}

// TestHistoryEqualsItsTwin: at every moment, also between a cut, its commit and
// the word of it, the rows are those of the last message folded; and a history
// that was taken stays as it was.
func TestHistoryEqualsItsTwin(t *testing.T) {
	some := rapid.SliceOfN(rapid.SampledFrom([]string{"c1", "c2", "c3", "unseen"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		w, store := minuteTwin{}, projector.Store(memstore.New())
		s := projector.NewState(store)
		var batch projector.Batch // cut
		committed := false
		var old *projector.History
		var oldTwin minuteTwin
		var oldConns []string
		now := start
		for seq := range rapid.IntRange(1, 12).Draw(t, "messages") {
			now += gaps.Draw(t, "gap")
			fold(t, s, []events.Message{w.draw(t, uint64(seq+1), now)}, 1)
			for range rapid.IntRange(0, 3).Draw(t, "then") {
				switch {
				case batch == nil && rapid.Bool().Draw(t, "restart"):
					cut(t, s, store)
					s = load(t, store)
				case batch == nil:
					batch = store.NewBatch()
					must(t, s.Cut(batch))
				case !committed:
					must(t, store.Commit(batch))
					committed = true
				default:
					s.Committed()
					batch, committed = nil, false
				}
			}
			conns := some.Draw(t, "conns")
			h, err := s.History(store, conns)
			must(t, err)
			if at, logTime := h.At(); at != uint64(seq+1) || logTime != now {
				t.Fatalf("at message %d and %d, want %d and %d", at, logTime, seq+1, now)
			}
			w.check(t, h, conns)
			if old != nil {
				oldTwin.check(t, old, oldConns)
				must(t, old.Close())
			}
			old, oldTwin, oldConns = h, maps.Clone(w), conns
		}
	})
}

// TestHistoryBesideTheFold: whatever cuts and commits go on, the total and the
// keys agree with each other and with the message that the rows are said to be of.
func TestHistoryBesideTheFold(t *testing.T) {
	store := openPebble(t, vfs.NewMem())
	s := load(t, store)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for last := uint64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				seq, err := readOnce(s, store)
				if err != nil || seq < last {
					t.Errorf("at %d after %d: %v", seq, last, err)
					return
				}
				last = seq
			}
		})
	}
	done := make(chan error, 1)
	done <- nil // nothing is under way
	for seq := uint64(1); seq <= 3000; seq++ {
		fold(t, s, []events.Message{{Subject: "quota.consumption", Seq: seq, Time: start + int64(seq)*100, Data: fmt.Appendf(nil,
			`[{"apiKeyId":"k%d","connectionId":"c%d","time":%d}]`, seq%3, seq%2, start-int64(seq%5)*60_000)}}, 1)
		if seq%7 != 0 {
			continue
		}
		must(t, <-done)
		s.Committed()
		b := store.NewBatch()
		must(t, s.Cut(b))
		go func() { done <- store.Commit(b) }()
	}
	close(stop)
	readers.Wait()
	must(t, <-done)
	must(t, store.Close())
	if _, err := s.History(store, nil); !errors.Is(err, projector.ErrClosed) {
		t.Errorf("of a closed store: %v, want ErrClosed", err)
	}
}

// readOnce sums the rows of all keys, and of each, which must be as many as
// messages were folded.
func readOnce(s *projector.State, store projector.Snapshotter) (seq uint64, err error) {
	h, err := s.History(store, []string{"c0", "c1"})
	if err != nil {
		return 0, err
	}
	seq, _ = h.At()
	var sums [4]quota.Amount
	err = h.Minutes(context.Background(), []string{"", "k0", "k1", "k2"}, 0, math.MaxInt64, func(key int, m projector.Minute) error {
		sums[key] += m.Consumed[quota.Requests]
		return nil
	})
	total, keys := sums[0], sums[1]+sums[2]+sums[3]
	if want := quota.Amount(seq) * 1000; err == nil && (total != want || keys != want) {
		err = fmt.Errorf("the total is %d and the keys' sum %d, want %d", total, keys, want)
	}
	return seq, errors.Join(err, h.Close())
}

// TestHistoryWaitsForNoCommit: with a full disk a commit may wait for ever.
func TestHistoryWaitsForNoCommit(t *testing.T) {
	store := &slowStore{Store: memstore.New()}
	must(t, looped(t, store, func(t *testing.T, l *projector.Loop, _ *projector.State, in script) {
		store.leave = make(chan error)
		for seq := range uint64(3) {
			in <- one(seq+1, 0)
			must(t, l.Wait(t.Context(), seq+1))
			time.Sleep(time.Second) // the first commit has begun and waits
			h, err := l.History([]string{"c"})
			must(t, err)
			got := minutes(t, h, "alice", 0, math.MaxInt64)
			if len(got) != 1 || got[0].Consumed[quota.Requests] != quota.Amount(seq+1)*1000 {
				t.Errorf("after message %d: %+v, want as many requests", seq+1, got)
			}
			must(t, h.Close())
			must(t, h.Close())
			if err := h.Minutes(t.Context(), []string{""}, 0, 1, nil); !errors.Is(err, projector.ErrClosed) {
				t.Errorf("after Close: %v, want ErrClosed", err)
			}
		}
		close(store.leave)
		synctest.Wait()
	}))
}

// meanwhile is a store whose snapshots let something happen before they are read
// for the first time.
type meanwhile struct {
	projector.Store
	do func()
}

type lateSnapshot struct {
	projector.Snapshot
	do func()
}

func (m meanwhile) Snapshot() (projector.Snapshot, error) {
	snap, err := m.Store.Snapshot()
	return lateSnapshot{snap, sync.OnceFunc(m.do)}, err
}

func (n lateSnapshot) Get(key, dst []byte) ([]byte, bool, error) {
	n.do()
	return n.Snapshot.Get(key, dst)
}

// TestHistoryKeepsTheRowsOfTheCommitUnderWay: while a reader works on them their
// commit lands, and the fold goes on to later rows.
func TestHistoryKeepsTheRowsOfTheCommitUnderWay(t *testing.T) {
	store := memstore.New()
	s := projector.NewState(store)
	fold(t, s, []events.Message{usageAt(1, start, "")}, 1)
	batch := store.NewBatch()
	must(t, s.Cut(batch))
	h, err := s.History(meanwhile{store, func() {
		must(t, store.Commit(batch))
		s.Committed()
		for seq := uint64(2); seq < 5; seq++ {
			fold(t, s, []events.Message{usageAt(seq, start+day, `,"cost":{"requests":7}`)}, 1)
			cut(t, s, store)
		}
	}}, []string{"c"})
	must(t, err)
	want := []projector.Minute{{Minute: start / 60_000, Consumed: quota.Amounts{quota.Requests: 1000}}}
	if d := cmp.Diff(want, minutes(t, h, "", 0, math.MaxInt64)); d != "" {
		t.Error(d)
	}
	must(t, h.Close())
}
