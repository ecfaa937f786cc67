package fakeprovider

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
)

// TestHeadersAreUnderstood: what is told of limits is what saturation reads,
// without a fault.
func TestHeadersAreUnderstood(t *testing.T) {
	const how = BehaviourHeader + ": prompt=20&completion=5"
	tests := []struct {
		api      dialect.API
		provider string
		body     string
		want     []string
	}{
		{
			dialect.Messages, "anthropic", `{"model":"m","max_tokens":50}`,
			[]string{"5h 12.5% resets 18000 s", "weekly 2.5% resets 604800 s", "rate 50% resets 60 s"},
		},
		{
			dialect.Responses, "codex", `{"model":"m"}`,
			[]string{"5h 12.5% resets 18000 s", "weekly 2.5% resets 604800 s", "rate 50% resets 60 s"},
		},
		{dialect.Chat, "openai", `{"model":"m"}`, []string{"rate 50% resets 60 s"}},
	}
	for _, tt := range tests {
		rig := newRig(t, Options{Limits: Limits{RequestsPerMinute: 10, TokensPerMinute: 50, TokensPer5h: 200, TokensPerWeek: 1000}})
		rig.ask(t, tt.api, tt.body, how)
		a := rig.ask(t, tt.api, tt.body, how)
		headers := map[string]string{}
		for name := range a.header {
			headers[name] = a.header.Get(name)
		}
		readings, faults := saturation.FromHeaders(tt.provider, a.status, headers, start.UnixMilli())
		var got []string
		for _, r := range readings {
			got = append(got, fmt.Sprintf("%v %v%% resets %d s", r.Window, float64(r.UsedPercent)/float64(quota.Percent.Scale()), (r.ResetAt-start.UnixMilli())/1000))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || len(faults) > 0 {
			t.Errorf("%v (-want +got), faults %v:\n%s", tt.api, faults, diff)
		}
	}
}

// TestNoLimits: none is told of, and none refuses.
func TestNoLimits(t *testing.T) {
	rig := newRig(t, Options{})
	for range 50 {
		a := rig.ask(t, dialect.Chat, `{"model":"m"}`, BehaviourHeader+": prompt=1000000")
		if a.status != 200 || a.header.Get("X-Ratelimit-Limit-Tokens") != "" || a.header.Get("X-Ratelimit-Limit-Requests") != "" {
			t.Fatalf("%d, %v", a.status, a.header)
		}
	}
}
