// Package storetest is the conformance suite of projector.Store: what the
// projector relies on, checked in one place for every store there is.
package storetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/projector"
)

// Run checks the stores that open returns, an empty one at each call.
func Run(t *testing.T, open func() projector.Store) {
	t.Run("empty", func(t *testing.T) { empty(t, open()) })
	t.Run("get does not share memory", func(t *testing.T) { ownMemory(t, open()) })
	t.Run("uncommitted is unseen", func(t *testing.T) { unseen(t, open()) })
	t.Run("scan is bounded and ordered", func(t *testing.T) { scan(t, open()) })
	t.Run("scan ends with the callback's error", func(t *testing.T) { scanError(t, open()) })
	t.Run("a snapshot sees no later commit", func(t *testing.T) { snapshot(t, open()) })
	t.Run("closed snapshots and stores say so", func(t *testing.T) { closed(t, open()) })
	t.Run("a closing store lets no read begin", func(t *testing.T) { closing(t, open()) })
	t.Run("closing waits for readers", func(t *testing.T) { closeBesideReaders(t, open()) })
	t.Run("random batches equal a map", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) { random(rt, open()) })
	})
}

// fataler is what testing.T and rapid.T share.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func closeStore(t fataler, s projector.Store) {
	t.Helper()
	must(t, s.Close())
}

func commit(t fataler, s projector.Store, fill func(b projector.Batch) error) {
	t.Helper()
	b := s.NewBatch()
	must(t, fill(b))
	must(t, s.Commit(b))
}

// all returns the records in [from, to) and checks their order.
func all(t fataler, s projector.Reader, from, to string) map[string]string {
	t.Helper()
	got := map[string]string{}
	last := ""
	must(t, s.Scan([]byte(from), []byte(to), func(k, v []byte) error {
		if string(k) <= last && last != "" {
			return fmt.Errorf("%q after %q", k, last)
		}
		last = string(k)
		got[last] = string(v)
		return nil
	}))
	return got
}

func empty(t *testing.T, s projector.Store) {
	defer closeStore(t, s)
	if v, ok, err := s.Get([]byte("a"), []byte("x")); ok || err != nil || string(v) != "x" {
		t.Errorf("Get of nothing: %q %v %v, want dst as it was", v, ok, err)
	}
	if got := all(t, s, "\x00", "\xff"); len(got) != 0 {
		t.Errorf("Scan of nothing: %v", got)
	}
}

func ownMemory(t *testing.T, s projector.Store) {
	defer closeStore(t, s)
	key, value := []byte("key"), []byte("value")
	b := s.NewBatch()
	must(t, b.Set(key, value))
	copy(key, "xxx")
	copy(value, "xxxxx")
	must(t, s.Commit(b))
	v, ok, err := s.Get([]byte("key"), []byte("dst-"))
	if !ok || err != nil || string(v) != "dst-value" {
		t.Errorf("Get = %q %v %v, want dst-value", v, ok, err)
	}
}

func unseen(t *testing.T, s projector.Store) {
	defer closeStore(t, s)
	b := s.NewBatch()
	must(t, b.Set([]byte("a"), []byte("1")))
	must(t, b.Set([]byte("b"), []byte("2")))
	if got := all(t, s, "\x00", "\xff"); len(got) != 0 {
		t.Errorf("before the commit: %v", got)
	}
	must(t, b.Close())
	if got := all(t, s, "\x00", "\xff"); len(got) != 0 {
		t.Errorf("after giving the batch up: %v", got)
	}
}

func scan(t *testing.T, s projector.Store) {
	defer closeStore(t, s)
	commit(t, s, func(b projector.Batch) error {
		return errors.Join(
			b.Set([]byte("b"), []byte("2")), b.Set([]byte("a"), []byte("1")),
			b.Set([]byte("b\xff"), []byte("3")), b.Set([]byte("c"), []byte("4")))
	})
	for _, c := range []struct {
		from, to string
		want     map[string]string
	}{
		{"a", "c", map[string]string{"a": "1", "b": "2", "b\xff": "3"}},
		{"b", "b\x00", map[string]string{"b": "2"}},
		{"c", "c", map[string]string{}},
		{"d", "\xff", map[string]string{}},
	} {
		if d := cmp.Diff(c.want, all(t, s, c.from, c.to)); d != "" {
			t.Errorf("[%q, %q): %s", c.from, c.to, d)
		}
	}
}

func scanError(t *testing.T, s projector.Store) {
	defer closeStore(t, s)
	commit(t, s, func(b projector.Batch) error {
		return errors.Join(b.Set([]byte("a"), nil), b.Set([]byte("b"), nil))
	})
	stop, calls := errors.New("stop"), 0
	err := s.Scan([]byte("a"), []byte("z"), func(_, _ []byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("err %v after %d calls, want the callback's after 1", err, calls)
	}
}

// random compares batches of every operation with a plain map. Keys that begin
// with d merge as de-dup buckets do, the others as minute rows.
func random(t *rapid.T, s projector.Store) {
	defer closeStore(t, s)
	twin := map[string]string{}
	key := rapid.StringMatching(`[a-e]{1,2}`)
	for range rapid.IntRange(1, 6).Draw(t, "batches") {
		old, before := take(t, s), maps.Clone(twin)
		commit(t, s, func(b projector.Batch) error {
			var err error
			for range rapid.IntRange(0, 8).Draw(t, "ops") {
				err = errors.Join(err, step(t, b, twin, key))
			}
			return err
		})
		if d := cmp.Diff(twin, all(t, s, "\x00", "\xff")); d != "" {
			t.Fatalf("after a batch: %s", d)
		}
		if d := cmp.Diff(before, all(t, old, "\x00", "\xff")); d != "" {
			t.Fatalf("a snapshot from before the batch: %s", d)
		}
		must(t, old.Close())
	}
}

// step does one random operation on the batch and on the twin.
func step(t *rapid.T, b projector.Batch, twin map[string]string, key *rapid.Generator[string]) error {
	k := key.Draw(t, "key")
	switch rapid.IntRange(0, 3).Draw(t, "op") {
	case 0:
		twin[k] = string(row(t, "set"))
		return b.Set([]byte(k), []byte(twin[k]))
	case 1:
		add := row(t, "merge")
		old, ok := twin[k]
		twin[k] = string(add)
		if ok {
			sum, err := projector.MergeOnto([]byte(k), []byte(old), add)
			if err != nil {
				return err
			}
			twin[k] = string(sum)
		}
		return b.Merge([]byte(k), add)
	case 2:
		delete(twin, k)
		return b.Delete([]byte(k))
	default:
		to := key.Draw(t, "to")
		for _, x := range slices.Collect(maps.Keys(twin)) {
			if x >= k && x < to {
				delete(twin, x)
			}
		}
		if k >= to {
			return nil // an empty range is nobody's business
		}
		return b.DeleteRange([]byte(k), []byte(to))
	}
}

// row is a minute row's value: what was consumed, and sometimes what adjustments
// changed, which may cancel out.
func row(t *rapid.T, what string) []byte {
	v := append(binary.AppendVarint(nil, int64(rapid.Int8().Draw(t, what))), 0, 0, 0)
	if n := rapid.Int64Range(-2, 2).Draw(t, "adjusted"); n != 0 {
		v = append(binary.AppendVarint(v, n), 0, 0, 0)
	}
	return v
}
