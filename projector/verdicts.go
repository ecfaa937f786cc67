package projector

import (
	"sync"

	"github.com/quotashare/quotashare/questions"
)

// Expected is a hold event on its way through the log, whose verdict its writer
// waits for.
type Expected struct {
	ID string // of the hold event
	// Question is what the hold came from; of it only Explain counts here, for the
	// event has all else. It stays as it is until Done.
	Question questions.Question

	// The fold sets these before Done. Asked is the state at the hold's place:
	// Asked.Facts.Decide(Asked.Now) is the verdict.
	Asked Asked
	Seq   uint64 // 0 = there is no verdict, and there will be none of this state
	Index int
	Held  bool // it was opened

	Done chan struct{} // capacity 1; takes one value when the hold is folded and can be read
}

// expected are the holds whose verdicts somebody waits for.
type expected struct {
	mu    sync.Mutex
	byID  map[string]*Expected
	ended bool // nothing is folded any more
}

// Expect makes the fold tell the verdict on a hold. It is called before the hold
// is published.
func (s *State) Expect(x *Expected) {
	s.expected.mu.Lock()
	defer s.expected.mu.Unlock()
	x.Seq = 0
	if s.expected.ended {
		x.Done <- struct{}{}
		return
	}
	if s.expected.byID == nil {
		s.expected.byID = make(map[string]*Expected)
	}
	s.expected.byID[x.ID] = x
}

// Unexpect ends the waiting for a hold. It reports whether the fold has its
// verdict, or is about to: then Done has a value, or will have one in a moment.
func (s *State) Unexpect(x *Expected) (folded bool) {
	s.expected.mu.Lock()
	defer s.expected.mu.Unlock()
	_, waiting := s.expected.byID[x.ID]
	delete(s.expected.byID, x.ID)
	return !waiting
}

// ExpectNoMore ends all waiting, also of those who come later: the state folds no
// more. They find Seq 0.
func (s *State) ExpectNoMore() {
	s.expected.mu.Lock()
	defer s.expected.mu.Unlock()
	s.expected.ended = true
	for id, x := range s.expected.byID {
		delete(s.expected.byID, id)
		x.Done <- struct{}{}
	}
}

// take returns who waits for the hold of that id, nil when nobody does.
func (x *expected) take(id string) *Expected {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.byID[id]
	if e != nil {
		delete(x.byID, id)
	}
	return e
}

// tell wakes those whose holds were judged.
func (s *State) tell() {
	for i, x := range s.judged {
		x.Done <- struct{}{}
		s.judged[i] = nil
	}
	s.judged = s.judged[:0]
}
