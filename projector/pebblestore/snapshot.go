package pebblestore

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/quotashare/quotashare/projector"
)

// snapshots are those taken and not closed. Pebble panics over a snapshot that
// is used after its database was closed, and a database that closes while one is
// open calls it a leak, so the store closes them itself when nobody reads.
type snapshots struct {
	mu      sync.Mutex
	open    map[*snapshot]struct{}
	closed  bool
	reading sync.WaitGroup // grows under mu, and not once closed is set
}

// snapshot is a projector.Snapshot.
type snapshot struct {
	of *Store
	at *pebble.Snapshot
}

// Snapshot implements projector.Store.
func (s *Store) Snapshot() (_ projector.Snapshot, err error) {
	defer recovered(&err)
	if err := s.sound(); err != nil {
		return nil, err
	}
	t := &s.taken
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, projector.ErrClosed
	}
	n := &snapshot{of: s, at: s.db.NewSnapshot()}
	if t.open == nil {
		t.open = make(map[*snapshot]struct{})
	}
	t.open[n] = struct{}{}
	return n, nil
}

// begin opens a read; where it is true, reading.Done must follow.
func (n *snapshot) begin() bool {
	t := &n.of.taken
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, open := t.open[n]; !open || t.closed {
		return false
	}
	t.reading.Add(1)
	return true
}

// Get implements projector.Reader.
func (n *snapshot) Get(key, dst []byte) (value []byte, ok bool, err error) {
	if !n.begin() {
		return dst, false, projector.ErrClosed
	}
	defer n.of.taken.reading.Done()
	return n.of.get(n.at, key, dst)
}

// Scan implements projector.Reader.
func (n *snapshot) Scan(from, to []byte, fn func(key, value []byte) error) error {
	if !n.begin() {
		return projector.ErrClosed
	}
	defer n.of.taken.reading.Done()
	return n.of.scan(n.at, from, to, fn)
}

// Close implements projector.Snapshot.
func (n *snapshot) Close() (err error) {
	defer recovered(&err)
	t := &n.of.taken
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, open := t.open[n]; !open {
		return nil
	}
	delete(t.open, n)
	return n.of.explain("close snapshot", n.at.Close())
}

// endSnapshots lets no more reads begin, waits for those under way, and closes
// what is open.
func (s *Store) endSnapshots() (err error) {
	t := &s.taken
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.reading.Wait()
	t.mu.Lock()
	list := slices.Collect(maps.Keys(t.open))
	t.mu.Unlock()
	for _, n := range list {
		err = errors.Join(err, n.Close())
	}
	return err
}
