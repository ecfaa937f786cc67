package decider

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// sharedFigures count what this process did with the snapshots in the broker.
type sharedFigures struct {
	stored, failed, removed, fetched atomic.Uint64
}

var (
	leaseDesc  = prometheus.NewDesc("quotashare_lease_held", "1 while this process does the work that deciders share.", nil, nil)
	sharedDesc = prometheus.NewDesc("quotashare_broker_snapshots_total", "Snapshots in the broker, by what this process did.", []string{"outcome"}, nil)
)

// collect gives the figures; none for an engine that keeps no snapshots.
func (s *sharedWork) collect(ch chan<- prometheus.Metric) {
	if s == nil {
		return
	}
	held := 0.0
	if s.lease.Held() {
		held = 1
	}
	ch <- prometheus.MustNewConstMetric(leaseDesc, prometheus.GaugeValue, held)
	for outcome, n := range map[string]*atomic.Uint64{
		"stored": &s.figures.stored, "failed": &s.figures.failed, "removed": &s.figures.removed, "fetched": &s.figures.fetched,
	} {
		ch <- prometheus.MustNewConstMetric(sharedDesc, prometheus.CounterValue, float64(n.Load()), outcome)
	}
}
