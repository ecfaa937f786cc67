package decider

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/natsapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// changeLog changes the log's stream.
func (r *running) changeLog(change func(*jetstream.StreamConfig)) {
	r.t.Helper()
	cfg := ingest.Configs(14, 1)[0]
	change(&cfg)
	_, err := r.js.UpdateStream(r.within(), cfg)
	r.must(err)
}

// refuse makes the log take nothing, take makes it take everything again.
func (r *running) refuse() { r.changeLog(func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1 }) }
func (r *running) take()   { r.changeLog(func(*jetstream.StreamConfig) {}) }

// hurry is a question that does not wait longer than it must.
func hurry(request string) questions.Question {
	q := held(request)
	q.MaxWaitMs = 1
	return q
}

// locals is how many holds count beside the log.
func (r *running) locally() int {
	n, _ := r.Engine.locals.Stats(r.now())
	return n
}

// heard waits until what was told is heard.
func heard(t *testing.T, nc *nats.Conn) {
	t.Helper()
	done := make(chan struct{})
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := nc.Barrier(func() { close(done) }); err != nil {
		t.Fatal(err)
	}
	await(t, done, "what was told")
}

// gathered returns the figures as name{label} or name.
func (r *running) gathered() map[string]float64 {
	r.t.Helper()
	registry := prometheus.NewRegistry()
	r.must(registry.Register(r.Metrics()))
	families, err := registry.Gather()
	r.must(err)
	all := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "quotashare_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			all[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

func (r *running) showing(want map[string]float64) {
	r.t.Helper()
	got := r.gathered()
	for name, n := range want {
		if got[name] != n {
			r.t.Errorf("%s is %v, want %v", name, got[name], n)
		}
	}
}

// noHold asks and checks that the answer says that there is no verdict.
func (r *running) noHold(q questions.Question, reason string) questions.Reply {
	r.t.Helper()
	got := r.ask(q)
	r.isNoHold(got, reason)
	return got
}

func (r *running) isNoHold(got questions.Reply, reason string) {
	r.t.Helper()
	if got.Err != nil || got.Reason != reason || len(got.Degraded) != 1 || got.Degraded[0] != answers.NoHold {
		r.t.Errorf("answered %+v, want %s without a hold", got, reason)
	}
}

// noHoldAfter is noHold, and keeps the answer from being given before something has
// happened to the hold: however late its writer is woken, and however short the wait is.
func (r *running) noHoldAfter(happened func(), q questions.Question, reason string) questions.Reply {
	r.t.Helper()
	release := sync.OnceFunc(r.Engine.locally.Unlock)
	r.Engine.locally.Lock()
	defer release() // also when it never happens
	answer := make(chan questions.Reply, 1)
	go func() { answer <- r.ask(q) }()
	happened()
	release()
	got := await(r.t, answer, "the answer")
	r.isNoHold(got, reason)
	return got
}

// holdsWritten returns when the log has so many messages of holds.
func (r *running) holdsWritten(n uint64) func() { return func() { r.awaitWritten("quota.hold", n) } }

// TestTheLogTakesNothing: what is let pass meanwhile counts on both deciders, and is
// in the log when it is back.
func TestTheLogTakesNothing(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	oneLimit(a, 3)
	a.folded(held("0"))
	b.level(a)
	a.refuse()
	if got := a.noHold(hurry("1"), "ok"); got.RequestID != "1" || got.AsOf.Seq != a.Applied() {
		t.Errorf("answered %+v", got)
	}
	a.awaitSaid("the log takes no holds")
	heard(t, nc)
	b.noHold(hurry(""), "ok")
	heard(t, nc)
	for _, r := range []*running{a, b} {
		if got := r.ask(hurry("3")); got.Allow || !slices.Equal(got.Degraded, []string{answers.NoHold}) {
			t.Errorf("the fourth of three: %+v, want a block of the view", got)
		}
		plain := questions.Question{APIKeyID: "alice", ConnectionID: "c", Explain: true, MaxWaitMs: -1}
		if got := r.ask(plain); got.Dimensions[0].HeldTotal != 3000 || got.Dimensions[0].Held != 3000 {
			t.Errorf("held are %+v, want one in the log and two beside it", got.Dimensions[0])
		}
	}
	a.take()
	for _, r := range []*running{a, b} { // each waits behind what it could not write
		q := held("9")
		q.ConnectionID = "elsewhere"
		r.folded(q)
	}
	a.level(b)
	b.level(a)
	for _, r := range []*running{a, b} {
		if r.open() != 4 || r.locally() != 0 {
			t.Errorf("%d are open and %d beside the log, want 4 and none", r.open(), r.locally())
		}
		r.awaitSaid("the log takes holds again")
		if n := strings.Count(r.said.String(), "the log takes no holds"); n != 1 {
			t.Errorf("it said so %d times:\n%s", n, r.said.String())
		}
		r.showing(map[string]float64{
			"local_holds_total made": 1, "local_holds_total heard": 1, "local_holds_total folded": 1, "local_holds_told_total": 1,
			"local_holds_open": 0, "holds_open": 4, "holds_total opened": 5, "holds_total replaced": 1, "degraded_total allow no-hold": 1, "degraded_total block no-hold": 1,
		})
	}
	if got := a.gathered(); got["hold_retries_total"] == 0 || got["holds_per_message"] != 3 || got["hold_verdict_seconds"] != 2 {
		t.Errorf("%v retries, %v messages, %v verdicts in time, want some, 3, 2", got["hold_retries_total"], got["holds_per_message"], got["hold_verdict_seconds"])
	}
}

// TestNoHoldAndClosed: blocked, and nothing of it stands when the log is back. One
// that would renew a hold leaves that as it is, and one that observes blocks nothing.
func TestNoHoldAndClosed(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 9, func(p *plans.Pool) { p.OnDegraded = plans.Closed })
	r.folded(held("renewed"))
	r.refuse()
	tried := func() { r.awaitSaid("the log takes no holds") } // so that the first is on its way
	for _, request := range []string{"1", "2", "renewed"} {
		got := r.noHoldAfter(tried, hurry(request), answers.Degraded)
		if got.Allow || got.HTTPStatus != 503 || !strings.Contains(got.Message, "could not hold the request for provider kimi") {
			t.Errorf("answered %+v", got)
		}
	}
	if r.locally() != 0 {
		t.Errorf("%d count beside the log", r.locally())
	}
	r.take()
	r.folded(held("9"))
	if r.open() != 2 {
		t.Errorf("%d are open, want the one before and the one after", r.open())
	}
	if holds, releases := r.written("quota.hold"), r.written("quota.release"); holds != 2 || releases != 1 {
		t.Errorf("%d messages of holds, %d of releases, want 2 and one for what may have been written", holds, releases)
	}
	r.showing(map[string]float64{"hold_withdrawals_total": 1, "decisions_total block degraded": 3, "degraded_total block no-hold": 3, "degraded_total allow no-hold": 0})
	oneLimit(r, 9, func(p *plans.Pool) { p.OnDegraded, p.Mode = plans.Closed, plans.Observe })
	r.refuse()
	r.noHold(hurry("3"), "ok")
	r.showing(map[string]float64{"degraded_total block no-hold": 3, "degraded_total allow no-hold": 1})
}

// TestWhatWasWrittenUnseenIsReleased: the log has the hold and the fold has not, when
// the answer is given. One that renews another stands: a release would end both.
func TestWhatWasWrittenUnseenIsReleased(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 9, func(p *plans.Pool) { p.OnDegraded = plans.Closed })
	r.folded(held("renewed"))
	fold := r.paused()
	r.noHoldAfter(r.holdsWritten(2), hurry("renewed"), answers.Degraded)
	r.noHoldAfter(r.holdsWritten(3), hurry("1"), answers.Degraded)
	last := held("2")
	answer := make(chan questions.Reply, 1)
	go func() { answer <- r.ask(last) }()
	r.awaitWritten("quota.release", 1)
	fold()
	if got := await(t, answer, "the answer"); !got.Allow || len(got.Degraded) > 0 {
		t.Errorf("after it: %+v", got)
	}
	r.must(r.current.Load().loop.Wait(r.within(), r.last()))
	if n := r.written("quota.release"); r.open() != 2 || n != 1 {
		t.Errorf("%d are open after %d releases, want the renewed and the last, and one", r.open(), n)
	}
}

// awaitWritten waits until the log has a message of that subject.
func (r *running) awaitWritten(subject string, n uint64) {
	r.t.Helper()
	for ctx := r.within(); r.written(subject) < n; {
		r.must(ctx.Err())
	}
}

// calls counts the calls whose holds were queued.
func (r *running) calls() uint64 {
	r.holds.mu.Lock()
	defer r.holds.mu.Unlock()
	return r.holds.calls
}

func (r *running) awaitCalls(n uint64) {
	r.t.Helper()
	for ctx := r.within(); r.calls() < n; {
		r.must(ctx.Err())
	}
}

func (r *running) last() uint64 {
	r.t.Helper()
	seq, err := r.lastSeq(r.within())
	r.must(err)
	return seq
}

// TestTheCallerIsGone before the verdict: then nobody will settle the hold, and it
// must not stand. A server that stops or has no room still answers.
func TestTheCallerIsGone(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 9)
	r.refuse()
	for _, c := range []struct {
		cause   error
		queued  bool
		counted int
	}{
		{context.Canceled, true, 0}, {natsapi.ErrHurried, true, 1}, {context.Canceled, false, 1}, {natsapi.ErrHurried, false, 2},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		if !c.queued {
			cancel(c.cause)
		}
		done, before := make(chan questions.Reply, 1), r.calls()
		go func() {
			rs := make([]questions.Reply, 1)
			r.Decide(ctx, []questions.Question{held("")}, rs)
			done <- rs[0]
		}()
		if c.queued {
			r.awaitCalls(before + 1)
		}
		cancel(c.cause)
		if got := await(t, done, "the answer"); !got.Allow || len(got.Degraded) != 1 || r.locally() != c.counted {
			t.Errorf("%v: %+v, %d count, want %d", c, got, r.locally(), c.counted)
		}
	}
	r.take()
	r.folded(held("9"))
	if r.open() != 3 || r.locally() != 0 {
		t.Errorf("%d are open, %d count, want the two that were let pass and one after", r.open(), r.locally())
	}
}

// TestNoRoomToWait: the queue has a bound.
func TestNoRoomToWait(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) { e.holds.most = 2 })
	oneLimit(r, 9)
	r.refuse()
	r.noHold(hurry("1"), "ok")
	r.awaitSaid("the log takes no holds")
	r.noHold(hurry("2"), "ok")
	for _, got := range r.askAll(held("3"), held("4")) { // at once, and both
		if !got.Allow || len(got.Degraded) != 1 {
			t.Errorf("answered %+v", got)
		}
	}
	r.showing(map[string]float64{"hold_overflow_total": 2, "local_holds_open": 4})
	r.noHold(hurry("5"), "ok") // one finds room
	r.take()
	r.awaitWritten("quota.hold", 2)
	r.folded(held("9"))
	if r.open() != 4 {
		t.Errorf("%d are open, want all but the two", r.open())
	}
}

// TestAcknowledgementsAreLost: what the fold has is not written again, and what
// comes after is written once more at most.
func TestAcknowledgementsAreLost(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 9)
	r.changeLog(func(c *jetstream.StreamConfig) { c.NoAck = true })
	r.folded(held("1"))
	r.folded(held("2"))
	r.awaitSaid("the log takes no holds")
	r.take()
	r.folded(held("3"))
	if n := r.written("quota.hold"); n != 3 || r.open() != 3 {
		t.Errorf("%d messages and %d open, want 3", n, r.open())
	}
	r.awaitSaid("the log takes holds again")
}

// TestAnotherLog: who waits for a verdict of the old one is answered, and the hold
// goes into the new one.
func TestAnotherLog(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	r.must(r.js.DeleteStream(r.within(), events.Stream))
	answer := make(chan questions.Reply, 1)
	go func() { answer <- r.ask(held("1")) }()
	r.awaitSaid("the log takes no holds")
	_, err := r.js.CreateStream(r.within(), ingest.Configs(14, 1)[0])
	r.must(err)
	got := await(t, answer, "the answer")
	if !got.Allow || len(got.Degraded) > 1 {
		t.Errorf("answered %+v", got)
	}
	for ctx := r.within(); ; {
		r.must(ctx.Err())
		if p := r.current.Load(); p != nil && p.state.Holds().Open == 1 {
			break
		}
	}
}

// TestStopAnswersAll: and what was let pass is still written.
func TestStopAnswersAll(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	oneLimit(r, 9)
	r.refuse()
	answers := make(chan questions.Reply, 2)
	before := r.calls()
	for range 2 {
		go func() { answers <- r.ask(held("")) }()
	}
	r.awaitCalls(before + 2)
	r.awaitSaid("the log takes no holds")
	r.stop()
	for range 2 {
		if got := await(t, answers, "an answer"); !got.Allow || len(got.Degraded) == 0 {
			t.Errorf("answered %+v", got)
		}
	}
	if got := r.askAll(held("late"))[0]; got.Err == nil {
		t.Errorf("after the end: %+v", got)
	}
}

// TestPeersAreNotTrusted: what is no hold is counted, and nothing else comes of it.
func TestPeersAreNotTrusted(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	oneLimit(r, 9)
	r.folded(held("open"))
	const hold = `{"id":"d","decisionId":"d","apiKeyId":"alice","connectionId":"c","estimate":{"requests":2},"leaseMs":1000,"requestId":`
	for _, body := range []string{``, `x`, `[]`, `[7,{}]`, hold + `""}`, hold + `"open"}`, hold + `"1"}`, hold + `"1"}`} {
		r.must(nc.Publish(peerSubject, []byte(body)))
	}
	own := nats.NewMsg(peerSubject)
	own.Data = []byte(hold + `"own"}`)
	own.Header.Set(peerHeader, r.Process())
	r.must(nc.PublishMsg(own))
	heard(t, nc)
	r.showing(map[string]float64{"local_holds_unreadable_total": 6, "local_holds_open": 1})
	plain := questions.Question{APIKeyID: "alice", ConnectionID: "c", Explain: true, MaxWaitMs: -1}
	if got := r.ask(plain); got.Dimensions[0].HeldTotal != quota.Amount(3000) {
		t.Errorf("held are %d, want one in the log and two of the other", got.Dimensions[0].HeldTotal)
	}
}
