package gateway

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/client"
)

// statsOf collects the counters of a client. Those of them that are no counters are
// what waits, in memory and on disk.
type statsOf struct{ c *client.Client }

// helps say of each counter what it counts.
var helps = map[string]string{
	"allowed":       "Questions that the engine let pass.",
	"blocked":       "Questions that the engine blocked.",
	"failed_open":   "Calls that passed without an answer of the engine.",
	"left":          "Questions that nobody waited for any more.",
	"failed_closed": "Calls that were blocked without an answer of the engine.",
	"invalid":       "Questions that cannot be answered.",
	"deprioritized": "Of the questions let pass, those at a lower priority.",
	"degraded":      "Answers from a state that was not as it should be.",
	"published":     "Events taken to bring them into the log.",
	"stored":        "Events that the log has.",
	"spooled":       "Of the events taken, those that were put on disk, for a log that was away.",
	"too_large":     "Events that are larger than the log takes.",
	"lost":          "Events that were not stored when there was no more time.",
	"waiting":       "Events that wait for the log.",
	"waiting_bytes": "Bytes of the events that wait for the log.",
	"full":          "Events refused because too many wait.",
	"malformed":     "Events refused because they are none.",
	"on_disk":       "Events on disk, for a log that is away.",
	"on_disk_bytes": "Bytes of the events on disk.",
	"drained":       "Events that were on disk and are in the log.",
	"refused":       "Events that were on disk and that the log does not take; they were put aside.",
	"calls":         "Calls that were passed on.",
	"settled":       "Calls that were charged.",
	"estimated":     "Of the calls charged, those that were cut before they stated their usage.",
	"released":      "Calls for which nothing came, or that the provider refused.",
	"renewed":       "Leases renewed, of calls that last.",
	"messages":      "Messages of events that the log has.",
	"retries":       "Messages of events tried again.",
}

var failuresDesc = prometheus.NewDesc(namespace+"failures_total", "Questions that the engine did not answer, by cause.", []string{"cause"}, nil)

// Describe implements prometheus.Collector.
func (s statsOf) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, ch) }

// Collect implements prometheus.Collector.
func (s statsOf) Collect(ch chan<- prometheus.Metric) {
	stats := s.c.Stats()
	for cause, n := range stats.Failures {
		ch <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(n), string(cause))
	}
	stats.Each(func(name string, value uint64) {
		if strings.HasPrefix(name, "failures_") {
			return
		}
		kind, full := prometheus.CounterValue, namespace+name+"_total"
		switch name {
		case "waiting", "waiting_bytes", "on_disk", "on_disk_bytes":
			kind, full = prometheus.GaugeValue, namespace+name
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(full, helps[name], nil, nil), kind, float64(value))
	})
}
