package projector_test

import (
	"fmt"
	"testing"
)

// TestWhatIsWantedOutlivesRestarts: who wants another connection than the first of its
// key goes before it after a restart too.
func TestWhatIsWantedOutlivesRestarts(t *testing.T) {
	s := newScene(t)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","maxConcurrent":1},{"connectionId":"d","maxConcurrent":1}]}`)
	s.taken("c", "d")
	s.ask("a", "first", `"candidates":[{"connectionId":"c"}]`, 1)
	s.ask("a", "second", `"candidates":[{"connectionId":"d"}]`, 1)
	s.ask("a", "third", `"candidates":[{"connectionId":"d"}]`, 1)
	s.restart()
	s.publish("quota.release", `{"apiKeyId":"b","requestId":"d"}`)
	if !s.HoldOpen("a", "second") || len(s.Waiting()) != 2 {
		t.Errorf("%d wait", len(s.Waiting()))
	}
}

// taken lets key b hold connections.
func (s *scene) taken(connections ...string) {
	s.Helper()
	for _, c := range connections {
		told(s, s.route("b", c, fmt.Sprintf(`"candidates":[{"connectionId":%q}]`, c)))
	}
}

// TestNobodyIsBehindOneOfAPool for a connection that has left the pool.
func TestNobodyIsBehindOneOfAPool(t *testing.T) {
	s := newScene(t)
	s.narrow()
	s.taken("c", "e")
	s.ask("a", "first", `"pool":"p"`, 1)
	second := s.ask("a", "second", `"candidates":[{"connectionId":"c"}]`, 1)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"e","maxConcurrent":1}]}`)
	if told(t, second); second.Route.ConnectionID != "c" || len(s.Waiting()) != 1 {
		t.Errorf("%+v, %d wait", second.Route, len(s.Waiting()))
	}
}

// TestBehindOneOfItsModel a small request stays, though it is for another choice of
// connections and the cap that keeps the large one back lets it pass.
func TestBehindOneOfItsModel(t *testing.T) {
	s := newScene(t)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","maxConcurrent":1}],
		"modelCaps":[{"apiKeyId":"a","model":"gpt","capUnit":"tokens","capValue":100}]}`)
	s.taken("c")
	s.ask("a", "large", `"pool":"p","model":"gpt"`, 60)
	small := s.ask("a", "small", `"candidates":[{"connectionId":"c"}],"model":"gpt"`, 1)
	s.publish("quota.consumption", `{"apiKeyId":"a","requestId":"r0","connectionId":"c","model":"gpt","cost":{"tokens":50}}`)
	s.publish("quota.release", `{"apiKeyId":"b","requestId":"c"}`)
	if len(small.Done) != 0 || len(s.Waiting()) != 2 {
		t.Fatalf("%+v, %d wait", small.Route, len(s.Waiting()))
	}
	s.publish("quota.release", `{"apiKeyId":"a","requestId":"large"}`)
	if told(t, small); !small.Held {
		t.Error("the rules do not let the small one pass")
	}
}

// TestBehindVeryMany: who comes when more of its key wait than are looked at waits as
// well.
func TestBehindVeryMany(t *testing.T) {
	s := newScene(t)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","maxConcurrent":1},{"connectionId":"d"}]}`)
	s.taken("c")
	for i := range 65 {
		if i == 64 {
			told(t, s.ask("a", "early", `"candidates":[{"connectionId":"d"}]`, 1))
		}
		s.ask("a", fmt.Sprint("waits ", i), `"candidates":[{"connectionId":"c"}]`, 1)
	}
	late := s.ask("a", "late", `"candidates":[{"connectionId":"d"}]`, 1)
	if len(late.Done) != 0 || len(s.Waiting()) != 66 {
		t.Fatalf("%+v", late.Route)
	}
	s.publish("quota.release", `{"apiKeyId":"a","requestId":"waits 7"}`)
	if len(late.Done) != 0 {
		t.Fatal("it is the 65th")
	}
	s.publish("quota.release", `{"apiKeyId":"a","requestId":"waits 64"}`)
	if told(t, late); !late.Held || len(s.Waiting()) != 63 {
		t.Errorf("%+v", late.Route)
	}
}

// TestBehindOneInAnotherBacklog: a small request that roams does not use up in the other
// pool what an earlier large one of its key waits for there.
func TestBehindOneInAnotherBacklog(t *testing.T) {
	for _, first := range []string{"large", "small"} {
		s := newScene(t)
		s.narrow()
		s.publish("quota.config.pool.q", `{"id":"q","name":"Q","provider":"custom","connections":[{"connectionId":"d","maxConcurrent":1}],
			"allocations":[{"apiKeyId":"a","weight":50,"policy":"hard"},{"apiKeyId":"b","weight":50,"policy":"hard"}]}`)
		s.plan("d", "tokens", "hourly", "100")
		s.taken("c", "d")
		for _, request := range []string{first, map[string]string{"large": "small", "small": "large"}[first]} {
			if request == "large" {
				s.ask("a", "large", `"pool":"q","model":"gpt"`, 60)
			} else {
				s.ask("a", "small", `"candidates":[{"connectionId":"c"},{"connectionId":"d"}],"model":"o1"`, 1)
			}
		}
		s.use("a", "d", `"tokens":45`)
		s.publish("quota.release", `{"apiKeyId":"b","requestId":"d"}`)
		if s.HoldOpen("a", "small") != (first == "small") || s.HoldOpen("a", "large") {
			t.Errorf("%s came first, the small one has a place: %t", first, s.HoldOpen("a", "small"))
		}
		s.publish("quota.release", `{"apiKeyId":"a","requestId":"large"}`)
		if !s.HoldOpen("a", "small") {
			t.Errorf("%s came first, the small one waits for nobody", first)
		}
	}
}

// TestWhoWaitsHasRoom: when no more holds may be open, those that wait are among them. So
// one that the rules keep back passes when they let it, and not when another hold ends.
func TestWhoWaitsHasRoom(t *testing.T) {
	s := newScene(t)
	s.narrow()
	s.plan("c", "percent", "5h", "100")
	s.taken("c", "d")
	waits := s.ask("a", "waits", `"pool":"p"`, 1)
	s.publish("quota.saturation", `{"connectionId":"c","readings":[{"window":"5h","usedPercent":100}]}`)
	s.SetMaxHolds(2)
	s.publish("quota.release", `{"apiKeyId":"b","requestId":"c"}`)
	if due := s.Due(); due != start+30_000 {
		t.Errorf("due after %d ms, want 30000", due-start)
	}
	s.now += 30_000
	s.publish("quota.due", "{}")
	if told(t, waits); !waits.Held || !waits.Asked.Facts.Decide(waits.Asked.Now).Allowed() {
		t.Errorf("%+v", waits.Route)
	}
}

// TestScoresDoNotDependOnRoom: who is above its share is told so when no hold may be
// opened either.
func TestScoresDoNotDependOnRoom(t *testing.T) {
	s := newScene(t)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connectionIds":["c"],"allocations":[{"apiKeyId":"a","weight":50,"policy":"soft"}]}`)
	s.plan("c", "tokens", "hourly", "100")
	s.use("a", "c", `"tokens":80`)
	for _, most := range []int{9, 0} {
		s.SetMaxHolds(most)
		x := s.route("a", fmt.Sprint(most), `"candidates":[{"connectionId":"c","score":1}]`)
		if told(t, x); x.Held != (most > 0) || x.Route.Candidates[0].Score.String() != "0.7" {
			t.Errorf("room for %d: held %t, %+v", most, x.Held, x.Route.Candidates)
		}
	}
}
