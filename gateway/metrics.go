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
}

func newMetrics(reg *prometheus.Registry, c *client.Client) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "requests_total",
			Help: "Requests answered, by path and status; 499 is a client that left before.",
		}, []string{"path", "code"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: namespace + "in_flight", Help: "Requests in progress, streams included.",
		}),
		firstByte: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: namespace + "first_byte_seconds", Help: "Time from a request to the first byte of its answer's body, by path.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18), // 1 ms to 131 s
		}, []string{"path"}),
	}
	for _, one := range []prometheus.Collector{m.requests, m.inFlight, m.firstByte, statsOf{c}} {
		if err := reg.Register(one); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// statsOf collects the counters of a client. Those of them that are no counters are
// what waits.
type statsOf struct{ c *client.Client }

// Describe implements prometheus.Collector.
func (s statsOf) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, ch) }

// Collect implements prometheus.Collector.
func (s statsOf) Collect(ch chan<- prometheus.Metric) {
	stats := s.c.Stats()
	stats.Each(func(name string, value uint64) {
		kind, full := prometheus.CounterValue, namespace+name+"_total"
		if name == "waiting" || name == "waiting_bytes" {
			kind, full = prometheus.GaugeValue, namespace+name
		}
		desc := prometheus.NewDesc(full, "client.Stats: "+name, nil, nil)
		ch <- prometheus.MustNewConstMetric(desc, kind, float64(value))
	})
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
	rec.m.requests.WithLabelValues(rec.path, strconv.Itoa(rec.status)).Inc()
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
