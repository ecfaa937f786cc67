package decider

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// set changes a setting.
func (r *running) set(s plans.Setting, n int64) {
	r.t.Helper()
	_, err := r.ChangeSettings(r.within(), func(now plans.Settings) (plans.Settings, error) {
		now[s] = plans.SettingValue{N: n, Origin: plans.Stored}
		return now, nil
	}, httpapi.Meta{})
	r.must(err)
}

// shifted is a change of an engine whose clock can be set forward.
func shifted(by *atomic.Int64) func(*Engine) {
	return func(e *Engine) {
		e.now = func() int64 { return time.Now().UnixMilli() + by.Load() }
	}
}

// TestTheDefaultLease is the setting's, at the time of the question.
func TestTheDefaultLease(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	for _, ms := range []int64{7000, 9000} {
		r.set(plans.HoldTTLMs, ms)
		for _, lease := range []int64{0, 8000} {
			q := held("")
			q.LeaseMs = lease
			got := r.folded(q)
			s, err := r.js.Stream(r.within(), events.Stream)
			r.must(err)
			m, err := s.GetMsg(r.within(), got.AsOf.Seq)
			r.must(err)
			want := ms
			if lease != 0 {
				want = lease
			}
			if e := events.Decode(&events.Message{Subject: m.Subject, Data: m.Data}, nil)[0].Event; e.LeaseMs != want {
				t.Errorf("setting %d, asked %d: a lease of %d ms", ms, lease, e.LeaseMs)
			}
		}
	}
}

// TestMinSeqBlocksNothing: it is said, and judged as always, in a closed pool too.
func TestMinSeqBlocksNothing(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 9, func(p *plans.Pool) { p.OnDegraded = plans.Closed })
	for _, reserve := range []bool{false, true} {
		q := held("")
		q.Reserve, q.MinSeq = reserve, r.Applied()+1000
		rs := make([]questions.Reply, 1)
		if answered := make(chan struct{}); !r.Begin([]questions.Question{q}, rs, func() { close(answered) }) {
			await(t, answered, "the answer")
		}
		if got := rs[0]; got.Err != nil || !got.Allow || fmt.Sprint(got.Degraded) != "["+answers.MinSeq+"]" {
			t.Errorf("reserve %v: %+v", reserve, got)
		}
	}
	if r.open() != 1 {
		t.Errorf("%d are open, want that of the question that reserves", r.open())
	}
}

// TestALateVerdictIsNoLag: it is answered a minute later, while the log has more that is
// not folded. A view would be too old, and blocked; a verdict is true at its place.
func TestALateVerdictIsNoLag(t *testing.T) {
	var by atomic.Int64
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", shifted(&by))
	oneLimit(r, 9, func(p *plans.Pool) { p.OnDegraded = plans.Closed })
	p, q := r.current.Load(), held("1")
	x, got := newPending(), questions.Reply{DecisionID: "d", RequestID: "1"}
	asked := make([]projector.Asked, 1)
	x.Seq, _ = p.state.Gather([]questions.Question{q}, r.now(), asked)
	x.Asked = asked[0]
	defer r.paused()()
	_, err := r.js.Publish(r.within(), "quota.consumption", []byte(`{"apiKeyId":"bob","connectionId":"c"}`))
	r.must(err)
	by.Store(60_000)
	for ctx := r.within(); ; {
		r.must(ctx.Err())
		if behind, _ := p.loop.Lag(r.now()); behind > 0 {
			break
		}
	}
	r.answerJudged(p, &q, &got, x)
	if got.Err != nil || !got.Allow || len(got.Degraded) > 0 || got.AsOf.LagMs < 30_000 {
		t.Errorf("the verdict: %+v", got)
	}
	view := questions.Reply{DecisionID: "d", RequestID: "1"}
	if r.viewAgain(p, &q, &view, r.now(), new(scratch)); view.Allow || len(view.Degraded) != 1 || view.Degraded[0] != answers.Lag {
		t.Errorf("the view: %+v", view)
	}
}

// TestARenewalWithoutVerdict is blocked in a closed pool, and the hold of the running
// request stands, whether the renewal was on its way to the log or not.
func TestARenewalWithoutVerdict(t *testing.T) {
	for _, tried := range []string{"running", "another"} {
		r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
		oneLimit(r, 9, func(p *plans.Pool) { p.OnDegraded = plans.Closed })
		r.folded(held("running"))
		r.refuse()
		answer := make(chan questions.Reply, 1)
		go func() { answer <- r.ask(held(tried)) }()
		r.awaitSaid("the log takes no holds") // of that one
		r.Hurry()
		if got := await(t, answer, "the answer"); got.Reason != answers.Degraded {
			t.Errorf("answered %+v", got)
		}
		r.noHold(hurry("running"), answers.Degraded)
		r.take()
		r.foldedElsewhere("last")
		want := map[string]uint64{"another": 1}[tried]
		if n := r.written("quota.release"); r.open() != 2 || n != want {
			t.Errorf("%s: %d are open after %d releases, want the running and the last, after %d", tried, r.open(), n, want)
		}
	}
}

// TestNoHoldAnswersSeeEachOther: they are judged one after the other, on any number
// of goroutines.
func TestNoHoldAnswersSeeEachOther(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) { e.holds.most = 0 })
	oneLimit(r, 1)
	for round := range 200 {
		var all sync.WaitGroup
		ready := make(chan struct{})
		allowed := make(chan string, 8)
		for range cap(allowed) {
			all.Go(func() {
				<-ready
				if got := r.askHurried(held(""))[0]; got.Allow {
					allowed <- got.DecisionID
				}
			})
		}
		close(ready)
		await(t, returned(all.Wait), "the answer to all")
		if len(allowed) != 1 {
			t.Fatalf("round %d: %d were let pass, and there is one", round, len(allowed))
		}
		r.Engine.locals.Remove(<-allowed)
	}
}

// TestViewAgainLeavesOutItsOwnHold, that of a request without a name too: its name
// is in the answer.
func TestViewAgainLeavesOutItsOwnHold(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 1)
	q := held("")
	got := r.folded(q)
	s := new(scratch)
	if r.viewAgain(r.current.Load(), &q, &got, r.now(), s); !got.Allow || got.RequestID != got.DecisionID {
		t.Errorf("seen again: %+v", got)
	}
	other := questions.Reply{DecisionID: "d", RequestID: "other"}
	if r.viewAgain(r.current.Load(), &q, &other, r.now(), s); other.Allow || other.RequestID != "other" {
		t.Errorf("another request: %+v", other)
	}
}

// TestACallWaitsAsLongAsItsLongest question. That one which waits as long as its
// shortest, and came later, is answered says that the time of those was over.
func TestACallWaitsAsLongAsItsLongest(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 9)
	fold := r.paused()
	defer fold()
	answers := make(chan []questions.Reply, 3)
	for i, qs := range [][]questions.Question{
		{hurry("1"), held("2")},
		{held("3"), hurry("4")},
		{hurry("5"), held("6"), hurry("7")},
	} {
		before := r.calls()
		go func() { answers <- r.askAll(qs...) }()
		r.awaitCalls(before + 1)
		r.noHold(hurry(fmt.Sprint("later-", i)), "ok")
	}
	fold()
	for range cap(answers) {
		for i, got := range await(t, answers, "the answers to a call") {
			if got.Err != nil || len(got.Degraded) > 0 {
				t.Errorf("answer %d is %+v, want a verdict", i, got)
			}
		}
	}
}

// TestAShortLeaseHasItsVerdict: it is over by our clock before the log takes anything,
// but somebody waits.
func TestAShortLeaseHasItsVerdict(t *testing.T) {
	var by atomic.Int64
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", shifted(&by))
	oneLimit(r, 9)
	r.refuse()
	r.noHold(hurry("under way"), "ok")
	answers, before := make(chan []questions.Reply, 1), r.calls()
	short := held("short")
	short.LeaseMs = 1
	go func() { answers <- r.askAll(short, hurry("of the same call")) }()
	r.awaitCalls(before + 1)
	by.Store(2000)
	r.take()
	for i, got := range await(t, answers, "the verdicts on both") {
		if got.Err != nil || !got.Allow || len(got.Degraded) > 0 {
			t.Errorf("answer %d is %+v, want a verdict", i, got)
		}
	}
}

// TestWhatIsOverIsNotWritten: neither for who waits for the verdict, when the time for
// that is over too, nor what was let pass without one.
func TestWhatIsOverIsNotWritten(t *testing.T) {
	var by atomic.Int64
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", shifted(&by))
	oneLimit(r, 9)
	r.refuse()
	lease := func(q questions.Question, ms int64) questions.Question {
		q.LeaseMs = ms
		return q
	}
	r.noHold(lease(hurry("let pass"), 2000), "ok")
	answer, before := make(chan questions.Reply, 1), r.calls()
	go func() { answer <- r.ask(lease(held("waits"), 2000)) }()
	r.awaitCalls(before + 1)
	r.noHold(lease(hurry("longer"), 60_000), "ok")
	by.Store(held("").MaxWaitMs)
	r.take()
	r.foldedElsewhere("last")
	if n := r.written("quota.hold"); r.open() != 2 || n > 2 {
		t.Errorf("%d are open, of %d messages, want the longer and the last", r.open(), n)
	}
	r.Hurry()
	await(t, answer, "an answer to who waits")
}

// TestWorthWriting: to the millisecond.
func TestWorthWriting(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	for _, c := range []struct {
		fate  int32
		now   int64
		worth bool
	}{
		{fateOpen, 999, true},
		{fateOpen, 1000, false},
		{fateLocal, 999, true},
		{fateLocal, 1000, false},
		{fateJudged, 0, false},
		{fateDropped, 0, false},
	} {
		x := newPending()
		x.ID, x.end = "x", 1000
		x.hold = events.Event{ID: "x", APIKeyID: "alice", ConnectionID: "c", RequestID: "1", LeaseMs: 1000, Cost: quota.Amounts{quota.Requests: 1}}
		r.Engine.locals.Add(x.local(0), 0)
		x.fate.Store(c.fate)
		if r.holds.worthy(x, c.now) != c.worth {
			t.Errorf("fate %d at %d: want worth writing %v", c.fate, c.now, c.worth)
		}
		r.Engine.locals.Remove("x")
	}
}
