package decider

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
	"github.com/quotashare/quotashare/usage"
)

// series returns what a collector tells under the name, as in "c 5h 70",
// in order.
func series(t *testing.T, c prometheus.Collector, name string) []string {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			line := ""
			for _, l := range m.GetLabel() {
				line += l.GetValue() + " "
			}
			list = append(list, line+fmt.Sprint(m.GetGauge().GetValue()+m.GetCounter().GetValue()))
		}
	}
	slices.Sort(list)
	return list
}

func mustHave(t *testing.T, c prometheus.Collector, name string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, series(t, c, name)); diff != "" {
		t.Errorf("%s (- want, + got):\n%s", name, diff)
	}
}

// TestReadingsAreCountedByOutcome: each outcome in its own line, and both ways
// to roll over in one.
func TestReadingsAreCountedByOutcome(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	hour := int64(3_600_000)
	began := r.now() - hour
	for _, x := range []struct {
		window          string
		used, at, reset int64
	}{
		{"5h", 10, 0, 2 * hour},           // first
		{"5h", 20, 1, 2 * hour},           // advance
		{"5h", 21, 2, 2 * hour},           // advance
		{"5h", 22, 1, 2 * hour},           // stale
		{"5h", 20, 3, 2 * hour},           // noise
		{"5h", 0, 4, 2 * hour},            // early-reset
		{"5h", 30, 5, 3 * hour},           // moved
		{"5h", 5, 6, 2 * hour},            // older-window
		{"5h", 5, 7, 4 * hour},            // rollover: another window in its place
		{"hourly", 50, 0, 1},              // first
		{"hourly", 3, 1, hour},            // rollover: the reset came
		{"hourly", 4, 2, 2*hour + 3},      // advance of a far reset
		{"weekly", 4, 0, 2*7*24*hour + 1}, // first with a far reset
	} {
		r.publish("quota.saturation", fmt.Sprintf(`{"connectionId":"c","time":%d,"readings":[{"window":%q,"usedPercent":%d,"resetAt":%d}]}`,
			began+x.at, x.window, x.used, began+x.reset))
	}
	mustHave(t, r.Metrics(), "quotashare_readings_total",
		"stale 1", "first 3", "rollover 2", "moved 1", "older-window 1", "advance 3", "early-reset 1", "noise 1")
	mustHave(t, r.Metrics(), "quotashare_far_resets_total", "2")
}

func TestHeadersThatCannotBeReadAreCounted(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	for _, headers := range []string{
		`"x-codex-primary-used-percent":"much","x-codex-primary-window-minutes":"300"`,
		`"anthropic-ratelimit-unified-5h-utilization":"0.5","anthropic-ratelimit-unified-5h-reset":"soon"`,
		`"anthropic-ratelimit-unified-7d-utilization":"0.5","anthropic-ratelimit-unified-7d-reset":"later"`,
		`"anthropic-ratelimit-unified-5h-utilization":"0.5","anthropic-ratelimit-unified-5h-status":"tired"`,
	} {
		r.publish("quota.saturation", `{"connectionId":"c","headers":{`+headers+`}}`)
	}
	mustHave(t, r.Metrics(), "quotashare_header_faults_total", "number 1", "reset 2", "status 1", "window 0", "scope 0")
}

// TestSignalsAreShown: what stands has all figures, what does not only its age,
// and windows of some models have none, nor have connections that are in no pool.
func TestSignalsAreShown(t *testing.T) {
	nc := startLog(t, t.TempDir())
	clock := time.Now().UnixMilli()
	var late atomic.Int64
	r := start(t, nc, t.TempDir()+"/state", func(e *Engine) { e.now = func() int64 { return clock + late.Load() } })
	r.lanes(0, "b", "c", "gone", "silent")
	r.publish("quota.saturation", fmt.Sprintf(`[
		{"connectionId":"c","time":%d,"readings":[{"window":"5h","usedPercent":10,"resetAt":%d}]},
		{"connectionId":"b","time":%d,"readings":[{"window":"rate","usedPercent":104.5,"resetAt":%d}]},
		{"connectionId":"gone","time":%d,"readings":[{"window":"weekly","usedPercent":40}]},
		{"connectionId":"alone","readings":[{"window":"weekly","usedPercent":40}]},
		{"connectionId":"c","time":%d,"readings":[{"window":"5h","scope":"opus","usedPercent":90,"resetAt":%d}]}]`,
		clock-20_000, clock+600_000, clock-12_500, clock+600_000, clock-3_600_000, clock, clock+600_000))
	r.publish("quota.consumption", `{"apiKeyId":"a","connectionId":"c"}`)
	r.publish("quota.saturation", fmt.Sprintf(`{"connectionId":"c","time":%d,"readings":[{"window":"5h","usedPercent":70.25,"resetAt":%d}]}`, clock-10_000, clock+600_000))
	mustHave(t, r.Metrics(), "quotashare_provider_used_percent", "c 5h 70.25", "b rate 104.5")
	mustHave(t, r.Metrics(), "quotashare_drift_points", "c 5h 10", "b rate 104.5")
	mustHave(t, r.Metrics(), "quotashare_signal_age_seconds", "c 5h 10", "b rate 12.5", "gone weekly 3600")
	mustHave(t, r.Metrics(), "quotashare_signal_connections_left_out", "1")
	late.Store(600_000) // the resets have come
	mustHave(t, r.Metrics(), "quotashare_provider_used_percent")
	mustHave(t, r.Metrics(), "quotashare_drift_points")
	mustHave(t, r.Metrics(), "quotashare_signal_age_seconds", "c 5h 610", "b rate 612.5", "gone weekly 4200")
	late.Store(-60_000) // a gateway's clock is ahead
	mustHave(t, r.Metrics(), "quotashare_signal_age_seconds", "c 5h 0", "b rate 0", "gone weekly 3540")
}

// TestTheDocumentNamesEveryFigure: whoever sees one finds out what it means.
func TestTheDocumentNamesEveryFigure(t *testing.T) {
	page, err := os.ReadFile("../docs/READINGS.md")
	if err != nil {
		t.Fatal(err)
	}
	words := []string{
		"quotashare_readings_total{outcome}", "quotashare_header_faults_total{problem}", "quotashare_far_resets_total",
		"quotashare_provider_used_percent{connection, window}", "quotashare_drift_points{connection, window}",
		"quotashare_signal_age_seconds{connection, window}", "quotashare_signal_connections_left_out",
	}
	for _, problem := range projector.Problems {
		words = append(words, string(problem))
	}
	for i := range words {
		words[i] = "`" + words[i] + "`"
	}
	for i := range len(projector.Counts{}.ByOutcome) {
		words = append(words, "\n| `"+saturation.Outcome(i).String()+"` | ") // a row of the table
	}
	for _, w := range words {
		if !strings.Contains(string(page), w) {
			t.Errorf("docs/READINGS.md does not tell of %s", w)
		}
	}
}

// TestAnswersExplainTheSignal: how old it is, and who caused its points, as the
// usage of the same instant has it; nothing of that where there is none.
func TestAnswersExplainTheSignal(t *testing.T) {
	nc := startLog(t, t.TempDir())
	clock := time.Now().UnixMilli()
	r := start(t, nc, t.TempDir()+"/state", func(e *Engine) { e.now = func() int64 { return clock } })
	p := team("p", "b")
	p.Connections = append(p.Connections, plans.Connection{ConnectionID: "c", Weight: 100})
	_, err := r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
	explained := aboutAlice
	explained.Explain = true
	silent := r.ask(explained)
	if d := silent.Dimensions[0]; d.HasProvider || d.ObservedAt != 0 || d.HasSplit {
		t.Errorf("before the provider spoke: %+v", d)
	}
	says := func(connectionID string, ago int64, used string) {
		r.publish("quota.saturation", fmt.Sprintf(`{"connectionId":%q,"time":%d,"readings":[{"window":"hourly","usedPercent":%s,"resetAt":%d}]}`,
			connectionID, clock-ago, used, clock+600_000))
	}
	says("c", 20_000, "10")
	r.publish("quota.consumption", `{"apiKeyId":"bob","connectionId":"c"}`)
	says("c", 10_000, "70.25")
	says("b", 5_000, "100")
	u, err := r.Usage(r.within(), "p")
	r.must(err)
	at := slices.IndexFunc(u.Dimensions, func(d usage.Dimension) bool { return d.Window == quota.Hourly })
	for conn, q := range []questions.Question{
		{APIKeyID: "alice", ConnectionID: "b", Explain: true}, explained, {APIKeyID: "alice", Pool: "p", Explain: true},
	} {
		d := r.ask(q).Dimensions[at]
		got := usage.Connection{ProviderUsed: d.ProviderUsed, HasProvider: d.HasProvider, ResetAt: d.ResetAt, Observed: d.ObservedAt}
		got.Split = usage.Split{HasSplit: d.HasSplit, Attributed: d.Attributed, Unattributed: d.Unattributed}
		want := u.Dimensions[at].Connections[min(conn, 1)] // b is full, so c answers for the pool
		want.ID, want.Limit, want.ConsumedTotal = "", 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (- usage, + explained):\n%s", q, diff)
		}
	}
	if d := r.ask(explained).Dimensions[at]; d.ObservedAt != clock-10_000 || d.Attributed != 60_250_000 || d.Unattributed != 10_000_000 {
		t.Errorf("explained: %+v", d)
	}
}
