package projector_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// TestReachOfADraft: what each key could use is worked out under the plan and the
// threshold in force, page by page, whatever was used; nothing is written.
func TestReachOfADraft(t *testing.T) {
	s := newScene(t)
	s.plan("c", "requests", "hourly", "1000")
	s.use("ann", "c", `"requests":900`)
	s.publish("quota.config.settings", `{"values":{"saturationThreshold":{"value":0.25,"source":"stored"}}}`)
	doc, err := wire.ParseJSON([]byte(`{"name":"Draft","provider":"custom","connectionIds":["c","other"],"reserve":50,
		"allocations":[{"apiKeyId":"ann","weight":50},{"apiKeyId":"bob","weight":30},{"apiKeyId":"*","weight":20}]}`))
	if err != nil {
		t.Fatal(err)
	}
	draft, faults := plans.ParsePool("", doc)
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		offset, limit int
		want          string
	}{
		{0, 9, "ann 1000.001/1500.002 bob 600.001/1300.002 * 500/1200.002 "},
		{1, 1, "bob 600.001/1300.002 "},
		{3, 1, ""},
		{9, 9, ""},
	} {
		r, err := s.Reach(t.Context(), draft, c.offset, c.limit)
		if err != nil || r.Total != 3 || len(r.Dimensions) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		got := ""
		for _, k := range r.Dimensions[0].Keys {
			if k.Guarantee.ByEnd != r.Dimensions[0].Limit || k.Threshold.ByEnd != k.Threshold.AtOnce {
				t.Errorf("%+v", k)
			}
			got += fmt.Sprintf("%s %s/%s ", k.ID, k.Threshold.AtOnce.Append(nil, quota.Requests), k.Guarantee.AtOnce.Append(nil, quota.Requests))
		}
		if got != c.want {
			t.Errorf("from %d, %d of them: %q, want %q", c.offset, c.limit, got, c.want)
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Reach(gone, draft, 0, 9); !errors.Is(err, context.Canceled) {
		t.Errorf("for a caller that is gone: %v", err)
	}
}
