package decider

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/projector"
)

// holdMetrics are the figures of holds on their way into the log; those of the
// state are read from it.
type holdMetrics struct {
	perMessage prometheus.Histogram
	latency    prometheus.Histogram
	wait       prometheus.Histogram
	retries    prometheus.Counter
	overflow   prometheus.Counter
	withdrawn  prometheus.Counter
	told       prometheus.Counter
	unheard    prometheus.Counter
}

func newHoldMetrics() *holdMetrics {
	return &holdMetrics{
		perMessage: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "quotashare_holds_per_message", Help: "Holds in each message that the log took.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 6), // to 1,024; a message has 1,000 at most
		}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "quotashare_hold_verdict_seconds", Help: "From the question to the fold's verdict on its hold.",
			Buckets: prometheus.ExponentialBuckets(0.000_25, 2, 13), // to a second
		}),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "quotashare_backlog_wait_seconds", Help: "From the question for a connection to its answer, of those that waited in a backlog.",
			Buckets: prometheus.ExponentialBuckets(0.01, 3, 12), // to half an hour
		}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_hold_retries_total", Help: "Messages of holds written again, because the log did not acknowledge them.",
		}),
		overflow: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_hold_overflow_total", Help: "Holds that found no room to wait for the log.",
		}),
		withdrawn: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_hold_withdrawals_total", Help: "Releases written for holds that must not stand, because their question was blocked, nobody took the answer, or it was too large to send.",
		}),
		told: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_local_holds_told_total", Help: "Local holds told to the other deciders.",
		}),
		unheard: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_local_holds_unreadable_total", Help: "What other deciders told and was no hold.",
		}),
	}
}

var (
	holdsDesc      = prometheus.NewDesc("quotashare_holds_total", "Holds of the log, by what became of them; refused and late ones were never open, and those that waited in a backlog were granted, timed out or left.", []string{"outcome"}, nil)
	holdsOpenDesc  = prometheus.NewDesc("quotashare_holds_open", "Holds that are open.", nil, nil)
	queuedDesc     = prometheus.NewDesc("quotashare_holds_queued", "Holds that wait here to be written to the log.", nil, nil)
	localsDesc     = prometheus.NewDesc("quotashare_local_holds_total", "Holds counted without the log, by where they came from and what became of them; of the folded ones the verdict came too late.", []string{"outcome"}, nil)
	localsOpenDesc = prometheus.NewDesc("quotashare_local_holds_open", "Holds that count without the log.", nil, nil)
)

// collectHolds gives the figures of the state's holds.
func collectHolds(ch chan<- prometheus.Metric, counts *projector.HoldCounts, open int) {
	for outcome, n := range map[string]uint64{
		"opened": counts.Opened, "settled": counts.Settled, "released": counts.Released, "expired": counts.Expired,
		"replaced": counts.Replaced, "withdrawn": counts.Withdrawn, "refused": counts.Refused, "late": counts.Late,
		"waited": counts.Waited, "granted": counts.Granted, "timed-out": counts.TimedOut, "left": counts.Left,
	} {
		ch <- prometheus.MustNewConstMetric(holdsDesc, prometheus.CounterValue, float64(n), outcome)
	}
	ch <- prometheus.MustNewConstMetric(holdsOpenDesc, prometheus.GaugeValue, float64(open))
}

// collect gives the figures of holds on their way, and of those without the log.
func (m *holdMetrics) collect(ch chan<- prometheus.Metric, e *Engine) {
	for _, c := range []prometheus.Collector{m.perMessage, m.latency, m.wait, m.retries, m.overflow, m.withdrawn, m.told, m.unheard} {
		c.Collect(ch)
	}
	ch <- prometheus.MustNewConstMetric(queuedDesc, prometheus.GaugeValue, float64(e.holds.queued()))
	local, what := e.locals.Stats(e.now())
	for outcome, n := range map[string]uint64{
		"made": what.Made, "heard": what.Heard, "folded": what.Folded, "ended": what.Ended, "full": what.Full,
	} {
		ch <- prometheus.MustNewConstMetric(localsDesc, prometheus.CounterValue, float64(n), outcome)
	}
	ch <- prometheus.MustNewConstMetric(localsOpenDesc, prometheus.GaugeValue, float64(local))
}

// took takes in how long a call took that has all its verdicts. What waited for a
// connection says nothing of how fast the log is.
func (m *holdMetrics) took(c *waiting) {
	took := m.latency
	for x := c.first; x != nil; x = x.next {
		if c.routed && x.Route.Waited {
			took = m.wait
		}
	}
	took.Observe(time.Since(c.began).Seconds())
}
