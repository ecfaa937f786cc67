package decider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/giveway"
	"github.com/quotashare/quotashare/wire"
)

// past is a history in the making: calls of a few keys on two connections, asked
// about in every way that there is, at instants that lie up to days apart.
type past struct {
	*running
	dice  *rand.Rand
	ahead atomic.Int64 // of the clock of the engine, ms
	still atomic.Int64 // where that clock stands, epoch ms; 0 = it goes
	calls int
}

func startPast(t *testing.T) *past {
	t.Helper()
	h := &past{dice: rand.New(rand.NewPCG(11, 4))}
	dir := t.TempDir()
	h.running = start(t, startLog(t, dir+"/log"), dir+"/state", func(e *Engine) {
		e.now = func() int64 {
			if at := h.still.Load(); at != 0 {
				return at
			}
			return time.Now().UnixMilli() + h.ahead.Load()
		}
		unhurried(e) // what counts beside the log is in no replay
		e.o.SnapshotDir = dir + "/snapshots"
		e.snapshots = newSnapshotKeeper(e)
	})
	h.must(errorOf(h.ChangeSettings(h.within(), func(s plans.Settings) (plans.Settings, error) {
		s[plans.DecisionSampleRate] = plans.SettingValue{N: int64(quota.RatioOne), Origin: plans.Stored}
		return s, nil
	}, httpapi.Meta{})))
	h.publish("quota.consumption", `{"apiKeyId":"carol","connectionId":"d","provider":"codex","cost":{"tokens":5}}`)
	for _, c := range []string{"c", "c2"} {
		h.must(errorOf(h.PutPlan(h.within(), c, []plans.Dimension{
			{Unit: quota.Tokens, Window: quota.Hourly, Limit: 9000 * 1000},
			{Unit: quota.Requests, Window: quota.Daily, Limit: 60 * 1000},
			{Unit: quota.Percent, Window: quota.FiveHour, Limit: 90_000_000},
		}, httpapi.Meta{})))
	}
	p := team("p", "c")
	p.Connections = append(p.Connections, plans.Connection{ConnectionID: "c2", Weight: 50, MaxConcurrent: 3})
	p.Allocations = append(p.Allocations, plans.Allocation{APIKeyID: quota.AllOthers, Weight: 10 * quota.RatioOne})
	p.Allocations[0].Caps = []plans.Cap{{Unit: quota.Tokens, Window: quota.FiveHour, Value: 8000 * 1000}}
	p.ModelCaps = []plans.ModelCap{{APIKeyID: "bob", Model: "k2", CapUnit: quota.Tokens, CapValue: 2500 * 1000}}
	h.must(errorOf(h.putPool(h.within(), p, httpapi.Meta{Actor: "ops", Reason: "first"})))
	return h
}

// errorOf is the error of a call of which nothing else is wanted.
func errorOf[T any](_ T, err error) error { return err }

// live is something that happens to the log, or the clock.
func (h *past) live() {
	key, conn := []string{"alice", "alice", "bob", "carol", "dave"}[h.dice.IntN(5)], []string{"c", "c", "c2", "d"}[h.dice.IntN(4)]
	at := time.Now().UnixMilli() - int64(h.dice.IntN(2*3_600_000))
	h.calls++
	switch h.dice.IntN(12) {
	case 0:
		h.publish("quota.saturation", fmt.Sprintf(`{"connectionId":%q,"provider":"kimi","readings":[{"window":"5h","usedPercent":%d,"resetAt":%d}]}`,
			conn, h.dice.IntN(100), time.Now().UnixMilli()+3_600_000))
	case 1:
		h.publish("quota.adjustment", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":%q,"time":%d,"reason":"refund","cost":{"tokens":-30}}`, key, conn, at))
	case 2:
		h.publish("quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":"q%d"}`, key, h.dice.IntN(h.calls)))
	default:
		body := fmt.Sprintf(`{"id":"e%d","apiKeyId":%q,"connectionId":%q,"model":"k%d","requestId":"q%d","time":%d,"cost":{"tokens":%d}}`,
			h.calls, key, conn, h.dice.IntN(3), h.dice.IntN(h.calls+1), at, h.dice.IntN(250))
		h.publish("quota.consumption", body)
		if h.dice.IntN(4) == 0 {
			h.publish("quota.consumption", body)
		}
	}
}

// question is one of any kind.
func (h *past) question() questions.Question {
	q := questions.Question{APIKeyID: []string{"alice", "bob", "carol", "dave"}[h.dice.IntN(4)], MaxWaitMs: 20_000, Explain: true}
	q.Estimate[quota.Tokens] = quota.Amount(h.dice.IntN(600)) * 1000
	if h.dice.IntN(2) == 0 {
		q.Model = fmt.Sprintf("k%d", h.dice.IntN(3))
	}
	switch h.dice.IntN(6) {
	case 0:
		q.Pool = "p"
	case 1, 2:
		q.Pool, q.Reserve, q.RequestID = "p", true, fmt.Sprintf("q%d", h.calls)
		q.Estimate[quota.Requests], q.MaxWaitMs = 1000, 0
	case 3:
		q.ConnectionID, q.Reserve, q.LeaseMs = "c2", true, 60_000
		q.Estimate[quota.Requests] = 1000
	default:
		q.ConnectionID = []string{"c", "c2", "d"}[h.dice.IntN(3)]
	}
	return q
}

// answer asks now.
func (h *past) answer(q questions.Question) questions.Reply {
	h.t.Helper()
	rs := make([]questions.Reply, 1)
	h.decide(context.Background(), []questions.Question{q}, rs)
	if rs[0].Err != nil {
		h.t.Fatalf("%+v: %+v", q, rs[0].Err)
	}
	return rs[0]
}

func asSent(r *questions.Reply) string { return string(questions.AppendReply(nil, wire.JSON, r)) }

func (h *past) explained(q *httpapi.ExplainQuery) *explanation.Explanation {
	h.t.Helper()
	x, err := h.Explain(h.within(), q)
	h.must(err)
	return x
}

// Whatever was answered comes out of the log again, to the last field: when its
// decision is named, and when it is asked about by question, place and instant.
func TestLiveAnswersAreThoseThatExplainGives(t *testing.T) {
	h := startPast(t)
	type asked struct {
		q questions.Question
		r questions.Reply
	}
	var all []asked
	reasons := map[string]int{}
	for i := range 100 {
		for range 1 + h.dice.IntN(4) {
			h.live()
		}
		h.ahead.Add(1500) // equal blocks of one second are one record
		if h.dice.IntN(10) == 0 {
			h.ahead.Add(int64(h.dice.IntN(3_600_000)))
		}
		if i%30 == 29 {
			h.must(errorOf(h.Snapshot(h.within())))
		}
		q := h.question()
		all = append(all, asked{q, h.answer(q)})
		reasons[all[i].r.Reason]++
	}
	if len(reasons) < 5 {
		t.Errorf("the history is dull: %v", reasons)
	}
	began := map[uint64]int{}
	for _, a := range all {
		x := h.explained(&httpapi.ExplainQuery{DecisionID: a.r.DecisionID, Top: 3})
		if diff := cmp.Diff(asSent(&a.r), asSent(&x.Reply)); diff != "" || len(x.Differs) > 0 {
			t.Errorf("%s (-live +explained, differs %v):\n%s", a.r.DecisionID, x.Differs, diff)
		}
		began[x.Replay.Snapshot]++
		for _, l := range x.Lines {
			if gap := l.Found - l.Consumed; l.HasConsumed && max(gap, -gap) > quota.Amount(l.Events) {
				t.Errorf("%s: %s/%s: found %d of %d, %d events, notes %q", a.r.DecisionID, l.Unit, l.Window, l.Found, l.Consumed, l.Events, x.Notes)
			}
		}
		if a.q.Reserve {
			continue // its own hold is in the state after it
		}
		x = h.explained(&httpapi.ExplainQuery{Question: a.q, At: a.r.AsOf.Time, Seq: a.r.AsOf.Seq, Top: 3})
		// How old the state was that answered, the log does not tell.
		a.r.Degraded = nil
		same := strings.ReplaceAll(asSent(&a.r), a.r.DecisionID, x.Reply.DecisionID)
		x.Reply.AsOf.LagMs = a.r.AsOf.LagMs
		if diff := cmp.Diff(same, asSent(&x.Reply)); diff != "" {
			t.Errorf("%s, asked again (-live +explained):\n%s", a.r.DecisionID, diff)
		}
	}
	if len(began) < 3 {
		t.Errorf("it began from snapshots %v", began)
	}
	if left, err := os.ReadDir(h.audits.dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left of states, %v", left, err)
	}
}

// At a real pace dozens of equal blocks are one row, whose reply is the first one's. Each
// is explained as it was answered all the same, and all of them are verified.
func TestEqualBlocksAreExplainedEachAsItWasAnswered(t *testing.T) {
	h := startPast(t)
	h.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c","cost":{"tokens":9000}}`)
	var all []questions.Reply
	named := map[string]questions.Question{}
	clock := h.now()
	for i := range 60 {
		if i%3 == 0 {
			h.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":"bob","connectionId":"c","cost":{"tokens":%d}}`, i))
		}
		q := questions.Question{APIKeyID: "alice", ConnectionID: "c", Model: fmt.Sprintf("k%d", i%2), RequestID: fmt.Sprint("r-", i), MaxWaitMs: -1, Explain: true}
		q.Estimate[quota.Tokens] = quota.Amount(1000 * (1 + i%2))
		clock += int64(h.dice.IntN(20)) // by the machine's, a slow one has a row for each
		h.still.Store(clock)
		all = append(all, h.answer(q))
		named[all[i].DecisionID] = q
	}
	shared := 0
	for _, r := range all {
		x := h.explained(&httpapi.ExplainQuery{DecisionID: r.DecisionID, Top: 3})
		x.Reply.AsOf.LagMs = r.AsOf.LagMs
		if diff := cmp.Diff(asSent(&r), asSent(&x.Reply)); diff != "" || len(x.Differs) > 0 {
			t.Errorf("%s (-live +explained, differs %v):\n%s", r.DecisionID, x.Differs, diff)
		}
		if diff := cmp.Diff(named[r.DecisionID], x.Question); diff != "" {
			t.Errorf("%s (-asked +explained):\n%s", r.DecisionID, diff)
		}
		first := x.Recorded.ReplyOf
		if first == "" {
			continue
		}
		shared++
		r.Dimensions, r.Explained, r.Traffic, r.HasTraffic = nil, false, questions.Traffic{}, false
		if diff := cmp.Diff(asSent(&r), asSent(&x.Recorded.Reply)); diff != "" {
			t.Errorf("%s (-live +recorded):\n%s", r.DecisionID, diff)
		}
		if said := strings.Join(x.Notes, " "); !strings.Contains(said, first) || !strings.Contains(said, "derived") {
			t.Errorf("%s: nobody is told that the reply is derived: %q", r.DecisionID, x.Notes)
		}
	}
	if shared < 10 {
		t.Errorf("%d blocks of %d share a row with others", shared, len(all))
	}
}

// Of more than 101 equal blocks those between are counted alone, and who asks about one of
// them is told.
func TestABlockThatIsOnlyCountedIsNotFound(t *testing.T) {
	h := startPast(t)
	h.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c","cost":{"tokens":9000}}`)
	h.still.Store(h.now())
	q := questions.Question{APIKeyID: "alice", ConnectionID: "c", MaxWaitMs: -1}
	var ids []string
	for range questions.MostIDs + 3 {
		ids = append(ids, h.answer(q).DecisionID)
	}
	h.still.Store(0)
	_, err := h.Explain(h.within(), &httpapi.ExplainQuery{DecisionID: ids[questions.MostIDs]})
	if err == nil || !strings.Contains(err.Error(), "of more than 101 equal blocks within a second the ids of the first 100 and of the last are kept") {
		t.Errorf("of the 101st it says %v", err)
	}
	for _, id := range []string{ids[questions.MostIDs-1], ids[questions.MostIDs+2]} {
		if x := h.explained(&httpapi.ExplainQuery{DecisionID: id, Top: 1}); x.Reply.DecisionID != id {
			t.Errorf("of %s is explained %s", id, x.Reply.DecisionID)
		}
	}
}

func TestExplainRefusesWhatItCannotKnow(t *testing.T) {
	h := startPast(t)
	seq := h.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	for _, c := range []struct {
		q    httpapi.ExplainQuery
		want string
	}{
		{httpapi.ExplainQuery{DecisionID: "nobody-1"}, `no decision "nobody-1" is recorded`},
		{httpapi.ExplainQuery{Question: aboutAlice, Seq: seq + 1000}, "seq is"},
		{httpapi.ExplainQuery{Question: aboutAlice, At: 946_684_800_000}, "at is before the log begins"},
		{httpapi.ExplainQuery{Question: questions.Question{APIKeyID: "alice", Pool: "q"}, Seq: seq}, `there is no pool "q"`},
	} {
		if x, err := h.Explain(h.within(), &c.q); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %+v, %v, want %q", c.q, x, err, c.want)
		}
	}
}

func TestAuditsAreMadeOneAtATimeAndGiveWay(t *testing.T) {
	h := startPast(t)
	seq := h.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	ask := &httpapi.ExplainQuery{Question: aboutAlice, Seq: seq, Top: 1}
	h.must(h.audits.make(func(*nats.Conn, replay.Options) error {
		_, err := h.Explain(h.within(), ask)
		if !errors.Is(err, httpapi.ErrBusy) {
			t.Errorf("a second audit: %v", err)
		}
		return nil
	}))
	h.explained(ask) // the turn was given back
}

// Megabytes of an audit must not come before questions, so it has a connection of its
// own, and ends it; what the program wants to know of the engine's it is not told.
func TestAnAuditHasAConnectionOfItsOwn(t *testing.T) {
	h := startPast(t)
	var its *nats.Conn
	closed := make(chan struct{}, 1)
	h.o.Conn.SetClosedHandler(func(*nats.Conn) { closed <- struct{}{} })
	h.must(h.audits.make(func(conn *nats.Conn, _ replay.Options) error {
		its = conn
		return conn.Flush()
	}))
	if its == h.o.Conn || !its.IsClosed() || h.o.Conn.IsClosed() {
		t.Errorf("the same connection %t; closed %t, and the engine's %t", its == h.o.Conn, its.IsClosed(), h.o.Conn.IsClosed())
	}
	if its.Opts.ClosedCB != nil || len(closed) > 0 {
		t.Error("the engine's connection seems to have ended")
	}
}

// A request that waited for room has its answer from the fold that let it pass. A
// snapshot in between does not know who asked, so it is not begun with.
func TestAWaitThatEndedIsExplained(t *testing.T) {
	h := startPast(t)
	q := questions.Question{APIKeyID: "alice", Pool: "p", Reserve: true, MaxWaitMs: 20_000, Explain: true, Estimate: quota.Amounts{quota.Requests: 1000}}
	h.must(errorOf(h.ChangePool(h.within(), "p", func(now *plans.Pool) (*plans.Pool, error) {
		next := *now
		next.Connections = []plans.Connection{{ConnectionID: "c", Weight: 100, MaxConcurrent: 1}}
		return &next, nil
	}, httpapi.Meta{})))
	q.RequestID = "first"
	if r := h.answer(q); r.ConnectionID != "c" {
		t.Fatalf("answered %+v", r)
	}
	later := make(chan questions.Reply, 1)
	second := q
	second.APIKeyID, second.RequestID = "bob", "second"
	go func() { later <- h.answer(second) }()
	h.awaitQueue("bob:1")
	h.must(errorOf(h.Snapshot(h.within())))
	h.publish("quota.consumption", `{"apiKeyId":"carol","connectionId":"d"}`)
	h.release("alice", "first")
	r := await(t, later, "the place")
	x := h.explained(&httpapi.ExplainQuery{DecisionID: r.DecisionID, Top: 3})
	if diff := cmp.Diff(asSent(&r), asSent(&x.Reply)); diff != "" || r.ConnectionID != "c" || len(x.Differs) > 0 || x.Replay.Snapshot != 0 {
		t.Errorf("from snapshot %d, differs %v (-live +explained):\n%s", x.Replay.Snapshot, x.Differs, diff)
	}
}

// An audit waits while the fold has messages to fold, and not for ever.
func TestAnAuditGivesWayToTheFold(t *testing.T) {
	h := startPast(t)
	fold := h.paused()
	seq, err := h.send("quota.consumption", []byte(`{"apiKeyId":"alice","connectionId":"c"}`))
	h.must(err)
	loop := h.current.Load().loop
	for ctx := h.within(); !loop.Busy(); {
		if err := ctx.Err(); err != nil {
			t.Fatalf("the message never came: %v", err)
		}
	}
	began := time.Now()
	h.must(h.audits.make(func(_ *nats.Conn, o replay.Options) error { return o.Pause(h.within()) }))
	if took := time.Since(began); took < giveway.Longest {
		t.Errorf("it gave way for %s", took)
	}
	fold()
	h.must(errorOf(h.State(h.within(), seq, false)))
	for ctx := h.within(); loop.Busy(); {
		if err := ctx.Err(); err != nil {
			t.Fatalf("it is busy for ever: %v", err)
		}
	}
}
