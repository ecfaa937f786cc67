package decider

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/projector"
)

var (
	inFlightDesc = prometheus.NewDesc("quotashare_connection_in_flight", "Open holds on a connection of a pool.", []string{"connection"}, nil)
	mostDesc     = prometheus.NewDesc("quotashare_connection_max_concurrent", "How many requests a connection takes at a time; absent when as many as come.", []string{"connection"}, nil)
	waitingDesc  = prometheus.NewDesc("quotashare_backlog_waiting", "Requests that wait for a connection of a pool.", []string{"pool"}, nil)
	oldestDesc   = prometheus.NewDesc("quotashare_backlog_oldest_seconds", "How long the first of them has waited.", []string{"pool"}, nil)
	leftOutsDesc = prometheus.NewDesc("quotashare_route_series_left_out", "Connections of pools, and pools where somebody waits, which have no figures of their own: only the first 1,000 by id have.", []string{"of"}, nil)
)

// collectConnections tells of the connections of pools at instant now: what is in
// flight, what waits, and what their providers say.
func collectConnections(ch chan<- prometheus.Metric, s *projector.State, now int64) {
	collectSignals(ch, s, collectInFlight(ch, s), now)
	collectBacklogs(ch, s.Backlogs(now), now)
}

// collectInFlight returns the connections that have figures of their own.
func collectInFlight(ch chan<- prometheus.Metric, s *projector.State) (listed []string) {
	left := 0
	s.InFlight(func(id string, n, most int64) bool {
		if len(listed) == maxListed {
			left++
			return true
		}
		listed = append(listed, id)
		ch <- prometheus.MustNewConstMetric(inFlightDesc, prometheus.GaugeValue, float64(n), id)
		if most > 0 {
			ch <- prometheus.MustNewConstMetric(mostDesc, prometheus.GaugeValue, float64(most), id)
		}
		return true
	})
	ch <- prometheus.MustNewConstMetric(leftOutsDesc, prometheus.GaugeValue, float64(left), "connections")
	return listed
}

// collectBacklogs tells what waits by pool, list being pool by pool. By key it would be
// for callers to say how many series there are.
func collectBacklogs(ch chan<- prometheus.Metric, list []projector.BacklogStats, now int64) {
	pools := 0
	for len(list) > 0 {
		pool, waiting, since := list[0].Pool, 0, list[0].Since
		for ; len(list) > 0 && list[0].Pool == pool; list = list[1:] {
			waiting, since = waiting+list[0].Waiting, min(since, list[0].Since)
		}
		if pools++; pools <= maxListed {
			ch <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(waiting), pool)
			ch <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, float64(max(now-since, 0))/1e3, pool)
		}
	}
	ch <- prometheus.MustNewConstMetric(leftOutsDesc, prometheus.GaugeValue, float64(max(pools-maxListed, 0)), "pools")
}
