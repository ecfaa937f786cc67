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
