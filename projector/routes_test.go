package projector_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// route publishes a hold that leaves the connection open; rest is what it says of
// where, and how long it may wait.
func (s *scene) route(key, request, rest string) *projector.Expected {
	s.Helper()
	id := fmt.Sprint("h", s.seq+1)
	x := expect(s.State, id)
	s.publish("quota.hold", fmt.Sprintf(`{"id":%q,"apiKeyId":%q,"requestId":%q,%s,"leaseMs":60000,"estimate":{},"decisionId":%[1]q}`, id, key, request, rest))
	return x
}

// narrow puts a pool of one connection that takes one request at a time.
func (s *scene) narrow() {
	s.Helper()
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","maxConcurrent":1}]}`)
}

// TestWhoWaitsForAConnectionIsToldOnce: when it passes or its wait is over, as what
// happened after a message; and never, when he gave up before.
func TestWhoWaitsForAConnectionIsToldOnce(t *testing.T) {
	s := newScene(t)
	s.narrow()
	first := s.route("a", "r1", `"pool":"p","maxWaitMs":60000`)
	told(t, first)
	waits, gone, late := s.route("a", "r2", `"pool":"p","maxWaitMs":60000`), s.route("a", "r3", `"pool":"p","maxWaitMs":60000`), s.route("a", "r4", `"pool":"p","maxWaitMs":60000`)
	if len(waits.Done)+len(gone.Done)+len(late.Done) != 0 {
		t.Fatal("who waits is told something")
	}
	if s.Unexpect(gone) {
		t.Error("who gives up while it waits is told that there is a verdict")
	}
	s.publish("quota.release", `{"apiKeyId":"a","requestId":"r1"}`)
	told(t, waits)
	if waits.Seq != s.seq || waits.Index != questions.FromView || !waits.Held || !waits.Route.Waited || waits.Route.ConnectionID != "c" {
		t.Errorf("told of (%d, %d), held %t, %+v", waits.Seq, waits.Index, waits.Held, waits.Route)
	}
	if !s.Unexpect(waits) {
		t.Error("who gives up after the verdict is told that there is none")
	}
	s.publish("quota.release", `{"apiKeyId":"a","requestId":"r2"}`)
	if len(gone.Done) != 0 || !s.HoldOpen("a", "r3") {
		t.Errorf("who gave up is told %d times, held %t", len(gone.Done), s.HoldOpen("a", "r3"))
	}
	s.now += 60_000 - 1
	s.publish("quota.due", "{}")
	if len(late.Done) != 0 {
		t.Fatal("told a millisecond before the wait is over")
	}
	s.now++
	s.publish("quota.due", "{}")
	told(t, late)
	a := late.Asked.Facts.Decide(late.Asked.Now)
	if a.Allowed() || late.Held || late.Route.ConnectionID != "" || late.Route.FreeAt != s.now || a.RetryMs != 1 || a.Scope != "connection" {
		t.Errorf("there is room as the wait ends, and it is told %s (%s) for %d ms, %+v", a.Reason, a.Scope, a.RetryMs, late.Route)
	}
	if got, want := s.Counts().Holds, (projector.HoldCounts{Opened: 3, Released: 2, Expired: 1, Waited: 3, Granted: 2, TimedOut: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestThereIsRoomForSoManyThatWait: they count with those that are held.
func TestThereIsRoomForSoManyThatWait(t *testing.T) {
	s := newScene(t)
	s.SetMaxHolds(2)
	s.narrow()
	s.publish("quota.config.pool.q", `{"id":"q","name":"Q","provider":"custom","connectionIds":["d"]}`)
	told(t, s.route("a", "r1", `"pool":"p"`))
	s.route("a", "r2", `"pool":"p","maxWaitMs":30000`)
	for what, x := range map[string]*projector.Expected{
		"one that would wait": s.route("a", "r3", `"pool":"p","maxWaitMs":90000`), "one that would pass": s.route("a", "r4", `"pool":"q"`),
	} {
		told(t, x)
		a := x.Asked.Facts.Decide(x.Asked.Now)
		if a.Reason.String() != "capacity" || a.Scope != "" || x.Held || x.Route.ConnectionID != "" {
			t.Errorf("%s: %s (%s), %+v", what, a.Reason, a.Scope, x.Route)
		}
		if want := start + int64(30_000); what == "one that would pass" && x.Route.FreeAt != want {
			t.Errorf("%s: room at %d, want %d", what, x.Route.FreeAt, want)
		}
	}
	s.publish("quota.release", `{"apiKeyId":"a","requestId":"r1"}`)
	if n := s.Holds(); n.Open != 1 || len(s.Waiting()) != 0 {
		t.Errorf("%d are held and %d wait, want 1 and 0", n.Open, len(s.Waiting()))
	}
	told(t, s.route("a", "r2", `"pool":"q"`))
	if !s.HoldOpen("a", "r2") {
		t.Error("a hold that is replaced makes no room")
	}
}

// TestCandidatesAreShown as they are without the one that asks.
func TestCandidatesAreShown(t *testing.T) {
	s := newScene(t)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","maxConcurrent":1},{"connectionId":"d"}]}`)
	s.route("a", "r1", `"candidates":[{"connectionId":"c"}]`)
	s.route("a", "r2", `"candidates":[{"connectionId":"d"}]`)
	s.route("a", "r3", `"candidates":[{"connectionId":"e"}]`)
	of := `"candidates":[{"connectionId":"c"},{"connectionId":"d"},{"connectionId":"e"}]`
	for request, want := range map[string][]questions.RouteCandidate{
		"r1": {{ConnectionID: "c", Order: 1, MaxConcurrent: 1}, {ConnectionID: "d", Order: 2, InFlight: 1}, {ConnectionID: "e", Order: 3, InFlight: 1}},
		"r3": {{ConnectionID: "d", Order: 1, InFlight: 1}, {ConnectionID: "e", Order: 2}, {ConnectionID: "c", Order: 3, Gate: "capacity", InFlight: 1, MaxConcurrent: 1}},
	} {
		q := questions.Question{APIKeyID: "a", RequestID: request, Reserve: true}
		for _, c := range []string{"c", "d", "e"} {
			q.Candidates = append(q.Candidates, questions.Candidate{ConnectionID: c})
		}
		var a projector.Asked
		var r projector.Route
		s.GatherRoute(&q, s.now, &a, &r)
		if d := cmp.Diff(want, r.Candidates); d != "" {
			t.Errorf("%s (-want +got):\n%s", request, d)
		}
	}
	if x := s.route("a", "r1", of); x.Route.ConnectionID != "c" || x.Route.Candidates[0].InFlight != 0 {
		t.Errorf("%+v", x.Route)
	}
}

// TestWhoRenewsWaitsForOthersAlone: after a change of the pool more are in flight than
// the connection takes, and it is the end of another that makes room.
func TestWhoRenewsWaitsForOthersAlone(t *testing.T) {
	s := newScene(t)
	s.hold("a", "r1", "c", 60_000, "")
	s.hold("a", "r2", "c", 30_000, "")
	s.narrow()
	asked := make([]projector.Asked, 1)
	for request, want := range map[string]int64{"r1": 30_000, "r2": 60_000, "r3": 60_000} {
		for _, later := range []int64{0, 29_999} {
			s.Gather([]questions.Question{{APIKeyID: "a", ConnectionID: "c", RequestID: request, Reserve: true}}, s.now+later, asked)
			if a := asked[0].Facts.Decide(asked[0].Now); a.Allowed() || a.RetryMs != want-later {
				t.Errorf("%s after %d ms: %s for %d ms, want %d", request, later, a.Reason, a.RetryMs, want-later)
			}
		}
	}
	s.Gather([]questions.Question{{APIKeyID: "a", ConnectionID: "c", RequestID: "r1", Reserve: true}}, s.now+30_000, asked)
	if a := asked[0].Facts.Decide(asked[0].Now); !a.Allowed() {
		t.Errorf("%s as the other one is over", a.Reason)
	}
}

// TestLocalHoldsTakePlaces on the view, and not in the fold; that of the request itself
// takes none.
func TestLocalHoldsTakePlaces(t *testing.T) {
	s := newScene(t)
	s.Locals = new(projector.Locals)
	s.narrow()
	one := quota.Amounts{quota.Requests: 1_000}
	s.Locals.Add(&projector.LocalHold{ID: "x", APIKeyID: "b", ConnectionID: "c", RequestID: "r", Amounts: one, End: s.now + 60_000, Own: true}, s.now)
	for _, c := range []struct {
		key     string
		now     int64
		want    string
		retryMs int64
	}{{"a", s.now, "", 60_000}, {"b", s.now, "c", 0}, {"a", s.now + 59_999, "", 1}, {"a", s.now + 60_000, "c", 0}} {
		q := questions.Question{APIKeyID: c.key, Pool: "p", RequestID: "r", Reserve: true}
		var a projector.Asked
		var r projector.Route
		s.GatherRoute(&q, c.now, &a, &r)
		if d := a.Facts.Decide(a.Now); r.ConnectionID != c.want || d.RetryMs != c.retryMs || c.want == "" && r.FreeAt != s.now+60_000 {
			t.Errorf("%s at %d: %+v, again in %d ms", c.key, c.now, r, d.RetryMs)
		}
	}
	x := s.route("a", "r1", `"pool":"p"`)
	if told(t, x); x.Route.ConnectionID != "c" || !x.Held {
		t.Errorf("the fold says %+v", x.Route)
	}
}

// TestARequestWaitsInOneBacklog: a request that moves from one backlog to
// another leaves nothing behind.
func TestARequestWaitsInOneBacklog(t *testing.T) {
	s := newScene(t)
	s.narrow()
	s.publish("quota.config.pool.q", `{"id":"q","name":"Q","provider":"custom","connections":[{"connectionId":"d","maxConcurrent":1}]}`)
	s.route("a", "r1", `"pool":"p"`)
	s.route("a", "r2", `"pool":"q"`)
	left := s.route("a", "r3", `"pool":"p","maxWaitMs":60000`)
	moved := s.route("a", "r3", `"pool":"q","maxWaitMs":60000`)
	told(t, left)
	if len(moved.Done) != 0 || len(s.Waiting()) != 1 || s.Waiting()[0].Pool != "q" {
		t.Fatalf("%+v waits", s.Waiting())
	}
	s.publish("quota.release", `{"apiKeyId":"a","requestId":"r1"}`)
	s.publish("quota.release", `{"apiKeyId":"a","requestId":"r3","decisionId":"`+left.ID+`"}`)
	if len(moved.Done) != 0 {
		t.Fatal("the release of another decision ends it")
	}
	s.publish("quota.release", `{"apiKeyId":"a","requestId":"r3","decisionId":"`+moved.ID+`"}`)
	told(t, moved)
	if moved.Held || s.Due() != routing.Never {
		t.Errorf("held %t, due at %d", moved.Held, s.Due())
	}
}

// TestTheOrderOutlivesRestarts: who came before one stays before those that come after
// it, and after the next.
func TestTheOrderOutlivesRestarts(t *testing.T) {
	s := newScene(t)
	s.narrow()
	s.route("a", "r1", `"pool":"p"`)
	var want [][16]byte
	for i := range 6 {
		request := fmt.Sprint("waits ", i)
		s.route("a", request, `"pool":"p","maxWaitMs":60000`)
		want = append(want, projector.RequestOf("a", request))
		if i%2 == 1 {
			cut(t, s.State, s.store)
			s.State = load(t, s.store)
		}
	}
	var got [][16]byte
	for _, w := range s.Waiting() {
		got = append(got, w.Request)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("who waits (-want +got):\n%s", d)
	}
}
