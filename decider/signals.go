package decider

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
	"github.com/quotashare/quotashare/usage"
)

// maxListed is how many connections have gauges of their own: the first ones by
// id, so that a series does not come and go with what others do. Each has at most
// 3 for every window, which makes 18,000 series; Prometheus can do more, people
// cannot. The others are counted, and usage shows them.
const maxListed = 1000

var (
	readingsDesc  = prometheus.NewDesc("quotashare_readings_total", "Readings of providers, by what they were taken for.", []string{"outcome"}, nil)
	farResetsDesc = prometheus.NewDesc("quotashare_far_resets_total", "Resets that were ignored because they lie more than two windows ahead.", nil, nil)
	faultsDesc    = prometheus.NewDesc("quotashare_header_faults_total", "Headers of responses that tell of a limit and cannot be read, by problem.", []string{"problem"}, nil)

	usedDesc    = windowDesc("quotashare_provider_used_percent", "What the provider says is used of a window, for all models; absent while it is unknown.")
	driftDesc   = windowDesc("quotashare_drift_points", "What the provider says is used of a window minus what we counted, in points of its 100; absent while it is unknown.")
	ageDesc     = windowDesc("quotashare_signal_age_seconds", "Time since the provider last spoke of a window, whether what it said stands or not.")
	leftOutDesc = prometheus.NewDesc("quotashare_signal_connections_left_out", "Connections whose provider speaks and that have no figures of their own: only the first 1,000 by id have.", nil, nil)
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

// collectSignals tells what providers say, list being by connection, at instant
// now. Windows of some models are left out: how many there are, the provider
// decides.
func collectSignals(ch chan<- prometheus.Metric, list []usage.Signal, now int64) {
	connections := 0
	for i := range list {
		if i == 0 || list[i].ConnectionID != list[i-1].ConnectionID {
			connections++
		}
		if connections <= maxListed && list[i].Scope == "" {
			collectSignal(ch, &list[i], now)
		}
	}
	ch <- prometheus.MustNewConstMetric(leftOutDesc, prometheus.GaugeValue, float64(max(connections-maxListed, 0)))
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
