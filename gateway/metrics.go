package gateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/dialect"
)

const namespace = "quotashare_gateway_"

// metrics are the gateway's figures.
type metrics struct {
	requests  *prometheus.CounterVec
	inFlight  prometheus.Gauge
	firstByte *prometheus.HistogramVec
	decision  prometheus.Histogram
}

func newMetrics(reg *prometheus.Registry, c *client.Client) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "requests_total",
			Help: "Requests answered, by path and status; 499 is a client that left before, and one that has no name is 2xx to 5xx.",
		}, []string{"path", "code"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: namespace + "in_flight", Help: "Requests in progress, streams included.",
		}),
		firstByte: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: namespace + "first_byte_seconds", Help: "Time from a request to the first byte of its answer's body, by path.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18), // 1 ms to 131 s
		}, []string{"path"}),
		decision: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: namespace + "decision_seconds", Help: "From a call in hand to what is known of its quota: reading its body, asking, and waiting for room.",
			Buckets: []float64{0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120},
		}),
	}
	for _, one := range []prometheus.Collector{m.requests, m.inFlight, m.firstByte, m.decision, statsOf{c}} {
		if err := reg.Register(one); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// asking measures how long it takes until it is known whether a call may go on: it ends
// where the call goes to its provider, or comes back without that.
type asking struct {
	http.RoundTripper
	m *metrics
}

// RoundTrip implements http.RoundTripper.
func (a asking) RoundTrip(r *http.Request) (*http.Response, error) {
	c := callOf(r.Context())
	if c.api.Metered() {
		began := time.Now()
		c.known = func() { a.m.decision.Observe(time.Since(began).Seconds()) }
	}
	defer c.decided()
	return a.RoundTripper.RoundTrip(r)
}

// decided says that it is known, the first time.
func (c *call) decided() {
	if c.known != nil {
		c.known()
		c.known = nil
	}
}

// recorder sees an answer pass.
type recorder struct {
	http.ResponseWriter
	m      *metrics
	path   string
	came   time.Time
	status int // 0 = none has begun
	wrote  bool
}

// begin counts a request in. Its path is one of ours or "other", never a client's text,
// so that the number of series is bounded.
func (m *metrics) begin(w http.ResponseWriter, api dialect.API) *recorder {
	m.inFlight.Inc()
	path := "other"
	if api != 0 {
		path = api.String()
	}
	return &recorder{ResponseWriter: w, m: m, path: path, came: time.Now()}
}

func (rec *recorder) end() {
	rec.m.inFlight.Dec()
	rec.m.requests.WithLabelValues(rec.path, codeOf(rec.status)).Inc()
}

// codeOf is a status as a label. A provider may answer with any number; of those that
// have no name there is one for a hundred, so that the number of series is bounded.
// Anthropic's for too much load is known by its number.
func codeOf(status int) string {
	const overloaded = 529
	switch {
	case http.StatusText(status) != "", status == gone, status == overloaded, status == 0:
		return strconv.Itoa(status)
	case status >= 600:
		return "other"
	}
	return strconv.Itoa(status/100) + "xx"
}

// WriteHeader remembers the first final status.
func (rec *recorder) WriteHeader(status int) {
	if rec.status == 0 && status >= 200 {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write sees the first byte.
func (rec *recorder) Write(p []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	if !rec.wrote {
		rec.wrote = true
		rec.m.firstByte.WithLabelValues(rec.path).Observe(time.Since(rec.came).Seconds())
	}
	return rec.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }
