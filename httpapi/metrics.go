package httpapi

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/tokens"
)

type metrics struct {
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	inFlight prometheus.Gauge
	events   *prometheus.CounterVec
}

// tookBounds are the buckets of how long answers take, seconds: a question is answered
// within the first ones, what reads the log takes tenths, and an audit minutes. There
// are few, because every route has all of them.
var tookBounds = []float64{100e-6, 250e-6, 1e-3, 5e-3, 25e-3, 0.1, 0.5, 2.5, 10, 60}

func newMetrics(c *Config) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quotashare_http_requests_total",
			Help: "HTTP requests answered, by route and status code.",
		}, []string{"route", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "quotashare_http_request_seconds", Buckets: tookBounds,
			Help: "From the headers of an HTTP request to the end of its answer, by route; without streams of what happens.",
		}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "quotashare_http_in_flight", Help: "HTTP requests that are being answered, streams included.",
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quotashare_http_events_total",
			Help: "Events that came over HTTP, by whether the log took them.",
		}, []string{"result"}),
	}
	all := []prometheus.Collector{m.requests, m.took, m.inFlight, m.events}
	if c.Tokens != nil {
		all = append(all, tokenMetrics(c.Tokens)...)
	}
	m.counted(0, 0) // what begins at 0 can be seen to grow
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

// begin counts a request in; end counts its answer. The route is a pattern of ours or
// "", never a caller's text, so the number of series is bounded.
func (m *metrics) begin() (end func(route string, status int)) {
	began := time.Now()
	m.inFlight.Inc()
	return func(route string, status int) {
		m.inFlight.Dec()
		if route == "" {
			route = "refused"
		}
		m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
		if route != watchRoute { // which lasts as long as somebody looks
			m.took.WithLabelValues(route).Observe(time.Since(began).Seconds())
		}
	}
}

// watchRoute is the route of streams of what happens.
const watchRoute = "GET /api/quota/stream"

// counted counts the events of one request.
func (m *metrics) counted(accepted, rejected int) {
	m.events.WithLabelValues("accepted").Add(float64(accepted))
	m.events.WithLabelValues("rejected").Add(float64(rejected))
}
