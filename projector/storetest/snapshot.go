package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/projector"
)

func take(t fataler, s projector.Store) projector.Snapshot {
	t.Helper()
	snap, err := s.Snapshot()
	must(t, err)
	return snap
}

func set(keys, value string) func(projector.Batch) error {
	return func(b projector.Batch) (err error) {
		for _, k := range keys {
			err = errors.Join(err, b.Set([]byte(string(k)), []byte(value)))
		}
		return err
	}
}

func snapshot(t *testing.T, s projector.Store) {
	defer closeStore(t, s)
	commit(t, s, set("ab", "1"))
	first := take(t, s)
	commit(t, s, set("bc", "2"))
	second := take(t, s)
	commit(t, s, func(b projector.Batch) error { return b.DeleteRange([]byte("a"), []byte("z")) })
	for name, c := range map[string]struct {
		of   projector.Reader
		want map[string]string
	}{
		"first":  {first, map[string]string{"a": "1", "b": "1"}},
		"second": {second, map[string]string{"a": "1", "b": "2", "c": "2"}},
		"store":  {s, map[string]string{}},
	} {
		if d := cmp.Diff(c.want, all(t, c.of, "\x00", "\xff")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		want, there := c.want["b"]
		if v, ok, err := c.of.Get([]byte("b"), []byte("x")); err != nil || ok != there || string(v) != "x"+want {
			t.Errorf("%s: Get = %q %v %v, want x%s %v", name, v, ok, err, want, there)
		}
	}
	must(t, first.Close())
	must(t, second.Close())
}

func closed(t *testing.T, s projector.Store) {
	commit(t, s, set("a", "1"))
	first, second := take(t, s), take(t, s)
	must(t, first.Close())
	must(t, first.Close())
	unreadable(t, "a closed snapshot", first)
	if v, ok, err := second.Get([]byte("a"), nil); !ok || err != nil || string(v) != "1" {
		t.Errorf("the other snapshot: %q %v %v, want 1", v, ok, err)
	}
	must(t, s.Close())
	unreadable(t, "a snapshot of a closed store", second)
	must(t, second.Close())
	if _, err := s.Snapshot(); !errors.Is(err, projector.ErrClosed) {
		t.Errorf("a snapshot of a closed store is taken: %v, want ErrClosed", err)
	}
}

func unreadable(t *testing.T, what string, r projector.Reader) {
	t.Helper()
	if v, ok, err := r.Get([]byte("a"), []byte("x")); ok || !errors.Is(err, projector.ErrClosed) || string(v) != "x" {
		t.Errorf("%s: Get = %q %v %v, want dst as it was and ErrClosed", what, v, ok, err)
	}
	err := r.Scan([]byte("a"), []byte("z"), func(_, _ []byte) error { t.Errorf("%s has records", what); return nil })
	if !errors.Is(err, projector.ErrClosed) {
		t.Errorf("%s: Scan = %v, want ErrClosed", what, err)
	}
}

// closing closes the store while a read is under way, which goes on to its end.
func closing(t *testing.T, s projector.Store) {
	commit(t, s, set("ab", "1"))
	first, second := take(t, s), take(t, s)
	done, n := make(chan error, 1), 0
	must(t, first.Scan([]byte("a"), []byte("z"), func(_, _ []byte) error {
		if n++; n > 1 {
			return nil
		}
		go func() { done <- s.Close() }()
		for { // until it is closing
			snap, err := s.Snapshot()
			if errors.Is(err, projector.ErrClosed) {
				break
			}
			if err := errors.Join(err, snap.Close()); err != nil {
				return err
			}
		}
		unreadable(t, "another snapshot of a closing store", second)
		return nil
	}))
	if n != 2 {
		t.Errorf("the read under way saw %d records, want 2", n)
	}
	must(t, <-done)
}

// closeBesideReaders closes the store while others read snapshots: they see
// everything or ErrClosed.
func closeBesideReaders(t *testing.T, s projector.Store) {
	const keys = "abcdefgh"
	commit(t, s, set(keys, "1"))
	var readers, begun sync.WaitGroup
	for range 4 {
		begun.Add(1)
		readers.Go(func() {
			for n := 0; ; n++ {
				err := count(s, len(keys))
				if n == 0 {
					begun.Done()
				}
				if errors.Is(err, projector.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	begun.Wait()
	closeStore(t, s)
	readers.Wait()
}

// count takes a snapshot and counts its records.
func count(s projector.Store, want int) error {
	snap, err := s.Snapshot()
	if err != nil {
		return err
	}
	n := 0
	err = snap.Scan([]byte("a"), []byte("z"), func(_, _ []byte) error { n++; return nil })
	if err == nil && n != want {
		err = errors.New("a snapshot has not all records")
	}
	return errors.Join(err, snap.Close())
}
