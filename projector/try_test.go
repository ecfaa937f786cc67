package projector_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
)

// TestATrialIsOfLogTimeAtLeast: a caller whose clock is behind judges what the log
// knows, as with every answer, and not a past that is gone.
func TestATrialIsOfLogTimeAtLeast(t *testing.T) {
	s := newScene(t)
	s.plan("c", "tokens", "hourly", "1000")
	s.pool(`"c"`, `,"allocations":[{"apiKeyId":"alice","weight":90},{"apiKeyId":"bob","weight":10}]`)
	s.use("alice", "c", `"tokens":800`)
	now, ok := s.Pool("p")
	if !ok {
		t.Fatal("there is no pool")
	}
	less := *now.Doc
	less.Allocations = []plans.Allocation{{APIKeyID: "alice", Weight: 10 * quota.RatioOne}, now.Doc.Allocations[1]}
	draft := projector.Draft{PoolID: "p", Pool: &less}
	want, _ := s.Try(&draft, s.now)
	got, _ := s.Try(&draft, s.now-1_800_000)
	if len(want) != 1 || want[0].RetryAfterMs <= 0 {
		t.Fatalf("would block %+v, want alice for some time", want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with a clock half an hour behind (-want +got):\n%s", diff)
	}
}

// TestATrialOfTheRuleGuarantee: a draft may name keys that nobody has seen. They used
// nothing, and what the others used stays theirs, wherever they stand in the document.
func TestATrialOfTheRuleGuarantee(t *testing.T) {
	s := newScene(t)
	s.plan("c", "tokens", "hourly", "1000")
	s.pool(`"c"`, `,"allocations":[{"apiKeyId":"alice","weight":50},{"apiKeyId":"bob","weight":50}]`)
	s.use("bob", "c", `"tokens":900`)
	now, ok := s.Pool("p")
	if !ok {
		t.Fatal("there is no pool")
	}
	for _, keys := range [][]string{{"new", "*", "alice", "bob"}, {"bob", "alice", "*", "new"}, {"alice", "new", "bob"}} {
		next := *now.Doc
		next.Rule, next.Reserve, next.Allocations = plans.Guarantee, 100, nil
		for _, key := range keys {
			next.Allocations = append(next.Allocations, plans.Allocation{APIKeyID: key, Weight: 10 * quota.RatioOne})
		}
		blocked, freed := s.Try(&projector.Draft{PoolID: "p", Pool: &next}, s.now)
		if len(blocked) != 0 || len(freed) != 1 || freed[0].APIKeyID != "bob" {
			t.Errorf("of %v: blocked %+v, freed %+v", keys, blocked, freed)
		}
	}
}
