package projector_test

import (
	"fmt"
	"testing"
)

// TestWhatIsRefusedIsABlock: at the end of its wait a request is refused though one of
// its candidates has come to be of a pool that stops nobody. Nothing is held for it, so
// it is not allowed.
func TestWhatIsRefusedIsABlock(t *testing.T) {
	for _, mode := range []string{"off", "observe", "enforce"} {
		s := newScene(t)
		pool := func(id, connection, mode string) {
			s.publish("quota.config.pool."+id, fmt.Sprintf(`{"id":%q,"name":%[1]q,"provider":"custom","mode":%q,"connections":[{"connectionId":%q,"maxConcurrent":1}]}`, id, mode, connection))
		}
		pool("one", "e", "enforce")
		pool("other", "o", "enforce")
		s.route("b", "r1", `"pool":"one"`)
		s.route("b", "r2", `"pool":"other"`)
		first := s.route("a", "r1", `"candidates":[{"connectionId":"e"}],"maxWaitMs":30000`)
		second := s.route("a", "r2", `"candidates":[{"connectionId":"e"},{"connectionId":"o"}],"maxWaitMs":2000`)
		pool("other", "o", mode)
		s.now += 2_000
		s.publish("quota.due", "{}")
		told(t, second)
		a := second.Asked.Facts.Decide(second.Asked.Now)
		if a.Allowed() || a.Reason.String() != "capacity" || a.Scope != "connection" || second.Held || second.Route.ConnectionID != "" || s.HoldOpen("a", "r2") {
			t.Errorf("mode %s: %s (%s), held %t, %+v", mode, a.Reason, a.Scope, second.Held, second.Route)
		}
		if len(first.Done) != 0 {
			t.Errorf("mode %s: the first of the key is told something", mode)
		}
	}
}

// TestWhoHoldsDoesNotWait: asked again with time to wait, a request keeps its place,
// though others of its key wait that may not pass.
func TestWhoHoldsDoesNotWait(t *testing.T) {
	s := newScene(t)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","maxConcurrent":1},{"connectionId":"d","maxConcurrent":1}]}`)
	told(t, s.route("a", "r1", `"candidates":[{"connectionId":"c"}]`))
	told(t, s.route("b", "r2", `"candidates":[{"connectionId":"d"}]`))
	first := s.route("a", "r3", `"candidates":[{"connectionId":"d"}],"maxWaitMs":60000`)
	again := s.route("a", "r1", `"pool":"p","maxWaitMs":60000`)
	told(t, again)
	if again.Route.ConnectionID != "c" || !again.Held || !s.HoldOpen("a", "r1") || len(first.Done) != 0 || len(s.Waiting()) != 1 {
		t.Errorf("%+v, held %t, %d wait", again.Route, again.Held, len(s.Waiting()))
	}
	elsewhere := s.route("a", "r1", `"candidates":[{"connectionId":"d"}],"maxWaitMs":60000`)
	if len(elsewhere.Done) != 0 || len(s.Waiting()) != 2 {
		t.Errorf("who wants another one is told %+v, %d wait", elsewhere.Route, len(s.Waiting()))
	}
}
