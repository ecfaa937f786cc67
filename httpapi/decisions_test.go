package httpapi

import (
	"context"
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// recordedDecisions are what the double's decision log has, the newest first.
func recordedDecisions() []questions.Record {
	block := questions.Reply{
		DecisionID: "p1-3", Reason: "fair-share", ScoreFactor: quota.RatioOne, HTTPStatus: 429, Message: "Quota share limit reached",
		RetryAfterMs: 1500, RetryAt: 1_700_000_004_500, Binding: questions.Binding{Unit: quota.Tokens, Window: quota.Hourly}, HasBinding: true,
		Scope: "key", RequestID: "r-1", AsOf: questions.AsOf{Seq: 9, Time: 1_700_000_003_000}, Degraded: []string{"lag"},
	}
	would := block
	would.DecisionID, would.Allow, would.WouldBlock, would.HTTPStatus, would.Message, would.Degraded = "p1-2", true, true, 200, "", nil
	allow := questions.Reply{DecisionID: "p1-1", Allow: true, Reason: "no-pool", ScoreFactor: quota.RatioOne, HTTPStatus: 200, AsOf: questions.AsOf{Seq: 7, Time: 1_700_000_001_000}}
	allow.RequestID, allow.ConnectionID = "r-9", "kimi-1"
	routed := questions.Question{APIKeyID: "carol", Candidates: []questions.Candidate{{ConnectionID: "kimi-1", Score: quota.RatioOne / 2, HasScore: true}}, RequestID: "r-9", Reserve: true, MaxWaitMs: -1}
	held := questions.Question{APIKeyID: "alice", ConnectionID: "k-1", Model: "k2", Explain: true, RequestID: "r-1", Reserve: true, LeaseMs: 60_000, MaxWaitMs: 100, MinSeq: 8}
	held.Estimate = quota.Amounts{1000, 1500, 250_000_000, 2_500_000}
	others := []questions.Answered{
		{DecisionID: "p1-4", RequestID: "r-2", Time: 1_700_000_003_020, Index: questions.FromView, AsOf: questions.AsOf{Seq: 10, Time: 1_700_000_003_019, LagMs: 7}},
		{DecisionID: "p1-6", RequestID: "r-3", Time: 1_700_000_003_040, Index: 1, AsOf: questions.AsOf{Seq: 11, Time: 1_700_000_003_040}},
	}
	return []questions.Record{
		{Time: 1_700_000_003_000, Index: 2, Count: 3, Others: others, ConnectionID: "k-1", PoolID: "team", Process: "p1", Question: held, Reply: block},
		{Time: 1_700_000_002_000, Index: questions.FromView, Local: true, Count: 1, ConnectionID: "k-2", PoolID: "team", Process: "p1", Question: questions.Question{APIKeyID: "bob", Pool: "team", MaxWaitMs: -1}, Reply: would},
		{Time: 1_700_000_001_000, Index: questions.FromView, Count: 1, ConnectionID: "kimi-1", Process: "p1", Question: routed, Reply: allow},
	}
}

// Decisions pages through the rows as if each were a message.
func (d *double) Decisions(_ context.Context, q *DecisionQuery) (list []questions.Record, next *DecisionPlace, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return nil, nil, d.fail
	}
	all := recordedDecisions()
	for i := range all {
		seq := uint64(len(all) - i)
		if !q.Wants(&all[i]) || q.Before != nil && seq >= q.Before.Seq {
			continue
		}
		if len(list) == q.Limit {
			return list, &DecisionPlace{Seq: seq + 1, Process: "p1", Flight: 4}, nil
		}
		list = append(list, all[i])
	}
	return list, nil, nil
}

// TestPlaces come back as they were written, and nothing else is one.
func TestPlaces(t *testing.T) {
	p := DecisionPlace{Seq: 1 << 40, Index: 999, Process: "k3f9x2ab", Flight: 4, Part: 3, Number: 77}
	got, ok := parsePlace(p.String())
	if !ok || *got != p {
		t.Errorf("%s is read as %+v, %v", p.String(), got, ok)
	}
	for _, text := range []string{
		"", "1", "1.2.3.4.5", "1.2.3.4.5.p.6", "1.2.3.4.5.", "1.2.3.4.5.P", "01.2.3.4.5.p", "+1.2.3.4.5.p", "-1.2.3.4.5.p", "1.1001.3.4.5.p",
		"18446744073709551616.2.3.4.5.p",
	} {
		if got, ok := parsePlace(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// TestWhatWasGiven before its place in the log came up.
func TestWhatWasGiven(t *testing.T) {
	var none *DecisionPlace
	if none.Given("p", 1, 1) {
		t.Error("given before anything was")
	}
	p := DecisionPlace{Process: "p", Flight: 5, Part: 3, Number: 10}
	for _, c := range []struct {
		process        string
		flight, number uint64
		want           bool
	}{
		{"p", 5, 1, true},
		{"p", 6, 99, true},
		{"p", 4, 9, false},
		{"p", 4, 10, true},
		{"p", 3, 11, true},
		{"p", 2, 11, false},
		{"q", 5, 11, false},
	} {
		if got := p.Given(c.process, c.flight, c.number); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if p = (DecisionPlace{Process: "p"}); p.Given("p", 1, 1) {
		t.Error("0 and 0 are no flights")
	}
}

// TestWanted: each filter leaves out what differs in it alone.
func TestWanted(t *testing.T) {
	r := recordedDecisions()[0]
	all := DecisionQuery{
		APIKeyID: "alice", ConnectionID: "k-1", PoolID: "team", DecisionID: "p1-3", Kind: questions.Block, Reason: "fair-share",
		From: r.Time, To: r.Time + 1,
	}
	if !all.Wants(&r) || !new(DecisionQuery).Wants(&r) {
		t.Error("what fits is not wanted")
	}
	for _, all.DecisionID = range []string{"p1-3", "p1-4", "p1-6"} { // of equal blocks, each was told to somebody
		if !all.Wants(&r) {
			t.Errorf("it is not found by %s", all.DecisionID)
		}
	}
	for i, change := range []func(*DecisionQuery){
		func(q *DecisionQuery) { q.APIKeyID = "bob" }, func(q *DecisionQuery) { q.ConnectionID = "k-2" },
		func(q *DecisionQuery) { q.PoolID = "rest" }, func(q *DecisionQuery) { q.DecisionID = "p1-2" },
		func(q *DecisionQuery) { q.Kind = questions.WouldBlock }, func(q *DecisionQuery) { q.Reason = "suspended" },
		func(q *DecisionQuery) { q.From++ }, func(q *DecisionQuery) { q.To-- },
	} {
		q := all
		change(&q)
		if q.Wants(&r) {
			t.Errorf("filter %d lets it pass: %s", i, fmt.Sprintf("%+v", q))
		}
	}
}
