package decider

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// resting is an engine that does not run.
func resting(t *testing.T) *Engine {
	t.Helper()
	e, err := New(Options{Conn: new(nats.Conn), Settings: plans.DefaultSettings(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestAnswersAreCountedByWhatWasDecided: each once, under its reason; what only an
// observing pool let pass is no allow, and what failed closed has no reason of the rules.
func TestAnswersAreCountedByWhatWasDecided(t *testing.T) {
	e := resting(t)
	for n, x := range []struct {
		judged fairshare.Reason
		r      questions.Reply
	}{
		{fairshare.OK, questions.Reply{Allow: true, Reason: "ok"}},
		{fairshare.OK, questions.Reply{Allow: true, Reason: "ok", Deprioritize: true, Degraded: []string{answers.Lag}}},
		{fairshare.FairShare, questions.Reply{Reason: "fair-share", Degraded: []string{answers.MinSeq}}},
		{fairshare.FairShare, questions.Reply{Allow: true, WouldBlock: true, Reason: "fair-share", Degraded: []string{answers.NoHold}}},
		{fairshare.OK, questions.Reply{Reason: answers.Degraded, Degraded: []string{answers.Lag, answers.NoHold}}},
		{fairshare.Suspended, questions.Reply{Reason: "suspended"}},
	} {
		for range n + 1 {
			e.metrics.count(x.judged, &x.r)
		}
	}
	mustHave(t, e.metrics, "quotashare_decisions_total",
		"allow ok 3", "block fair-share 3", "would-block fair-share 4", "block degraded 5", "block suspended 6", "would-block suspended 0",
		"allow no-pool 0", "allow off 0", "allow no-allocation 0", "block capacity 0", "would-block capacity 0", "block global-saturated 0", "would-block global-saturated 0",
		"block cap-absolute 0", "would-block cap-absolute 0", "block model-cap 0", "would-block model-cap 0")
	mustHave(t, e.metrics, "quotashare_deprioritized_total", "2")
	mustHave(t, e.metrics, "quotashare_degraded_total",
		"allow lag 2", "block lag 5", "allow min-seq 0", "block min-seq 3", "allow no-hold 4", "block no-hold 5")
}

// TestWhatWaitsIsShown: to be written, and for an answer.
func TestWhatWaitsIsShown(t *testing.T) {
	e := resting(t)
	e.holds.queue = make([]*pending, 2)
	e.server.Counts().Waiting.Add(3)
	mustHave(t, e.metrics, "quotashare_holds_queued", "2")
	mustHave(t, e.metrics, "quotashare_nats_waiting", "3")
}

// TestWithoutAStateNothingIsSaidOfIt: counters that begin at 0 again would look like
// many events when the state is back.
func TestWithoutAStateNothingIsSaidOfIt(t *testing.T) {
	e := resting(t)
	for _, name := range []string{"events_total", "messages_total", "holds_total", "readings_total", "fold_lag_seconds", "applied_seq", "snapshot_age_seconds"} {
		mustHave(t, e.metrics, "quotashare_"+name)
	}
	mustHave(t, e.metrics, "quotashare_ready", "0")
}

// TestTheFoldIsShown: what it has folded, how far behind it is, and whose clock is ahead.
func TestTheFoldIsShown(t *testing.T) {
	c := newClock()
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) { e.now = func() int64 { return c.ms() + 300_000 } })
	r.usage(4)
	r.publish("quota.consumption", "{}")
	got := r.gathered()
	for name, want := range map[string]float64{
		"messages_total": 5, "events_total folded": 4, "events_total rejected": 1, "fold_lag_messages": 0, "fold_lag_seconds": 0, "ready": 1,
		"applied_seq": float64(r.Applied()),
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if ahead := got["clock_ahead_seconds"]; ahead < 300-patience.Seconds() || ahead > 300 { // the clock stands
		t.Errorf("this clock is %v s ahead, want 300", ahead)
	}
}

// TestTheAgeOfASnapshotOutlivesItsProcess: one that cannot take any must not look as if
// there were none.
func TestTheAgeOfASnapshotOutlivesItsProcess(t *testing.T) {
	nc, dir := startLog(t, t.TempDir()), t.TempDir()
	r := start(t, nc, dir+"/state", keeping)
	r.usage(1)
	taken := r.snapshot()
	r.stop()
	r = start(t, nc, dir+"/state", func(e *Engine) {
		keeping(e)
		e.now = func() int64 { return taken.Time + 90_500 }
	})
	mustHave(t, r.Metrics(), "quotashare_snapshot_age_seconds", "90.5")
	mustHave(t, r.Metrics(), "quotashare_snapshot_bytes")
}

// backlogs tells of the same backlogs always.
type backlogs []projector.BacklogStats

func (b backlogs) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(b, ch) }
func (b backlogs) Collect(ch chan<- prometheus.Metric) { collectBacklogs(ch, b, 10_000) }

// TestBacklogsAreToldByPool: all keys of one together, since the first of them came; and
// a thousand pools at most.
func TestBacklogsAreToldByPool(t *testing.T) {
	list := backlogs{
		{Pool: "p", APIKeyID: "a", Waiting: 2, Since: 9_000}, {Pool: "p", APIKeyID: "b", Waiting: 3, Since: 4_500}, {Pool: "q", APIKeyID: "a", Waiting: 1, Since: 11_000},
	}
	mustHave(t, list, "quotashare_backlog_waiting", "p 5", "q 1")
	mustHave(t, list, "quotashare_backlog_oldest_seconds", "p 5.5", "q 0")
	mustHave(t, list, "quotashare_route_series_left_out", "pools 0")
	for i := range maxListed {
		list = append(list, projector.BacklogStats{Pool: fmt.Sprintf("r%04d", i), Waiting: 1}, projector.BacklogStats{Pool: fmt.Sprintf("r%04d", i), Waiting: 1})
	}
	mustHave(t, list, "quotashare_route_series_left_out", "pools 2")
	if n := len(series(t, list, "quotashare_backlog_waiting")); n != maxListed {
		t.Errorf("%d pools have figures, want %d", n, maxListed)
	}
}
