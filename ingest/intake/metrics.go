package intake

import "github.com/prometheus/client_golang/prometheus"

var (
	waitingDesc = prometheus.NewDesc("quotashare_publish_waiting_bytes", "Events that wait for their message to the log.", nil, nil)
	keptDesc    = prometheus.NewDesc("quotashare_spool_events", "Events on this disk, for a log that is away.", nil, nil)
	bytesDesc   = prometheus.NewDesc("quotashare_spool_bytes", "Bytes of them.", nil, nil)
	oldestDesc  = prometheus.NewDesc("quotashare_spool_oldest_timestamp_seconds", "When the oldest of them came; 0 = there is none.", nil, nil)
	drainedDesc = prometheus.NewDesc("quotashare_spool_drained_events_total", "Events that were kept and brought to the log.", nil, nil)
	refusedDesc = prometheus.NewDesc("quotashare_spool_refused_events_total", "Events that were kept and that the log does not take; they were put aside.", nil, nil)
	damagedDesc = prometheus.NewDesc("quotashare_spool_damaged_total", "Files of the spool of which a part could not be read.", nil, nil)
)

// Describe implements prometheus.Collector.
func (i *Intake) Describe(to chan<- *prometheus.Desc) {
	to <- waitingDesc
	if i.spool != nil {
		for _, desc := range []*prometheus.Desc{keptDesc, bytesDesc, oldestDesc, drainedDesc, refusedDesc, damagedDesc} {
			to <- desc
		}
	}
}

// Collect implements prometheus.Collector.
func (i *Intake) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v)
	}
	counter := func(desc *prometheus.Desc, v uint64) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(v))
	}
	gauge(waitingDesc, float64(i.groups.Waiting()))
	if i.spool == nil {
		return
	}
	s := i.spool.Stats()
	gauge(keptDesc, float64(s.Events))
	gauge(bytesDesc, float64(s.Bytes))
	gauge(oldestDesc, float64(s.OldestMs)/1000)
	counter(drainedDesc, s.Drained)
	counter(refusedDesc, s.Refused)
	counter(damagedDesc, s.Damaged)
}
