package decider

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// figure returns one counter with the label outcome.
func (r *running) figure(name, outcome string) float64 {
	r.t.Helper()
	registry := prometheus.NewRegistry()
	r.must(registry.Register(r.Metrics()))
	families, err := registry.Gather()
	r.must(err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && m.GetLabel()[0].GetValue() == outcome {
				return m.GetCounter().GetValue()
			}
		}
	}
	r.t.Fatalf("there is no %s of outcome %s", name, outcome)
	return 0
}

// TestBadQuestionsAreCounted: a question that cannot be read never gets to
// Decide, and is in the figures all the same.
func TestBadQuestionsAreCounted(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	for want, question := range []string{"hello", `{"apiKeyId":"a"}`, `{"apiKeyId":"a","pool":"none"}`} {
		if _, err := nc.RequestWithContext(r.within(), "quota.decide", []byte(question)); err != nil {
			t.Fatal(err)
		}
		if got := r.figure("quotashare_nats_total", "errors"); got != float64(want+1) {
			t.Errorf("%s: %v errors, want %d", question, got, want+1)
		}
	}
	if got := r.figure("quotashare_nats_total", "messages"); got != 3 {
		t.Errorf("%v messages, want 3", got)
	}
}
