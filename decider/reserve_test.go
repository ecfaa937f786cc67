package decider

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// limit gives the connection this limit of requests a month.
func (r *running) limit(connection string, limit int64) {
	r.t.Helper()
	_, err := r.PutPlan(r.within(), connection, []plans.Dimension{{Unit: quota.Requests, Window: quota.Monthly, Limit: quota.Amount(limit * 1000)}}, httpapi.Meta{})
	r.must(err)
}

// oneLimit is a pool whose only connection has this limit of requests a month, all
// of it alice's.
func oneLimit(r *running, limit int64, change ...func(*plans.Pool)) {
	r.t.Helper()
	r.limit("c", limit)
	p := team("p", "c")
	p.Allocations = []plans.Allocation{{APIKeyID: "alice", Weight: 100 * quota.RatioOne, Policy: plans.Burst}}
	for _, c := range change {
		c(p)
	}
	_, err := r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
}

// held is a question for one request that reserves and waits for its verdict.
func held(request string) questions.Question {
	return questions.Question{
		APIKeyID: "alice", ConnectionID: "c", RequestID: request, Reserve: true, MaxWaitMs: 20_000, Estimate: quota.Amounts{quota.Requests: 1000},
	}
}

// askAll asks an array.
func (r *running) askAll(qs ...questions.Question) []questions.Reply {
	r.t.Helper()
	rs := make([]questions.Reply, len(qs))
	r.decide(context.Background(), qs, rs)
	return rs
}

// folded asks, and fails the test when there is no verdict.
func (r *running) folded(q questions.Question) questions.Reply {
	r.t.Helper()
	got := r.ask(q)
	if got.Err != nil || len(got.Degraded) > 0 {
		r.t.Fatalf("answered %+v", got)
	}
	return got
}

// level waits until the engine has folded what the other one has.
func (r *running) level(with *running) {
	r.t.Helper()
	r.must(r.current.Load().loop.Wait(r.within(), with.Applied()))
}

func (r *running) open() int { return r.current.Load().state.Holds().Open }

// written counts the messages on a subject.
func (r *running) written(subject string) uint64 {
	r.t.Helper()
	s, err := r.js.Stream(r.within(), events.Stream)
	r.must(err)
	info, err := s.Info(r.within(), jetstream.WithSubjectFilter(subject))
	r.must(err)
	return info.State.Subjects[subject]
}

// TestNoMoreThanTheLimit asks two deciders, whose clocks are ten minutes apart, in
// parallel for more than there is.
func TestNoMoreThanTheLimit(t *testing.T) {
	nc := startLog(t, t.TempDir())
	at := func(ms int64) func(*Engine) {
		return func(e *Engine) { e.now = func() int64 { return time.Now().UnixMilli() + ms } }
	}
	a, b := start(t, nc, t.TempDir()+"/a", at(-300_000)), start(t, nc, t.TempDir()+"/b", at(300_000))
	oneLimit(a, 100, func(p *plans.Pool) { p.OnDegraded = plans.Open })
	b.level(a)
	var admitted atomic.Int64
	var all sync.WaitGroup
	for i := range 256 {
		r := []*running{a, b}[i%2]
		all.Go(func() {
			got := r.askAll(held(""))[0]
			if got.Err != nil || len(got.Degraded) > 0 || got.RequestID == "" {
				t.Errorf("answered %+v", got)
			}
			if got.Allow {
				admitted.Add(1)
			}
		})
	}
	await(t, returned(all.Wait), "the answer to all")
	b.level(a)
	if n := admitted.Load(); n != 100 || a.open() != 100 {
		t.Errorf("%d of 256 were admitted and %d are open, want 100", n, a.open())
	}
	if msgs := a.written("quota.hold"); msgs >= 200 {
		t.Errorf("%d messages for 256 questions at once: what waits together goes together", msgs)
	}
}

// TestACallSeesItsOwnHolds: one message, in the order of the array.
func TestACallSeesItsOwnHolds(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 3)
	plain := questions.Question{APIKeyID: "alice", ConnectionID: "c", MaxWaitMs: -1}
	rs := r.askAll(held("1"), plain, held("2"), held("3"), held("4"), plain)
	for i, allow := range []bool{true, true, true, true, false, true} {
		if rs[i].Err != nil || rs[i].Allow != allow || len(rs[i].Degraded) > 0 {
			t.Errorf("answer %d is %+v, want allow %v", i, rs[i], allow)
		}
	}
	if rs[0].AsOf.Seq != rs[4].AsOf.Seq || rs[1].AsOf.Seq != rs[0].AsOf.Seq-1 {
		t.Errorf("as of %d, %d, %d: want one place of all holds, after the view", rs[1].AsOf.Seq, rs[0].AsOf.Seq, rs[4].AsOf.Seq)
	}
}

// TestACallInSeveralMessages waits for all of them.
func TestACallInSeveralMessages(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) { e.holds.room = func() int { return 1 } })
	oneLimit(r, 2)
	rs := r.askAll(held("1"), held("2"), held("3"))
	for i := range rs {
		if rs[i].Err != nil || len(rs[i].Degraded) > 0 || rs[i].Allow != (i < 2) || rs[i].AsOf.Seq != rs[0].AsOf.Seq+uint64(i) {
			t.Errorf("answer %d is %+v", i, rs[i])
		}
	}
}

// TestAVerdictIsNeverLate: it is true at its place, while a view may be too old.
func TestAVerdictIsNeverLate(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 2, func(p *plans.Pool) { p.OnDegraded = plans.Closed })
	asked := make([]projector.Asked, 1)
	q := held("1")
	seq, _ := r.current.Load().state.Gather([]questions.Question{q}, r.now(), asked)
	for _, folded := range []bool{true, false} {
		var got questions.Reply
		r.answer(&q, &asked[0], nil, &got, &answers.View{Seq: seq, Behind: 60_000, Folded: folded}, new(scratch))
		if got.Allow != folded || (len(got.Degraded) == 0) != folded || got.AsOf.LagMs != 60_000 {
			t.Errorf("folded %t: %+v", folded, got)
		}
	}
}

// TestAVerdictNamesItsPlace: the answer is that of the event in the log.
func TestAVerdictNamesItsPlace(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) {
		e.now = func() int64 { return time.Now().UnixMilli() - 300_000 }
	})
	oneLimit(r, 3)
	q := held("")
	q.Explain, q.Estimate, q.LeaseMs = true, quota.Amounts{quota.Tokens: 5}, 60_000
	got := r.folded(q)
	s, err := r.js.Stream(r.within(), events.Stream)
	r.must(err)
	m, err := s.GetMsg(r.within(), got.AsOf.Seq)
	r.must(err)
	e := events.Decode(&events.Message{Subject: m.Subject, Data: m.Data}, nil)[0].Event
	if e.Kind != events.Hold || e.ID != got.DecisionID || e.DecisionID != e.ID || e.RequestID != e.ID || got.RequestID != e.ID {
		t.Errorf("decision %s of request %s is event %+v", got.DecisionID, got.RequestID, e)
	}
	if e.LeaseMs != 60_000 || e.Given != 1<<quota.Requests|1<<quota.Tokens || e.Cost[quota.Tokens] != 5 {
		t.Errorf("the event has %v, given %b, and leases %d ms", e.Cost, e.Given, e.LeaseMs)
	}
	if got.AsOf.Time != m.Time.UnixMilli() || len(got.Dimensions) != 1 {
		t.Errorf("as of %d with %d dimensions, want the log's time %d", got.AsOf.Time, len(got.Dimensions), m.Time.UnixMilli())
	}
	if again := r.folded(held("x")); again.RequestID != "x" || again.DecisionID == "x" {
		t.Errorf("a request with a name is %s, its decision %s", again.RequestID, again.DecisionID)
	}
}

// TestABlockIsNotWritten, unless there is a hold for it to end.
func TestABlockIsNotWritten(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 2)
	r.folded(held("1"))
	steps := []struct {
		name    string
		request string
		ask     int64 // requests
		allow   bool
		open    int
		written uint64
	}{
		{"more than there is", "2", 2, false, 1, 1},
		{"the same request again", "1", 2, true, 1, 2},
		{"nothing is left", "2", 1, false, 1, 2},
		{"all was used meanwhile", "1", 2, false, 0, 3},
		{"and the hold is gone", "1", 2, false, 0, 3},
	}
	for i, s := range steps {
		if i == 3 {
			r.publish("quota.consumption", `{"apiKeyId":"bob","connectionId":"c","cost":{"requests":2}}`)
		}
		q := held(s.request)
		q.Estimate[quota.Requests] = quota.Amount(s.ask * 1000)
		if got := r.folded(q); got.Allow != s.allow || r.open() != s.open || r.written("quota.hold") != s.written {
			t.Errorf("%s: allow %v, %d open, %d written, want %+v", s.name, got.Allow, r.open(), r.written("quota.hold"), s)
		}
	}
}

// TestARequestMoves to another connection, and its hold with it.
func TestARequestMoves(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 1)
	r.folded(held("1"))
	there := held("1")
	there.ConnectionID = "d"
	if got := r.folded(there); !got.Allow || r.open() != 1 {
		t.Errorf("moved: %+v, %d open", got, r.open())
	}
	if got := r.folded(held("2")); !got.Allow {
		t.Errorf("where it was there is no room: %+v", got)
	}
}

// TestCallsArePartedOnlyWhenTheyMust: what is asked together is in one message while
// it fits, and what the message has no room for comes in the next.
func TestCallsArePartedOnlyWhenTheyMust(t *testing.T) {
	for _, c := range []struct {
		calls []int // holds of each
		size  int   // of a hold
		room  int   // of a message
		want  string
	}{
		{[]int{1, 2, 3}, 10, 1000, "[6]"},
		{[]int{4, 4, 4}, 9, 100, "[8 4]"},                     // ten with their commas, but calls of four
		{[]int{1, 25}, 9, 100, "[1 10 10 5]"},                 // nowhere whole
		{[]int{999, 2, 1500}, 9, 1 << 20, "[999 2 1000 500]"}, // the most of a message
		{[]int{1, 1}, 200, 100, "[1 1]"},                      // too large is tried alone
	} {
		w := &holdWriter{bell: make(chan struct{}, 1), most: maxQueued, room: func() int { return c.room }}
		for _, n := range c.calls {
			var list reserving
			for range n {
				x := newPending()
				x.body = make([]byte, c.size)
				list.add(x)
			}
			if !w.put(list.first) {
				t.Fatal("no room")
			}
		}
		var sizes []int
		for {
			var f flight
			if more, _ := w.take(&f); !more {
				break
			}
			sizes = append(sizes, len(f.list))
		}
		if got := fmt.Sprint(sizes); got != c.want {
			t.Errorf("calls of %v, %d bytes each in %d: messages of %s, want %s", c.calls, c.size, c.room, got, c.want)
		}
	}
}
