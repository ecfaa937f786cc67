package decider

import (
	"slices"
	"testing"
	"time"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// inFlight is how many holds are open on each connection, in the order of the pool.
func (r *running) inFlight() (list []int64) {
	r.current.Load().state.InFlight(func(_ string, n, _ int64) bool {
		list = append(list, n)
		return true
	})
	return list
}

// TestACallerHoldsWhatItWasTold: the log has the hold that leaves the connection open,
// and another one before it that the decider does not know of, so the fold would choose
// otherwise. What the caller uses is what is held, if it passes there.
func TestACallerHoldsWhatItWasTold(t *testing.T) {
	for most, want := range map[int64][]int64{
		0: {2, 0},
		1: {1, 0}, // the place is another one's, and the call runs beside
	} {
		nc := startLog(t, t.TempDir())
		a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
		a.lanes(most, "a", "b")
		b.level(a)
		fold := a.paused()
		if got := b.folded(routed("0")); got.ConnectionID != "a" {
			t.Fatalf("answered %+v", got)
		}
		q := routed("1")
		q.MaxWaitMs = 1
		got := a.noHoldAfter(a.holdsWritten(2), q, "ok")
		if got.ConnectionID != "a" || got.RequestID != "1" {
			t.Errorf("answered %+v", got)
		}
		a.awaitWritten("quota.hold", 3)
		fold()
		b.level(a)
		for _, r := range []*running{a, b} {
			r.must(r.current.Load().loop.Wait(r.within(), r.last()))
			if list := r.inFlight(); !slices.Equal(list, want) || r.locally() != 0 {
				t.Errorf("%d at a time: in flight are %d, want %d, and %d count beside the log", most, list, want, r.locally())
			}
		}
		if n := a.written("quota.hold"); n != 3 {
			t.Errorf("%d holds are written, want one of the other's and two of the request", n)
		}
		a.publish("quota.release", `{"apiKeyId":"alice","requestId":"1","decisionId":"`+got.DecisionID+`"}`)
		if n := a.open(); n != 1 {
			t.Errorf("%d are open after the call is given up by its decision", n)
		}
	}
}

// TestACallerThatWasToldHoldsAfterItsWait: by a fast clock there is room as the wait is
// over, and by the log's there is none until a moment later.
func TestACallerThatWasToldHoldsAfterItsWait(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", apart(5*time.Minute))
	r.lanes(1, "a")
	first, second := routed("1"), routed("2")
	first.LeaseMs, second.MaxWaitMs = 60_000, 1
	r.folded(first)
	fold := r.paused()
	overtaken := func() {
		r.awaitWritten("quota.hold", 2)
		_, err := r.js.Publish(r.within(), "quota.release", []byte(`{"apiKeyId":"alice","requestId":"1"}`))
		r.must(err)
	}
	if got := r.noHoldAfter(overtaken, second, "ok"); !got.Allow || got.ConnectionID != "a" {
		t.Errorf("answered %+v", got)
	}
	r.awaitWritten("quota.hold", 3)
	fold()
	r.must(r.current.Load().loop.Wait(r.within(), r.last()))
	if list := r.queue(); list != nil || !r.current.Load().state.HoldOpen("alice", "2") || r.open() != 1 {
		t.Errorf("%v wait and %d are open, want the second alone", list, r.open())
	}
}

// TestTheVerdictComesAtTheLastMoment, as the answer is given without it: then that is
// the answer, and nothing is left of the other.
func TestTheVerdictComesAtTheLastMoment(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(0, "a", "b")
	q, reply := routed("1"), questions.Reply{DecisionID: "d-1", RequestID: "1"}
	x := newPending()
	x.fill(&q, &reply, &projector.Asked{HoldTTLMs: 60_000})
	x.taken = true // and nobody is to be told of it any more, as when the fold has it
	c := &waiting{p: r.current.Load(), qs: []questions.Question{q}, rs: []questions.Reply{reply}, first: x}
	if came := r.answerWithout(c, &q, &reply, x); !came || reply.DecisionID != "d-1" {
		t.Errorf("it comes %t, and the answer is %+v", came, reply)
	}
	if r.locally() != 0 || x.other != nil {
		t.Errorf("%d count beside the log, and %+v is to be written", r.locally(), x.other)
	}
}

// TestABlockForAnotherReasonEndsAWait: who asks again under the name of a request that
// waits, and is refused whatever comes free, waits no more, whichever decider he asks.
func TestABlockForAnotherReasonEndsAWait(t *testing.T) {
	decide := held("2")
	decide.ConnectionID = "a"
	for what, again := range map[string]questions.Question{"a route": routed("2"), "one that has no time": impatient("2"), "decide": decide} {
		nc := startLog(t, t.TempDir())
		a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", unhurried)
		a.lanes(1, "a")
		a.folded(routed("1"))
		let := a.routing(routed("2"))
		a.awaitQueue("alice:1")
		p := team("p", "a")
		p.Connections[0].MaxConcurrent, p.Allocations[0].Suspended = 1, true
		_, err := a.putPool(a.within(), p, httpapi.Meta{})
		a.must(err)
		b.level(a)
		if got := b.route(again); got.Allow || got.Reason != "suspended" || len(got.Degraded) > 0 {
			t.Errorf("%s is answered %+v", what, got)
		}
		if list := b.queue(); list != nil {
			t.Errorf("%s: %v wait", what, list)
		}
		if got, _ := came(t, let, "its end"); got.Allow {
			t.Errorf("%s: the first of them is answered %+v", what, got)
		}
	}
}
