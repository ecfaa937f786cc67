// Package memstore is a projector.Store in memory, for replay and for tests.
package memstore

import (
	"slices"
	"strings"
	"sync"

	"github.com/quotashare/quotashare/projector"
)

// Store keeps records in a sorted list of keys and a map. The zero Store is
// empty and ready.
type Store struct {
	mu     sync.RWMutex
	values map[string]string
	// sorted are the keys in order, nil when a commit has changed the set. A
	// replay scans once at its end, so sorting then is cheaper than a tree.
	sorted []string
}

// New returns an empty store.
func New() *Store { return &Store{values: make(map[string]string)} }

// Get implements projector.Reader.
func (s *Store) Get(key, dst []byte) ([]byte, bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, ok := s.values[string(key)]
	return append(dst, v...), ok, nil
}

// Scan implements projector.Reader. It sees the store as it was when it began.
func (s *Store) Scan(from, to []byte, fn func(key, value []byte) error) error {
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
func (s *Store) between(from, to string) []string {
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

// NewBatch implements projector.Store.
func (s *Store) NewBatch() projector.Batch { return &batch{} }

// Commit implements projector.Store.
func (s *Store) Commit(b projector.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range b.(*batch).ops {
		if err := op.apply(s); err != nil {
			return err
		}
	}
	return b.Close()
}

// Close implements projector.Store.
func (s *Store) Close() error { return nil }

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
