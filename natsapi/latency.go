package natsapi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// latencyBounds are the buckets of how long answers take, seconds. Nearly all are in the
// first ones, and what waits for the log's fsync in those about a millisecond.
var latencyBounds = []float64{10e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 5, 30}

func newLatency(waited string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "quotashare_nats_answer_seconds", Help: "From a message in hand to its answer on its way, by whether it waited for a sequence, a verdict or room.",
		ConstLabels: prometheus.Labels{"waited": waited}, Buckets: latencyBounds,
	})
}

// began is where now counts from.
var began = time.Now()

// now is a clock for differences. Since reads one clock, where Now reads two: that is
// half of the time, and there are two readings for every message.
func now() time.Duration { return time.Since(began) }

func (s *Server) latency(waited bool) prometheus.Observer {
	if waited {
		return s.took[1]
	}
	return s.took[0]
}

// Latencies are how long answers took, for a registry.
func (s *Server) Latencies() []prometheus.Collector {
	return []prometheus.Collector{s.took[0], s.took[1]}
}
