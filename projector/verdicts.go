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
	// Of one that leaves the connection open, Route is the choice; what waited has
	// the place of the message after which it passed, or its wait was over, and no
	// index in it: questions.FromView.
	Asked Asked
	Route Route
	Seq   uint64
	Index int
	Held  bool // it was opened

	// Done, when set, has capacity 1 and takes one value when the hold is folded and
	// can be read. State.OnJudged is for who waits for many.
	Done chan struct{}
	// Waiter is whose it is, for OnJudged.
	Waiter any
}

// expected are the holds whose verdicts somebody waits for.
type expected struct {
	mu    sync.Mutex
	byID  map[string]*Expected
	ended bool // nothing is folded any more
}

// Expect makes the fold tell the verdict on a hold. It is called before the hold
// is published, and reports false when the state folds no more.
func (s *State) Expect(x *Expected) bool {
	s.expected.mu.Lock()
	defer s.expected.mu.Unlock()
	if s.expected.ended {
		return false
	}
	if s.expected.byID == nil {
		s.expected.byID = make(map[string]*Expected)
	}
	s.expected.byID[x.ID] = x
	return true
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

// ExpectNoMore says that the state folds no more, to who comes later. Who waits
// gives up with Unexpect.
func (s *State) ExpectNoMore() {
	s.expected.mu.Lock()
	defer s.expected.mu.Unlock()
	s.expected.ended = true
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
	if len(s.judged) == 0 {
		return
	}
	for _, x := range s.judged {
		if x.Done != nil {
			x.Done <- struct{}{}
		}
	}
	if s.OnJudged != nil {
		s.OnJudged(s.judged)
	}
	clear(s.judged)
	s.judged = s.judged[:0]
}
