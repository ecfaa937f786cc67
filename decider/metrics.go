package decider

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/questions"
)

// Metrics are the engine's figures. Register them with a registry of the
// caller's: two engines may live in one process.
type Metrics struct {
	engine   *Engine
	answers  *prometheus.CounterVec
	degraded *prometheus.CounterVec
	lower    prometheus.Counter
	refused  prometheus.Counter
	rebuilds prometheus.Counter
	missing  prometheus.Counter
	holds    *holdMetrics

	// byReason has the counters of answers by what was judged, so that one is
	// found without a look-up, those that would block apart; closed counts those
	// that only the state's age explains.
	byReason [fairshare.Suspended + 1]reasonCounters
	closed   prometheus.Counter
}

// reasonCounters are those of a reason to allow, which are one, or to block.
type reasonCounters struct{ enforced, observed prometheus.Counter }

// wouldBlock is what was decided where a pool only observes.
const wouldBlock = "would-block"

func newMetrics(e *Engine) *Metrics {
	m := &Metrics{
		engine: e,
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quotashare_decisions_total", Help: "Questions answered, by reason and by what was decided.",
		}, []string{"reason", "decision"}),
		degraded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quotashare_degraded_total", Help: "Answers given from a state that was not as it should be, by kind and by whether they let pass.",
		}, []string{"kind", "decision"}),
		lower: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_deprioritized_total", Help: "Questions answered with leave to pass, at a lower priority.",
		}),
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
		m.byReason[r] = m.ofReason(fairshare.Reason(r))
	}
	m.closed = m.answers.WithLabelValues(answers.Degraded, questions.Block)
	for _, kind := range []string{answers.Lag, answers.MinSeq, answers.NoHold} { // what begins at 0 can be seen to grow
		m.degraded.WithLabelValues(kind, questions.Allow)
		m.degraded.WithLabelValues(kind, questions.Block)
	}
	return m
}

func (m *Metrics) ofReason(r fairshare.Reason) reasonCounters {
	if !r.Blocks() {
		allowed := m.answers.WithLabelValues(r.String(), questions.Allow)
		return reasonCounters{allowed, allowed}
	}
	return reasonCounters{m.answers.WithLabelValues(r.String(), questions.Block), m.answers.WithLabelValues(r.String(), wouldBlock)}
}

// Metrics returns the engine's figures.
func (e *Engine) Metrics() *Metrics { return e.metrics }

// count counts an answer that was judged so.
func (m *Metrics) count(judged fairshare.Reason, r *questions.Reply) {
	switch {
	case r.Reason == answers.Degraded:
		m.closed.Inc()
	case r.WouldBlock:
		m.byReason[judged].observed.Inc()
	default:
		m.byReason[judged].enforced.Inc()
	}
	if r.Deprioritize {
		m.lower.Inc()
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
	natsDesc   = prometheus.NewDesc("quotashare_nats_total", "What came in on quota.decide and quota.route over NATS, by what became of it.", []string{"outcome"}, nil)
	waitsDesc  = prometheus.NewDesc("quotashare_nats_waiting", "Messages of questions over NATS that wait for a sequence, a verdict or room.", nil, nil)
	missedDesc = prometheus.NewDesc("quotashare_blocks_missed_total", "Blocks that the list of the newest ones could not take in at once.", nil, nil)
	rowsDesc   = prometheus.NewDesc("quotashare_decision_rows_total", "Rows of the decision log, by what became of them.", []string{"outcome"}, nil)
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, ch) }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.answers.Collect(ch)
	m.degraded.Collect(ch)
	m.lower.Collect(ch)
	m.refused.Collect(ch)
	m.engine.due.written.Collect(ch)
	m.rebuilds.Collect(ch)
	m.missing.Collect(ch)
	m.engine.snapshots.collect(ch, m.engine.now())
	m.engine.retention.collectMetrics(ch)
	m.engine.shared.collect(ch)
	m.collectFold(ch)
	m.holds.collect(ch, m.engine)
	for _, c := range m.engine.server.Latencies() {
		c.Collect(ch)
	}
	m.engine.server.Counts().Each(func(name string, n uint64) {
		if name == "waiting" { // the only one that falls
			ch <- prometheus.MustNewConstMetric(waitsDesc, prometheus.GaugeValue, float64(n))
			return
		}
		ch <- prometheus.MustNewConstMetric(natsDesc, prometheus.CounterValue, float64(n), name)
	})
	ch <- prometheus.MustNewConstMetric(missedDesc, prometheus.CounterValue, float64(m.engine.decisions.missedBlocks.Load()))
	m.engine.decisions.each(func(outcome string, n uint64) {
		ch <- prometheus.MustNewConstMetric(rowsDesc, prometheus.CounterValue, float64(n), outcome)
	})
}
