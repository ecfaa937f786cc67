package decider

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
)

// TestTimeAlone: nothing happens in the log but what is written because time goes by,
// whatever the decider's clock says. A lease ends and lets one in; another one's wait
// is over.
func TestTimeAlone(t *testing.T) {
	for name, by := range map[string]time.Duration{"a true clock": 0, "a fast clock": 5 * time.Minute, "a slow clock": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) {
				apart(by)(e)
				unhurried(e)
			})
			r.lanes(1, "a")
			second, third := routed("2"), routed("3")
			second.LeaseMs, third.MaxWaitMs = 60_000, 500
			r.folded(routed("1"))
			let := r.routing(second)
			r.awaitQueue("alice:1")
			r.endsSoon("1")
			if got, _ := came(t, let, "the end of the lease"); !got.Allow || got.ConnectionID != "a" || len(got.Degraded) > 0 {
				t.Errorf("answered %+v", got)
			}
			ends := r.current.Load().state.Holds().FirstEnd
			got, _ := came(t, r.routing(third), "the end of the wait")
			if got.Allow || got.Reason != "capacity" || len(got.Degraded) > 0 || got.RetryAt != ends || got.RetryAfterMs != ends-got.AsOf.Time {
				t.Errorf("answered %+v, want again at %d", got, ends)
			}
			if n := r.written("quota.due"); n < 2 || n > 6 {
				t.Errorf("%d messages say that something is due, want about two", n)
			}
		})
	}
}

// endsSoon renews the hold of a request of alice on the connection a with a lease of half
// a second: one that began so short could be over before anybody waits for its end.
func (r *running) endsSoon(request string) {
	r.t.Helper()
	r.publish("quota.hold", fmt.Sprintf(`{"id":"soon","decisionId":"soon","apiKeyId":"alice","connectionId":"a","requestId":%q,"estimate":{"requests":1},"leaseMs":500}`, request))
}

// TestWhoComesLaterIsToldOfThoseBefore: there is room when those who wait now have
// had theirs.
func TestWhoComesLaterIsToldOfThoseBefore(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(1, "a")
	first, second := routed("1"), routed("2")
	first.LeaseMs, second.LeaseMs = 10_000, 60_000
	r.folded(first)
	ends := r.current.Load().state.Holds().FirstEnd
	let := r.routing(second)
	r.awaitQueue("alice:1")
	decide := held("3")
	decide.ConnectionID = "a"
	for what, q := range map[string]questions.Question{"route": impatient("3"), "decide": decide} {
		got := r.route(q)
		if got.Allow || got.RetryAt != ends+60_000 || got.RetryAfterMs != got.RetryAt-got.AsOf.Time || !strings.Contains(got.Message, "in 1 min") {
			t.Errorf("%s: again at %d and %q, want %d", what, got.RetryAt, got.Message, ends+60_000)
		}
	}
	r.release("alice", "1")
	came(t, let, "its turn")
}

// TestWhoWaitsAtTheEndIsAnswered, and waits no more in the log.
func TestWhoWaitsAtTheEndIsAnswered(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	a.lanes(1, "a")
	a.folded(routed("1"))
	answer := a.routing(routed("2"))
	b.awaitQueue("alice:1")
	a.stop()
	if got, _ := came(t, answer, "the end"); got.Allow || got.Reason != "capacity" || !slices.Equal(got.Degraded, []string{answers.NoHold}) {
		t.Errorf("answered %+v", got)
	}
	b.awaitQueue()
}

// TestDecidersWriteTheSame: what falls due is said once, however many say it.
func TestDecidersWriteTheSame(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	a.lanes(1, "a")
	a.folded(routed("1"))
	b.level(a)
	one := a.routing(routed("2"))
	b.awaitQueue("alice:1")
	two := b.routing(routed("3"))
	a.awaitQueue("alice:2")
	a.endsSoon("1")
	came(t, one, "the end of the lease")
	a.release("alice", "2")
	came(t, two, "its turn")
	s, err := a.js.Stream(a.within(), events.Stream)
	a.must(err)
	m, err := s.GetLastMsgForSubject(a.within(), "quota.due")
	a.must(err)
	if id := m.Header.Get(events.HeaderMsgID); !strings.HasPrefix(id, "due-") || string(m.Data) != "{}" {
		t.Errorf("the message has id %q and says %s", id, m.Data)
	}
	if n := a.written("quota.due"); n > 3 {
		t.Errorf("%d messages for one lease", n)
	}
}

// TestOthersWaitersEnd: who waits at a decider that died is seen to by any other one, a
// second after it was due, and is shown no more before that.
func TestOthersWaitersEnd(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(1, "a")
	r.folded(routed("1"))
	r.publish("quota.hold", `{"id":"x","apiKeyId":"bob","requestId":"w","pool":"p","maxWaitMs":2000,"leaseMs":1000,"estimate":{},"decisionId":"x"}`)
	r.awaitQueue("bob:1")
	state := r.current.Load().state
	due := state.Due()
	if n := len(state.Backlogs(due - 1)); n != 1 {
		t.Errorf("%d keys wait a millisecond before the end", n)
	}
	if n := len(state.Backlogs(due)); n != 0 {
		t.Errorf("%d keys wait as their time is over", n)
	}
	r.awaitQueue()
	if _, at := state.At(); at < due+othersDueAfter || at > due+10*othersDueAfter {
		t.Errorf("it ends %d ms after it was due", at-due)
	}
	if n := r.written("quota.due"); n < 1 || n > 2 {
		t.Errorf("%d messages say so", n)
	}
}
