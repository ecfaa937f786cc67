package projector

import (
	"hash/maphash"
	"sync"
)

// mostSeen is how many hold events are remembered: those of some seconds, where a
// decider tells others of a hold that the log did not take within a fraction of one.
const mostSeen = 1 << 16

// seenHolds remembers the newest hold events that the fold has seen, by a hash of
// their ids. A hold that another decider tells of afterwards is not one beside the
// log any more. The memory of all events could tell as well, but belongs to the fold.
type seenHolds struct {
	mu   sync.Mutex
	seed maphash.Seed
	set  map[uint64]struct{}
	ring []uint64
	next int
}

func (s *seenHolds) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.seed, s.set = maphash.MakeSeed(), make(map[uint64]struct{})
	}
	h := maphash.String(s.seed, id)
	if len(s.ring) < mostSeen {
		s.ring = append(s.ring, h)
	} else {
		delete(s.set, s.ring[s.next])
		s.ring[s.next] = h
		s.next = (s.next + 1) % mostSeen
	}
	s.set[h] = struct{}{}
}

func (s *seenHolds) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		return false
	}
	_, known := s.set[maphash.String(s.seed, id)]
	return known
}
