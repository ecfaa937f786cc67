package httpapi

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/tokens"
)

type metrics struct {
	requests *prometheus.CounterVec
	events   *prometheus.CounterVec
}

func newMetrics(c *Config) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quotashare_http_requests_total",
			Help: "HTTP requests answered, by route and status code.",
		}, []string{"route", "code"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quotashare_http_events_total",
			Help: "Events that came over HTTP, by whether the log took them.",
		}, []string{"result"}),
	}
	all := []prometheus.Collector{m.requests, m.events}
	if c.Tokens != nil {
		all = append(all, tokenMetrics(c.Tokens)...)
	}
	for _, one := range all {
		if err := c.Registry.Register(one); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// tokenMetrics are those of a token file, read when somebody asks.
func tokenMetrics(f *tokens.File) (all []prometheus.Collector) {
	for _, r := range tokens.Roles() {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "quotashare_http_tokens", Help: "Tokens in the token file, by role.", ConstLabels: prometheus.Labels{"role": r.String()},
		}, func() float64 { return float64(f.Count(r)) }))
	}
	return append(all,
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "quotashare_http_token_file_troubles_total", Help: "Times that the token file was of no use, and the last good one stayed in force.",
		}, func() float64 { _, times := f.Trouble(); return float64(times) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "quotashare_http_token_file_in_trouble", Help: "Whether the token file is of no use now.",
		}, func() float64 {
			if now, _ := f.Trouble(); now == "" {
				return 0
			}
			return 1
		}))
}

// answered counts one answer. The route is a pattern of ours or "", never a
// caller's text, so the number of series is bounded.
func (m *metrics) answered(route string, status int) {
	if route == "" {
		route = "refused"
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

// counted counts the events of one request.
func (m *metrics) counted(accepted, rejected int) {
	m.events.WithLabelValues("accepted").Add(float64(accepted))
	m.events.WithLabelValues("rejected").Add(float64(rejected))
}
