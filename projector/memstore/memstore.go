// Package memstore is a projector.Store in memory, for replay and for tests.
package memstore

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/quotashare/quotashare/projector"
)

// Store keeps records in a sorted list of keys and a map.
type Store struct {
	records
	closed atomic.Bool
}

// records are what a store or a snapshot of it holds.
type records struct {
	mu     sync.RWMutex
	values map[string]string
	shared bool // a snapshot has the same map: the next commit makes its own
	// sorted are the keys in order, nil when a commit has changed the set. A
	// replay scans once at its end, so sorting then is cheaper than a tree.
	sorted []string
}

// New returns an empty store.
func New() *Store { return &Store{records: records{values: make(map[string]string)}} }

// Get implements projector.Reader.
func (s *records) Get(key, dst []byte) ([]byte, bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, ok := s.values[string(key)]
	return append(dst, v...), ok, nil
}

// Scan implements projector.Reader. It sees the store as it was when it began.
func (s *records) Scan(from, to []byte, fn func(key, value []byte) error) error {
	s.mu.Lock()
	keys := s.between(string(from), string(to))
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = s.values[k]
	}
	s.mu.Unlock()
	for i, k := range keys {
		if err := fn([]byte(k), []byte(values[i])); err != nil {
			return err
		}
	}
	return nil
}

// between returns the keys in [from, to).
func (s *records) between(from, to string) []string {
	if s.sorted == nil {
		s.sorted = make([]string, 0, len(s.values))
		for k := range s.values {
			s.sorted = append(s.sorted, k)
		}
		slices.Sort(s.sorted)
	}
	lo, _ := slices.BinarySearch(s.sorted, from)
	hi, _ := slices.BinarySearch(s.sorted, to)
	return slices.Clone(s.sorted[lo:max(lo, hi)])
}

// snapshot is a projector.Snapshot.
type snapshot struct {
	of *Store
	records
	closed atomic.Bool
}

// Snapshot implements projector.Store. It copies nothing: the next commit does.
func (s *Store) Snapshot() (projector.Snapshot, error) {
	if s.closed.Load() {
		return nil, projector.ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared = true
	return &snapshot{of: s, records: records{values: s.values, sorted: s.sorted}}, nil
}

func (n *snapshot) gone() bool { return n.closed.Load() || n.of.closed.Load() }

// Get implements projector.Reader.
func (n *snapshot) Get(key, dst []byte) ([]byte, bool, error) {
	if n.gone() {
		return dst, false, projector.ErrClosed
	}
	return n.records.Get(key, dst)
}

// Scan implements projector.Reader.
func (n *snapshot) Scan(from, to []byte, fn func(key, value []byte) error) error {
	if n.gone() {
		return projector.ErrClosed
	}
	return n.records.Scan(from, to, fn)
}

// Close implements projector.Snapshot.
func (n *snapshot) Close() error {
	n.closed.Store(true)
	return nil
}

// NewBatch implements projector.Store.
func (s *Store) NewBatch() projector.Batch { return &batch{} }

// Commit implements projector.Store.
func (s *Store) Commit(b projector.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared {
		s.values, s.shared = maps.Clone(s.values), false
	}
	for _, op := range b.(*batch).ops {
		if err := op.apply(s); err != nil {
			return err
		}
	}
	return b.Close()
}

// Close implements projector.Store.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

type kind uint8

const (
	set kind = iota
	merge
	del
	delRange
)

type op struct {
	kind       kind
	key, value string // of delRange: from and to
}

type batch struct{ ops []op }

func (b *batch) put(k kind, key, value []byte) error {
	b.ops = append(b.ops, op{k, string(key), string(value)})
	return nil
}

func (b *batch) Set(key, value []byte) error       { return b.put(set, key, value) }
func (b *batch) Merge(key, value []byte) error     { return b.put(merge, key, value) }
func (b *batch) Delete(key []byte) error           { return b.put(del, key, nil) }
func (b *batch) DeleteRange(from, to []byte) error { return b.put(delRange, from, to) }
func (b *batch) Close() error                      { b.ops = nil; return nil }

func (o op) apply(s *Store) error {
	_, had := s.values[o.key]
	switch o.kind {
	case set:
		s.values[o.key] = o.value
		if !had {
			s.sorted = nil
		}
	case merge:
		return o.merge(s, had)
	case del:
		delete(s.values, o.key)
		s.sorted = nil
	case delRange:
		for _, k := range s.between(o.key, o.value) {
			delete(s.values, k)
		}
		s.sorted = nil
	}
	return nil
}

func (o op) merge(s *Store, had bool) error {
	if !had {
		s.values[o.key] = strings.Clone(o.value)
		s.sorted = nil
		return nil
	}
	sum, err := projector.MergeOnto([]byte(o.key), []byte(s.values[o.key]), []byte(o.value))
	if err == nil {
		s.values[o.key] = string(sum)
	}
	return err
}
