package decider

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// Metrics are the engine's figures. Register them with a registry of the
// caller's: two engines may live in one process.
type Metrics struct {
	engine   *Engine
	answers  *prometheus.CounterVec
	degraded *prometheus.CounterVec
	refused  prometheus.Counter
	rebuilds prometheus.Counter
	missing  prometheus.Counter
	holds    *holdMetrics

	// byReason has the counters of answers by what was judged, so that one is
	// found without a look-up; closed counts those that only the state's age
	// explains.
	byReason [fairshare.Suspended + 1]prometheus.Counter
	closed   prometheus.Counter
}

func newMetrics(e *Engine) *Metrics {
	m := &Metrics{
		engine: e,
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quotashare_decisions_total", Help: "Questions answered, by reason.",
		}, []string{"reason"}),
		degraded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quotashare_degraded_total", Help: "Answers given from a state that was not as it should be, by kind and by whether they let pass.",
		}, []string{"kind", "decision"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_questions_refused_total", Help: "Questions that could not be answered.",
		}),
		rebuilds: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_rebuilds_total", Help: "Times the state was given up and rebuilt from the log.",
		}),
		missing: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_messages_missing_total", Help: "Messages that the log did not have where they were to be folded: the state lacks them.",
		}),
		holds: newHoldMetrics(),
	}
	for r := range m.byReason {
		m.byReason[r] = m.answers.WithLabelValues(fairshare.Reason(r).String())
	}
	m.closed = m.answers.WithLabelValues(answers.Degraded)
	return m
}

// Metrics returns the engine's figures.
func (e *Engine) Metrics() *Metrics { return e.metrics }

// count counts an answer that was judged so.
func (m *Metrics) count(judged fairshare.Reason, r *questions.Reply) {
	if r.Reason == answers.Degraded {
		m.closed.Inc()
	} else {
		m.byReason[judged].Inc()
	}
	if len(r.Degraded) == 0 {
		return
	}
	decision := questions.Block
	if r.Allow { // would-block too: it was let pass
		decision = questions.Allow
	}
	for _, kind := range r.Degraded {
		m.degraded.WithLabelValues(kind, decision).Inc()
	}
}

var (
	eventsDesc  = prometheus.NewDesc("quotashare_events_total", "Events of the log, by what became of them.", []string{"outcome"}, nil)
	rejectDesc  = prometheus.NewDesc("quotashare_rejected_total", "Events that could not be folded, by reason.", []string{"reason"}, nil)
	appliedDesc = prometheus.NewDesc("quotashare_applied_seq", "Stream sequence of the last message folded.", nil, nil)
	natsDesc    = prometheus.NewDesc("quotashare_nats_total", "What came in on quota.decide and quota.route over NATS, by what became of it.", []string{"outcome"}, nil)
	missedDesc  = prometheus.NewDesc("quotashare_blocks_missed_total", "Blocks that the list of the newest ones could not take in at once.", nil, nil)
	rowsDesc    = prometheus.NewDesc("quotashare_decision_rows_total", "Rows of the decision log, by what became of them.", []string{"outcome"}, nil)
	lagDesc     = prometheus.NewDesc("quotashare_fold_lag_seconds", "Age of the oldest message not yet folded.", nil, nil)
	readyDesc   = prometheus.NewDesc("quotashare_ready", "1 while questions are answered over NATS.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, ch) }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.answers.Collect(ch)
	m.degraded.Collect(ch)
	m.refused.Collect(ch)
	m.engine.due.written.Collect(ch)
	m.rebuilds.Collect(ch)
	m.missing.Collect(ch)
	m.engine.snapshots.figures.collect(ch, m.engine.now())
	m.engine.retention.collectMetrics(ch)
	m.engine.shared.collect(ch)
	var counts projector.Counts
	var seq uint64
	var lag int64
	var open int
	if p := m.engine.current.Load(); p != nil {
		now := m.engine.now()
		counts, seq, open = p.state.Counts(), p.loop.Applied(), p.state.Holds().Open
		lag, _ = p.loop.Lag(now)
		collectSignals(ch, p.state.Signals(now), now)
		collectRoutes(ch, p.state, now)
	}
	collectReadings(ch, &counts)
	m.holds.collect(ch, m.engine, &counts.Holds, open)
	for outcome, n := range map[string]uint64{
		"folded": counts.Folded, "duplicate": counts.Duplicates, "late": counts.Late,
		"clamped": counts.Clamped, "rejected": counts.Rejected,
	} {
		ch <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue, float64(n), outcome)
	}
	for i, reason := range projector.Reasons {
		ch <- prometheus.MustNewConstMetric(rejectDesc, prometheus.CounterValue, float64(counts.ByReason[i]), string(reason))
	}
	m.engine.server.Counts().Each(func(name string, n uint64) {
		if name != "waiting" { // the only one that falls
			ch <- prometheus.MustNewConstMetric(natsDesc, prometheus.CounterValue, float64(n), name)
		}
	})
	ch <- prometheus.MustNewConstMetric(missedDesc, prometheus.CounterValue, float64(m.engine.decisions.missedBlocks.Load()))
	m.engine.decisions.each(func(outcome string, n uint64) {
		ch <- prometheus.MustNewConstMetric(rowsDesc, prometheus.CounterValue, float64(n), outcome)
	})
	ready := 0.0
	if m.engine.Ready() {
		ready = 1
	}
	ch <- prometheus.MustNewConstMetric(appliedDesc, prometheus.GaugeValue, float64(seq))
	ch <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, float64(lag)/1e3)
	ch <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, ready)
}
