package decider

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
	"github.com/quotashare/quotashare/usage"
)

// maxListed is how many connections have gauges of their own: those of pools, which
// admins make, and of these the first ones pool by pool in the order of ids, so that a
// series does not come and go with what others do. Each has at most 3 for every window
// and 2 more, which makes 20,000 series; Prometheus can do more, people cannot. The
// others are counted, and usage shows them. Whoever may publish can make up
// connections, so those that are in no pool have none.
const maxListed = 1000

var (
	readingsDesc  = prometheus.NewDesc("quotashare_readings_total", "Readings of providers, by what they were taken for.", []string{"outcome"}, nil)
	farResetsDesc = prometheus.NewDesc("quotashare_far_resets_total", "Resets that were ignored because they lie more than two windows ahead.", nil, nil)
	faultsDesc    = prometheus.NewDesc("quotashare_header_faults_total", "Headers of responses that tell of a limit and cannot be read, by problem.", []string{"problem"}, nil)

	usedDesc    = windowDesc("quotashare_provider_used_percent", "What the provider says is used of a window, for all models; absent while it is unknown.")
	driftDesc   = windowDesc("quotashare_drift_points", "What the provider says is used of a window minus what we counted, in points of its 100; absent while it is unknown.")
	ageDesc     = windowDesc("quotashare_signal_age_seconds", "Time since the provider last spoke of a window, whether what it said stands or not.")
	leftOutDesc = prometheus.NewDesc("quotashare_signal_connections_left_out", "Connections whose provider speaks and that have no figures of their own: they are in no pool, or beyond the first 1,000.", nil, nil)
)

func windowDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"connection", "window"}, nil)
}

// collectReadings tells what became of what providers said. Both ways to roll
// over have one name.
func collectReadings(ch chan<- prometheus.Metric, counts *projector.Counts) {
	byName := make(map[string]uint64, len(counts.ByOutcome))
	for i, n := range counts.ByOutcome {
		byName[saturation.Outcome(i).String()] += n
	}
	for name, n := range byName {
		ch <- prometheus.MustNewConstMetric(readingsDesc, prometheus.CounterValue, float64(n), name)
	}
	ch <- prometheus.MustNewConstMetric(farResetsDesc, prometheus.CounterValue, float64(counts.FarResets))
	for i, problem := range projector.Problems {
		ch <- prometheus.MustNewConstMetric(faultsDesc, prometheus.CounterValue, float64(counts.ByProblem[i]), string(problem))
	}
}

// collectSignals tells what the providers of those connections say, at instant now, and
// how many others there are of which it does not. Windows of some models are left out:
// how many there are, the provider decides.
func collectSignals(ch chan<- prometheus.Metric, s *projector.State, connectionIDs []string, now int64) {
	list, others := s.SignalsOf(connectionIDs, now)
	for i := range list {
		if list[i].Scope == "" {
			collectSignal(ch, &list[i], now)
		}
	}
	ch <- prometheus.MustNewConstMetric(leftOutDesc, prometheus.GaugeValue, float64(others))
}

// collectSignal tells of one window. What is unknown has no value: it is not 0.
func collectSignal(ch chan<- prometheus.Metric, s *usage.Signal, now int64) {
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, s.ConnectionID, s.Window.String())
	}
	if s.Known {
		gauge(usedDesc, points(s.Used))
	}
	if s.HasDrift {
		gauge(driftDesc, points(s.Drift))
	}
	// Gateways' clocks may be ahead of ours.
	gauge(ageDesc, float64(max(now-s.Observed, 0))/1e3)
}

func points(a quota.Amount) float64 { return float64(a) / float64(quota.Percent.Scale()) }
