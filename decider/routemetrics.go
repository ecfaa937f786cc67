package decider

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/projector"
)

var (
	inFlightDesc = prometheus.NewDesc("quotashare_connection_in_flight", "Open holds on a connection of a pool.", []string{"connection"}, nil)
	mostDesc     = prometheus.NewDesc("quotashare_connection_max_concurrent", "How many requests a connection takes at a time; absent when as many as come.", []string{"connection"}, nil)
	waitingDesc  = prometheus.NewDesc("quotashare_backlog_waiting", "Requests of a key that wait for a connection of a pool.", []string{"pool", "key"}, nil)
	oldestDesc   = prometheus.NewDesc("quotashare_backlog_oldest_seconds", "How long the first of them has waited.", []string{"pool", "key"}, nil)
	leftOutsDesc = prometheus.NewDesc("quotashare_route_series_left_out", "Connections of pools, and keys that wait, which have no figures of their own: only the first 1,000 by id have.", []string{"of"}, nil)
)

// collectRoutes tells what is in flight and what waits, at instant now, within the
// bound of maxListed series of each kind.
func collectRoutes(ch chan<- prometheus.Metric, s *projector.State, now int64) {
	connections, keys := 0, 0
	s.InFlight(func(id string, n, most int64) bool {
		if connections++; connections > maxListed {
			return true
		}
		ch <- prometheus.MustNewConstMetric(inFlightDesc, prometheus.GaugeValue, float64(n), id)
		if most > 0 {
			ch <- prometheus.MustNewConstMetric(mostDesc, prometheus.GaugeValue, float64(most), id)
		}
		return true
	})
	for _, b := range s.Backlogs(now) {
		if keys++; keys > maxListed {
			continue
		}
		ch <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(b.Waiting), b.Pool, b.APIKeyID)
		ch <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, float64(max(now-b.Since, 0))/1e3, b.Pool, b.APIKeyID)
	}
	ch <- prometheus.MustNewConstMetric(leftOutsDesc, prometheus.GaugeValue, float64(max(connections-maxListed, 0)), "connections")
	ch <- prometheus.MustNewConstMetric(leftOutsDesc, prometheus.GaugeValue, float64(max(keys-maxListed, 0)), "keys")
}
