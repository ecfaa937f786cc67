package projector

import (
	"fmt"
	"testing"
)

// TestSeenHoldsAreTheNewest, and no more of them than there is room for.
func TestSeenHoldsAreTheNewest(t *testing.T) {
	var s seenHolds
	if s.has("0") {
		t.Error("nothing was seen yet")
	}
	for i := range mostSeen + 2 {
		s.add(fmt.Sprint(i))
	}
	for id, want := range map[string]bool{"0": false, "1": false, "2": true, fmt.Sprint(mostSeen + 1): true, "never": false} {
		if s.has(id) != want {
			t.Errorf("%s: %v, want %v", id, !want, want)
		}
	}
	if len(s.set) != mostSeen {
		t.Errorf("%d are kept, want %d", len(s.set), mostSeen)
	}
}

// TestWhatIsHeardTooLate counts nothing: the log has it, or is done with it. One of
// our own is not replaced by what others tell of the same request.
func TestWhatIsHeardTooLate(t *testing.T) {
	s := NewState(nil)
	s.Locals = new(Locals)
	hold := func(id, request string, own bool) *LocalHold {
		return &LocalHold{ID: id, APIKeyID: "alice", ConnectionID: "c", RequestID: request, End: 1000, Own: own}
	}
	s.Locals.folded("h1")
	s.Hear(hold("h1", "r1", false), 1)
	s.Locals.Add(hold("h2", "r2", true), 1)
	s.Hear(hold("h3", "r2", false), 1)
	s.Hear(hold("h4", "r4", false), 1)
	for id, want := range map[string]bool{"h1": false, "h2": true, "h3": false, "h4": true} {
		if s.Locals.Has(id, 2) != want {
			t.Errorf("%s counts: %v, want %v", id, !want, want)
		}
	}
}
