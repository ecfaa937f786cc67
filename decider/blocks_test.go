package decider

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// blocked adds a block of the key.
func (d *decisions) blocked(now int64, key, reason, model string) {
	q := questions.Question{APIKeyID: key, ConnectionID: "c", Model: model}
	r := questions.Reply{Reason: reason, DecisionID: fmt.Sprint("d", now)}
	d.add(&q, &r, &about{index: questions.FromView, pool: "p"}, now)
}

func show(list []httpapi.Block) string {
	var s strings.Builder
	for _, r := range list {
		fmt.Fprintf(&s, "%d at %d: %s %s %q ×%d (%s)\n", r.Seq, r.Time, r.APIKeyID, r.Reason, r.Model, r.Count, r.DecisionID)
	}
	return s.String()
}

// TestEqualBlocksAreOneRow for a second, and a row is shown when it is over.
func TestEqualBlocksAreOneRow(t *testing.T) {
	b := newDecisions("p")
	b.blocked(1000, "alice", "cap", "m")
	b.blocked(1100, "bob", "cap", "m")
	b.blocked(1500, "alice", "fair-share", "m")
	b.blocked(1999, "alice", "cap", "m")
	b.blocked(1999, "bob", "cap", "m")
	if got := show(b.after(0, 1999)); got != "" {
		t.Errorf("before a second is over: %s", got)
	}
	b.blocked(2000, "alice", "cap", "m")
	const first = "1 at 1000: alice cap \"m\" ×2 (d1000)\n"
	if got := show(b.after(0, 2000)); got != first {
		t.Errorf("after a second: %s, want %s", got, first)
	}
	const rest = `2 at 1100: bob cap "m" ×2 (d1100)
3 at 1500: alice fair-share "m" ×1 (d1500)
4 at 2000: alice cap "m" ×1 (d2000)
`
	if diff := cmp.Diff(rest, show(b.after(1, 3000))); diff != "" {
		t.Errorf("after the first (-want +got):\n%s", diff)
	}
	if got := show(b.after(4, 9000)); got != "" {
		t.Errorf("after the last: %s", got)
	}
}

// TestBlocksOfOneRowAreAnswersToOneQuestion: whatever an answer depends on parts rows,
// and so does what is recorded once for all of them. The name of the request does not.
func TestBlocksOfOneRowAreAnswersToOneQuestion(t *testing.T) {
	type asked struct {
		q questions.Question
		r questions.Reply
		a about
	}
	first := func() asked {
		q := questions.Question{
			APIKeyID: "alice", ConnectionID: "c", Model: "m", RequestID: "r-1", MaxWaitMs: 5,
			Candidates: []questions.Candidate{{ConnectionID: "c", Score: 1, HasScore: true}, {ConnectionID: "d"}},
		}
		r := questions.Reply{Reason: "cap", DecisionID: "p-1", AsOf: questions.AsOf{Seq: 1, Time: 1000}, Degraded: []string{"lag"}}
		return asked{q, r, about{index: questions.FromView, connection: "c", pool: "p"}}
	}
	for what, change := range map[string]func(*asked){
		"":              func(x *asked) { x.q.RequestID, x.r.RequestID = "r-2", "r-2" },
		"key":           func(x *asked) { x.q.APIKeyID = "bob" },
		"connection":    func(x *asked) { x.q.ConnectionID = "d" },
		"pool":          func(x *asked) { x.q.Pool = "p" },
		"model":         func(x *asked) { x.q.Model = "n" },
		"route":         func(x *asked) { x.q.Route = "qtSd/p/m" },
		"estimate":      func(x *asked) { x.q.Estimate[quota.USD] = 1 },
		"reserve":       func(x *asked) { x.q.Reserve = true },
		"explain":       func(x *asked) { x.q.Explain = true },
		"lease":         func(x *asked) { x.q.LeaseMs = 1 },
		"wait":          func(x *asked) { x.q.MaxWaitMs = 6 },
		"minSeq":        func(x *asked) { x.q.MinSeq = 1 },
		"candidate":     func(x *asked) { x.q.Candidates[1].ConnectionID = "e" },
		"score":         func(x *asked) { x.q.Candidates[0].Score = 2 },
		"no score":      func(x *asked) { x.q.Candidates[0] = questions.Candidate{ConnectionID: "c"} },
		"a score of 0":  func(x *asked) { x.q.Candidates[1].HasScore = true },
		"answered for":  func(x *asked) { x.a.connection = "d" },
		"rules of":      func(x *asked) { x.a.pool = "q" },
		"local":         func(x *asked) { x.a.local = true },
		"reason":        func(x *asked) { x.r.Reason = "fair-share" },
		"detail":        func(x *asked) { x.r.Detail = "yield" },
		"binding":       func(x *asked) { x.r.Binding.Model = "m" },
		"would-block":   func(x *asked) { x.r.Allow, x.r.WouldBlock = true, true },
		"degraded":      func(x *asked) { x.r.Degraded = append(x.r.Degraded, "no-hold") },
		"degraded less": func(x *asked) { x.r.Degraded = nil },
	} {
		b := newDecisions("p")
		one, two := first(), first()
		two.r.DecisionID, two.r.AsOf, two.a.index = "p-2", questions.AsOf{Seq: 2, Time: 1001}, 3
		change(&two)
		b.add(&one.q, &one.r, &one.a, 1000)
		b.add(&two.q, &two.r, &two.a, 1002)
		list, _ := b.unstored()
		if want := what != ""; (len(list) == 2) != want {
			t.Errorf("%q: %d rows", what, len(list))
		}
		if what != "" {
			continue
		}
		want := []questions.Answered{{DecisionID: "p-2", RequestID: "r-2", Time: 1002, Index: 3, AsOf: questions.AsOf{Seq: 2, Time: 1001}}}
		if diff := cmp.Diff(want, list[0].Others); diff != "" {
			t.Errorf("what is kept of the second (-want +got):\n%s", diff)
		}
	}
}

// TestAClockSetBackEndsRows: the next second of theirs may be far away.
func TestAClockSetBackEndsRows(t *testing.T) {
	b := newDecisions("p")
	b.blocked(900_000, "alice", "cap", "")
	b.blocked(1000, "alice", "cap", "")
	const want = `1 at 900000: alice cap "" ×1 (d900000)
2 at 1000: alice cap "" ×1 (d1000)
`
	if diff := cmp.Diff(want, show(b.after(0, 2000))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOnlyTheNewestRowsAreKept for those who watch.
func TestOnlyTheNewestRowsAreKept(t *testing.T) {
	b := newDecisions("p")
	for i := range int64(3 * maxBlocks) {
		b.blocked(i, fmt.Sprint("key ", i), "cap", "")
	}
	list := b.after(0, 1<<40)
	if len(list) != maxBlocks || list[0].Seq != 2*maxBlocks+1 {
		t.Errorf("%d rows from %d; want %d from %d", len(list), list[0].Seq, maxBlocks, 2*maxBlocks+1)
	}
}

// TestNoDecisionWaitsForTheRows: what finds them in use goes in with the next, as
// if it had been in time, and what is too much is counted.
func TestNoDecisionWaitsForTheRows(t *testing.T) {
	b := newDecisions("p")
	b.blocked(1000, "alice", "cap", "m")
	b.mu.Lock()
	b.blocked(1001, "alice", "cap", "m")
	b.blocked(1002, "bob", "cap", "m")
	for range maxLate {
		b.blocked(1003, "alice", "cap", "m")
	}
	b.mu.Unlock()
	if n := b.missedBlocks.Load(); n != 2 {
		t.Errorf("%d missed, want the two that are too many", n)
	}
	if list, _ := b.unstored(); !list[1].Names("d1001") {
		t.Errorf("the row names %+v, not the one that came late", list[1].Others)
	}
	want := fmt.Sprintf("1 at 1000: alice cap \"m\" ×%d (d1000)\n2 at 1002: bob cap \"m\" ×1 (d1002)\n", maxLate)
	if diff := cmp.Diff(want, show(b.after(0, 9000))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBlocksOfDecisions: what was blocked, and what would have been, is a row;
// what was allowed, or asked about another time, is not.
func TestBlocksOfDecisions(t *testing.T) {
	nc := startLog(t, t.TempDir())
	now := newClock()
	now.Store(1_790_000_000_000)
	r := start(t, nc, t.TempDir()+"/state", func(e *Engine) { e.now = now.ms })
	_, err := r.PutPlan(r.within(), "c", []plans.Dimension{{Unit: quota.Requests, Window: quota.Daily, Limit: quota.Amount(quota.Requests.Scale())}}, httpapi.Meta{})
	r.must(err)
	p := team("p", "c")
	p.Mode = plans.Observe
	_, err = r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
	q := aboutAlice
	q.Model = "m"
	first := r.ask(q) // nothing is used yet
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	later := q
	later.At = first.AsOf.Time + 3_600_000
	askAll := func() {
		for _, q := range []questions.Question{q, q, later, {APIKeyID: "alice", Pool: "p"}} {
			r.ask(q)
		}
	}
	askAll()
	enforced := *p
	enforced.Mode = plans.Enforce
	_, err = r.putPool(r.within(), &enforced, httpapi.Meta{})
	r.must(err)
	askAll()
	now.add(blockSpan)
	var got []string
	for _, b := range r.Blocks(0) {
		got = append(got, fmt.Sprintf("%s %q %q %q %s %s/%s %v ×%d", b.APIKeyID, b.ConnectionID, b.PoolID, b.Model, b.Reason, b.Binding.Unit, b.Binding.Window, b.WouldBlock, b.Count))
		if !strings.HasPrefix(b.DecisionID, r.Process()+"-") || b.Time != now.ms()-blockSpan || b.RetryAt <= now.ms() || !b.HasBinding {
			t.Errorf("the row is %+v", b)
		}
	}
	want := []string{
		`alice "c" "p" "m" global-saturated requests/daily true ×2`,
		`alice "" "p" "" global-saturated requests/daily true ×1`,
		`alice "c" "p" "m" global-saturated requests/daily false ×2`,
		`alice "" "p" "" global-saturated requests/daily false ×1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
