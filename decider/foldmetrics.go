package decider

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/projector"
)

var (
	eventsDesc   = prometheus.NewDesc("quotashare_events_total", "Events of the log, by what became of them.", []string{"outcome"}, nil)
	rejectDesc   = prometheus.NewDesc("quotashare_rejected_total", "Events that could not be folded, by reason.", []string{"reason"}, nil)
	messagesDesc = prometheus.NewDesc("quotashare_messages_total", "Messages of the log that are folded.", nil, nil)
	appliedDesc  = prometheus.NewDesc("quotashare_applied_seq", "Stream sequence of the last message folded.", nil, nil)
	lagDesc      = prometheus.NewDesc("quotashare_fold_lag_seconds", "Age of the oldest message not yet folded.", nil, nil)
	behindDesc   = prometheus.NewDesc("quotashare_fold_lag_messages", "Messages that the log has and the fold has not, as of the last word of the log.", nil, nil)
	silentDesc   = prometheus.NewDesc("quotashare_log_silent_seconds", "Time since the log last said anything; an idle one says several times a second that it is there.", nil, nil)
	aheadDesc    = prometheus.NewDesc("quotashare_clock_ahead_seconds", "How far this clock is ahead of the broker's; negative when it is behind.", nil, nil)
	readyDesc    = prometheus.NewDesc("quotashare_ready", "1 while questions are answered over NATS.", nil, nil)
)

// collectFold tells how far the fold is, and what it has counted. Without a projection
// nobody knows: counts of 0 would be taken for those of a new process, and what comes
// back after them for events of the last seconds.
func (m *Metrics) collectFold(ch chan<- prometheus.Metric) {
	ready := 0.0
	if m.engine.Ready() {
		ready = 1
	}
	ch <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, ready)
	p := m.engine.current.Load()
	if p == nil {
		return
	}
	now, counts := m.engine.now(), p.state.Counts()
	collectLag(ch, p.loop, now)
	collectConnections(ch, p.state, now)
	collectReadings(ch, &counts)
	collectHolds(ch, &counts.Holds, p.state.Holds().Open)
	collectEvents(ch, &counts)
}

func collectLag(ch chan<- prometheus.Metric, l *projector.Loop, now int64) {
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	lag, silent := l.Lag(now)
	gauge(appliedDesc, float64(l.Applied()))
	gauge(lagDesc, float64(lag)/1e3)
	gauge(behindDesc, float64(l.Behind()))
	gauge(silentDesc, float64(silent)/1e3)
	gauge(aheadDesc, float64(l.Ahead())/1e3)
}

func collectEvents(ch chan<- prometheus.Metric, counts *projector.Counts) {
	ch <- prometheus.MustNewConstMetric(messagesDesc, prometheus.CounterValue, float64(counts.Messages))
	for outcome, n := range map[string]uint64{
		"folded": counts.Folded, "duplicate": counts.Duplicates, "late": counts.Late,
		"clamped": counts.Clamped, "rejected": counts.Rejected,
	} {
		ch <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue, float64(n), outcome)
	}
	for i, reason := range projector.Reasons {
		ch <- prometheus.MustNewConstMetric(rejectDesc, prometheus.CounterValue, float64(counts.ByReason[i]), string(reason))
	}
}
