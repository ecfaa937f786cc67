package httpapi

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// BenchmarkIngest is everything but the network and the log.
func BenchmarkIngest(b *testing.B) {
	const n = 10_000
	var lines []string
	for i := range n {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf(goodLine, i)))
	}
	for _, c := range []struct{ name, contentType, body string }{
		{"array", "application/json", "[" + strings.Join(lines, ",") + "]"},
		{"ndjson", "application/x-ndjson", strings.Join(lines, "\n")},
		{"typed", "application/json", "[" + strings.ReplaceAll(strings.Join(lines, ","), `{"id"`, `{"type":"quota.consumption","id"`) + "]"},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := newDouble()
			d.discard = true
			h, err := New(Config{Engine: d, Publisher: d, Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", "http://localhost/api/quota/events", strings.NewReader(c.body))
				r.Header.Set("Content-Type", c.contentType)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != 200 {
					b.Fatal(w.Body.String())
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
