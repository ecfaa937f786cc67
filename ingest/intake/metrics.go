package intake

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/ingest/spool"
)

// figures are those of messages on their way to the log.
type figures struct {
	took                             prometheus.Histogram
	events                           prometheus.Histogram
	stored, duplicate, refused, away prometheus.Counter
	memoryFull, spoolFull            prometheus.Counter
}

func newFigures() *figures {
	f := &figures{
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "quotashare_publish_seconds", Help: "From sending a message to the acknowledgement of the log, or to its end without one.",
			Buckets: prometheus.ExponentialBuckets(0.000_25, 2, 16), // to 8 s; 10 s are the most
		}),
		events: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "quotashare_publish_message_events", Help: "Events in each message that was sent.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 6), // to 1,024; a message has 1,000 at most
		}),
	}
	outcome := func(name string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_publish_messages_total", Help: "Messages sent to the log, by what it said.", ConstLabels: prometheus.Labels{"outcome": name},
		})
	}
	full := func(what string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_publish_full_total", Help: "Requests refused because too much waits, by where.", ConstLabels: prometheus.Labels{"what": what},
		})
	}
	f.stored, f.duplicate, f.refused, f.away = outcome("stored"), outcome("duplicate"), outcome("refused"), outcome("away")
	f.memoryFull, f.spoolFull = full("memory"), full("spool")
	return f
}

// published takes in what became of a message. One that could not even be sent took no
// time.
func (f *figures) published(events int, took time.Duration, ack *jetstream.PubAck, err error) {
	f.took.Observe(took.Seconds())
	f.events.Observe(float64(events))
	switch {
	case err == nil && ack.Duplicate:
		f.duplicate.Inc()
	case err == nil:
		f.stored.Inc()
	case errors.Is(err, spool.ErrAway):
		f.away.Inc()
	default:
		f.refused.Inc()
	}
}

func (f *figures) all() []prometheus.Collector {
	return []prometheus.Collector{f.took, f.events, f.stored, f.duplicate, f.refused, f.away, f.memoryFull, f.spoolFull}
}

var (
	waitingDesc = prometheus.NewDesc("quotashare_publish_waiting_bytes", "Events that wait for their message to the log.", nil, nil)
	keptDesc    = prometheus.NewDesc("quotashare_spool_events", "Events on this disk, for a log that is away.", nil, nil)
	bytesDesc   = prometheus.NewDesc("quotashare_spool_bytes", "Bytes of them.", nil, nil)
	limitDesc   = prometheus.NewDesc("quotashare_spool_limit_bytes", "How many bytes of them there may be.", nil, nil)
	oldestDesc  = prometheus.NewDesc("quotashare_spool_oldest_timestamp_seconds", "When the oldest of them came; 0 = there is none.", nil, nil)
	drainedDesc = prometheus.NewDesc("quotashare_spool_drained_events_total", "Events that were kept and brought to the log.", nil, nil)
	refusedDesc = prometheus.NewDesc("quotashare_spool_refused_events_total", "Events that were kept and that the log does not take; they were put aside.", nil, nil)
	damagedDesc = prometheus.NewDesc("quotashare_spool_damaged_total", "Files of the spool of which a part could not be read.", nil, nil)
	failedDesc  = prometheus.NewDesc("quotashare_spool_disk_errors_total", "Writes and deletions that the disk of the spool did not do; none of what was answered for is lost by them.", nil, nil)
)

// Describe implements prometheus.Collector.
func (i *Intake) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(i, to) }

// Collect implements prometheus.Collector.
func (i *Intake) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v)
	}
	counter := func(desc *prometheus.Desc, v uint64) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(v))
	}
	for _, c := range i.figures.all() {
		c.Collect(to)
	}
	gauge(waitingDesc, float64(i.groups.Waiting()))
	if i.spool == nil {
		return
	}
	s := i.spool.Stats()
	gauge(keptDesc, float64(s.Events))
	gauge(bytesDesc, float64(s.Bytes))
	gauge(limitDesc, float64(i.most))
	gauge(oldestDesc, float64(s.OldestMs)/1000)
	counter(drainedDesc, s.Drained)
	counter(refusedDesc, s.Refused)
	counter(damagedDesc, s.Damaged)
	counter(failedDesc, s.Failed)
}
