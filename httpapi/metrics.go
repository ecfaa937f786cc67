package httpapi

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	requests *prometheus.CounterVec
	events   *prometheus.CounterVec
}

func newMetrics(reg *prometheus.Registry) (*metrics, error) {
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
	for _, c := range []prometheus.Collector{m.requests, m.events} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
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
