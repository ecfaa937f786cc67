package decider

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/events"
)

// TestALogWithoutItsBeginningIsCounted: a state that began with an empty store and lacks
// what was purged.
func TestALogWithoutItsBeginningIsCounted(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	seq := r.usage(5)
	r.stop()
	stream, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(stream.Purge(t.Context(), jetstream.WithPurgeSequence(seq)))
	r = start(t, nc, t.TempDir()+"/state", nil)
	registry := prometheus.NewRegistry()
	r.must(registry.Register(r.Metrics()))
	families, err := registry.Gather()
	r.must(err)
	for _, f := range families {
		if f.GetName() == "quotashare_messages_missing_total" && f.GetMetric()[0].GetCounter().GetValue() == float64(seq-1) {
			return
		}
	}
	t.Errorf("%d missing messages are not counted", seq-1)
}
