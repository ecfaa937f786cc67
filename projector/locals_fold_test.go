package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// TestWhatIsSettledIsNotHeldLocally: nothing would end it but its lease.
func TestWhatIsSettledIsNotHeldLocally(t *testing.T) {
	s := newScene(t)
	s.Locals = new(projector.Locals)
	s.consume("alice", "c", "r", "")
	for i, add := range []func(*projector.LocalHold, int64) bool{s.Hold, s.Hear} {
		for request, want := range map[string]bool{"r": false, "other": true} {
			id := fmt.Sprint(i, request)
			add(&projector.LocalHold{ID: id, APIKeyID: "alice", ConnectionID: "c", RequestID: request, End: s.now + 60_000}, s.now)
			if s.Locals.Has(id, s.now) != want {
				t.Errorf("%s is held: %t, want %t", id, !want, want)
			}
		}
	}
}

// TestLocalHoldsWhileItIsCut: who lets pass without a verdict looks at what the cut
// writes just then. Whatever the moment, what was settled is known.
func TestLocalHoldsWhileItIsCut(t *testing.T) {
	s := newScene(t)
	s.Locals = new(projector.Locals)
	s.consume("alice", "c", "r", "")
	now, looked, stop := s.now, make(chan int, 1), make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				looked <- n
				return
			default:
			}
			if s.Hold(&projector.LocalHold{ID: fmt.Sprint(n), APIKeyID: "alice", ConnectionID: "c", RequestID: "r", End: now + 60_000}, now) {
				t.Error("what was settled is held")
			}
		}
	}()
	for i := range 300 {
		s.consume("alice", "c", fmt.Sprint(i), "")
		cut(t, s.State, s.store)
	}
	close(stop)
	if n := <-looked; n == 0 {
		t.Error("nobody has looked")
	}
}

// TestTheFoldSeesNoLocalHolds: what one process counts while the log takes nothing
// must not decide what all processes fold.
func TestTheFoldSeesNoLocalHolds(t *testing.T) {
	s := newScene(t)
	s.plan("c", "requests", "hourly", "1")
	s.pool(`"c"`, `,"allocations":[{"apiKeyId":"alice","weight":1}]`)
	s.Locals = new(projector.Locals)
	one := quota.Amounts{quota.Requests: 1_000}
	s.Locals.Add(&projector.LocalHold{ID: "x", APIKeyID: "bob", ConnectionID: "c", RequestID: "r", Amounts: one, End: s.now + 60_000, Own: true}, s.now)
	asked := make([]projector.Asked, 1)
	s.Gather([]questions.Question{{APIKeyID: "alice", ConnectionID: "c", Estimate: one}}, s.now, asked)
	if asked[0].Facts.Judge(s.now).Allowed() {
		t.Error("a question does not count the local hold")
	}
	x := s.hold("alice", "r1", "c", 1_000, "")
	if a := x.Asked.Facts.Decide(x.Asked.Now); !a.Allowed() || !x.Held {
		t.Errorf("the fold says %s, held %t", a.Reason, x.Held)
	}
}
