package projector_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/quotashare/quotashare/projector"
)

// TestWhatIsRefusedIsABlock: at the end of its wait a request is refused though one of
// its candidates has come to be of a pool that stops nobody, which was not seen behind so
// many of its key. Nothing is held for it, so it is not allowed.
func TestWhatIsRefusedIsABlock(t *testing.T) {
	for _, mode := range []string{"off", "observe", "enforce", "gone"} {
		s := newScene(t)
		pool := func(id, connection, mode string) {
			s.publish("quota.config.pool."+id, fmt.Sprintf(`{"id":%q,"name":%[1]q,"provider":"custom","mode":%q,"connections":[{"connectionId":%q,"maxConcurrent":1}]}`, id, mode, connection))
		}
		pool("one", "e", "enforce")
		pool("other", "o", "enforce")
		s.route("b", "r1", `"pool":"one"`)
		s.route("b", "r2", `"pool":"other"`)
		first := s.route("a", "r1", `"candidates":[{"connectionId":"e"}],"maxWaitMs":30000`)
		for i := range 63 {
			s.route("a", fmt.Sprint("another ", i), `"candidates":[{"connectionId":"e"}],"maxWaitMs":30000`)
		}
		second := s.route("a", "r2", `"candidates":[{"connectionId":"e"},{"connectionId":"o"}],"maxWaitMs":2000`)
		if mode == "gone" {
			s.publish("quota.config.pool.other", "")
		} else {
			pool("other", "o", mode)
		}
		s.now += 2_000
		s.publish("quota.due", "{}")
		told(t, second)
		a := second.Asked.Facts.Decide(second.Asked.Now)
		if a.Allowed() || a.Reason.String() != "capacity" || (a.Scope == "connection") != (mode != "gone") || second.Held || second.Route.ConnectionID != "" || a.RetryMs < 1 || s.HoldOpen("a", "r2") {
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
	first := s.route("a", "r3", `"pool":"p","maxWaitMs":60000`)
	again := s.route("a", "r1", `"pool":"p","maxWaitMs":60000`)
	told(t, again)
	if again.Route.ConnectionID != "c" || !again.Held || !s.HoldOpen("a", "r1") || len(first.Done) != 0 || len(s.Waiting()) != 1 {
		t.Errorf("%+v, held %t, %d wait", again.Route, again.Held, len(s.Waiting()))
	}
	elsewhere := s.route("a", "r1", `"candidates":[{"connectionId":"d"}],"maxWaitMs":60000`)
	if len(elsewhere.Done) != 0 || len(first.Done) != 1 || len(s.Waiting()) != 1 {
		t.Errorf("who wants another one is told %+v, %d wait", elsewhere.Route, len(s.Waiting()))
	}
}

// TestManyWaitsEndTogether: all are told the same instant, and the backlog is played
// through for it once: a copy for each would be a third of a gigabyte.
func TestManyWaitsEndTogether(t *testing.T) {
	const each = 1_500
	s := newScene(t)
	s.narrow()
	told(t, s.route("a", "r", `"pool":"p"`))
	var over []*projector.Expected
	for i := range each {
		over = append(over, s.route("a", fmt.Sprint("short ", i), `"pool":"p","maxWaitMs":5000`))
		s.route("b", fmt.Sprint("long ", i), `"pool":"p","maxWaitMs":600000`)
	}
	end := s.now + 60_000
	s.now += 5_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.publish("quota.due", "{}")
	runtime.ReadMemStats(&after)
	// Nine of the others go before the end of their wait, a minute each.
	want := end + 9*60_000
	for _, x := range over {
		if told(t, x); x.Route.FreeAt != want {
			t.Fatalf("room at %d, want %d", x.Route.FreeAt-end, want-end)
		}
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("it takes %d MB", n>>20)
	}
}

// TestWhoIsBehindNobody: a request goes before an earlier one of its key that waits for
// what it does not want: another connection, or more of another model. Before one that
// waits for the same it does not go, though that one may not.
func TestWhoIsBehindNobody(t *testing.T) {
	s := newScene(t)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","maxConcurrent":1},{"connectionId":"d","maxConcurrent":1}],
		"modelCaps":[{"apiKeyId":"a","model":"gpt","capUnit":"requests","capValue":1}]}`)
	told(t, s.route("b", "r1", `"candidates":[{"connectionId":"c"}]`))
	told(t, s.route("b", "r2", `"candidates":[{"connectionId":"d"}]`))
	first := s.route("a", "r1", `"candidates":[{"connectionId":"c"}],"model":"gpt","maxWaitMs":60000`)
	s.publish("quota.consumption", `{"apiKeyId":"a","requestId":"r0","connectionId":"d","model":"gpt","cost":{"requests":1}}`)
	s.publish("quota.release", `{"apiKeyId":"b","requestId":"r1"}`)
	s.publish("quota.release", `{"apiKeyId":"b","requestId":"r2"}`)
	for _, c := range []struct{ connection, model string }{{"d", "gpt-5"}, {"c", "o1"}} {
		x := s.route("a", "on "+c.connection, fmt.Sprintf(`"candidates":[{"connectionId":%q}],"model":%q,"maxWaitMs":60000`, c.connection, c.model))
		if told(t, x); x.Route.ConnectionID != c.connection || !x.Held || x.Route.Waited {
			t.Errorf("%+v: %+v", c, x.Route)
		}
		s.publish("quota.release", fmt.Sprintf(`{"apiKeyId":"a","requestId":"on %s"}`, c.connection))
	}
	if len(first.Done) != 0 {
		t.Fatal("the first may pass")
	}
}

// TestSmallOnesDoNotPassALargeOne of their key that waits for more of its share, though
// they are of another model.
func TestSmallOnesDoNotPassALargeOne(t *testing.T) {
	s := newScene(t)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","maxConcurrent":1}],
		"allocations":[{"apiKeyId":"a","weight":50,"policy":"hard"},{"apiKeyId":"b","weight":50,"policy":"hard"}]}`)
	s.plan("c", "tokens", "hourly", "100")
	told(t, s.route("b", "r1", `"pool":"p"`))
	s.publish("quota.hold", `{"id":"large","apiKeyId":"a","requestId":"large","pool":"p","model":"gpt","maxWaitMs":60000,"leaseMs":60000,"estimate":{"tokens":60},"decisionId":"large"}`)
	s.use("a", "c", `"tokens":45`)
	s.publish("quota.release", `{"apiKeyId":"b","requestId":"r1"}`)
	small := s.route("a", "small", `"pool":"p","model":"o1","maxWaitMs":60000`)
	if len(small.Done) != 0 || len(s.Waiting()) != 2 {
		t.Errorf("%+v, %d wait", small.Route, len(s.Waiting()))
	}
	told(t, s.route("a", "small", `"pool":"p","model":"o1"`))
	if !s.HoldOpen("a", "small") {
		t.Error("the rules do not let the small one pass")
	}
}

// TestAPlaceIsForItsOwnPoolFirst: who waits elsewhere and may use it takes what is left.
func TestAPlaceIsForItsOwnPoolFirst(t *testing.T) {
	s := newScene(t)
	s.narrow()
	s.publish("quota.config.pool.q", `{"id":"q","name":"Q","provider":"custom","connections":[{"connectionId":"d","maxConcurrent":1}]}`)
	told(t, s.route("b", "r1", `"pool":"p"`))
	told(t, s.route("b", "r2", `"pool":"q"`))
	roams := s.route("a", "r1", `"candidates":[{"connectionId":"c"},{"connectionId":"d"}],"maxWaitMs":60000`)
	own := s.route("b", "r3", `"pool":"q","maxWaitMs":60000`)
	s.publish("quota.release", `{"apiKeyId":"b","requestId":"r2"}`)
	told(t, own)
	if len(roams.Done) != 0 {
		t.Fatal("both have one place")
	}
	s.publish("quota.release", `{"apiKeyId":"b","requestId":"r3"}`)
	if told(t, roams); roams.Route.ConnectionID != "d" {
		t.Errorf("%+v", roams.Route)
	}
}
