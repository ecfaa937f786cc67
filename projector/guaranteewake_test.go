package projector_test

import "testing"

// TestWhoYieldsIsLookedAtWhenAnotherBegins: under the rule guarantee headroom is left for
// one key that has used something in the period and for one that has not. When the only
// one that had not begins, less is left, so who waits may pass by what another key uses.
func TestWhoYieldsIsLookedAtWhenAnotherBegins(t *testing.T) {
	s := newScene(t)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","rule":"guarantee","reserve":0,"connections":[{"connectionId":"c","maxConcurrent":1}],
		"allocations":[{"apiKeyId":"a","weight":30,"policy":"hard"},{"apiKeyId":"b","weight":30,"policy":"hard"},{"apiKeyId":"d","weight":30,"policy":"hard"}]}`)
	s.plan("c", "tokens", "5h", "1000")
	s.use("a", "c", `"tokens":320`)
	s.use("d", "c", `"tokens":1`)
	s.taken("c")
	waits := s.ask("a", "waits", `"pool":"p"`, 1)
	s.use("nobody", "c", `"tokens":639`)
	s.publish("quota.release", `{"apiKeyId":"b","requestId":"c"}`)
	if len(waits.Done) != 0 || len(s.Waiting()) != 1 {
		t.Fatalf("320/16 + 319/16 of 1000 are left for b and d, and 960 used: %+v", waits.Route)
	}
	s.use("b", "c", `"tokens":1`)
	if len(waits.Done) == 0 {
		t.Fatal("now 319/16 are left for one of them, and nobody looks")
	}
	if told(t, waits); !waits.Held {
		t.Errorf("it is refused: %+v", waits.Route)
	}
}
