package decider

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// handClock stands until it is moved. It is ahead of the log, so all answers are
// of its time.
type handClock struct{ ms atomic.Int64 }

// previewed is an engine that blocks alice and lets bob pass, on a clock that
// stands.
func previewed(t *testing.T) (*running, *handClock) {
	c := new(handClock)
	c.ms.Store(time.Now().UnixMilli() + 3_000)
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) { e.now = c.ms.Load })
	p := team("p", "c")
	p.Connections = append(p.Connections, plans.Connection{ConnectionID: "d", Weight: 100})
	_, err := r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
	// At the time of the questions, which may be of the next hour.
	r.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":"alice","connectionId":"c","model":"m","time":%d,"cost":{"requests":2000}}`, c.ms.Load()))
	return r, c
}

// everyQuestion has blocks, allows, errors, and all that a question may ask for.
func everyQuestion(r *running) []questions.Question {
	return []questions.Question{
		aboutAlice,
		{APIKeyID: "bob", ConnectionID: "c", RequestID: "r-1"},
		{APIKeyID: "alice", ConnectionID: "c", Reserve: true, Estimate: quota.Amounts{quota.Requests: 1000}},
		{APIKeyID: "zoe", ConnectionID: "d", Model: "m", Explain: true},
		{APIKeyID: "alice", Pool: "p", Explain: true},
		{APIKeyID: "bob", Pool: "p", Estimate: quota.Amounts{quota.Requests: 1_000_001}},
		{APIKeyID: "bob", Pool: "none"},
		{APIKeyID: "bob", ConnectionID: "elsewhere", Explain: true},
		{APIKeyID: "bob", ConnectionID: "c", MinSeq: r.Applied() + 100},
		{APIKeyID: "alice", ConnectionID: "c", At: r.now() + 600_000},
		{APIKeyID: "alice", ConnectionID: "c", At: r.now() - 7_200_000},
	}
}

// text is an answer as a caller gets it, with the name X instead of its own.
func text(rs []questions.Reply) string {
	var b []byte
	for i := range rs {
		one := questions.AppendReply(nil, wire.JSON, &rs[i])
		if id := rs[i].DecisionID; id != "" {
			one = bytes.ReplaceAll(one, []byte(id), []byte("X"))
		}
		b = append(append(b, one...), '\n')
	}
	return string(b)
}

func (r *running) preview(qs ...questions.Question) []questions.Reply {
	r.t.Helper()
	rs := make([]questions.Reply, len(qs))
	await(r.t, returned(func() { r.Preview(context.Background(), qs, rs) }), "the preview")
	return rs
}

// TestAPreviewIsWhatDecideAnswers, byte for byte but for its name, which is new.
func TestAPreviewIsWhatDecideAnswers(t *testing.T) {
	r, _ := previewed(t)
	qs := everyQuestion(r)
	previews, answers := r.preview(qs...), make([]questions.Reply, len(qs))
	r.decide(context.Background(), qs, answers)
	if got, want := text(previews), text(answers); got != want {
		t.Errorf("previews:\n%sanswers:\n%s", got, want)
	}
	for _, want := range []string{`"fair-share"`, `"no-allocation"`, `"no-pool"`, `"global-saturated"`, `"min-seq"`, `"at-too-old"`, `"dimensions":[]`, `"requestId":"r-1"`} {
		if !strings.Contains(text(previews), want) {
			t.Errorf("no preview has %s:\n%s", want, text(previews))
		}
	}
	names := map[string]bool{}
	for _, list := range [][]questions.Reply{previews, answers} {
		for i := range list {
			if list[i].Err == nil && (list[i].DecisionID == "" || names[list[i].DecisionID]) {
				t.Errorf("the name %q is empty or was given before", list[i].DecisionID)
			}
			names[list[i].DecisionID] = true
		}
	}
}

// TestAPreviewLeavesNoTrace: in the state, in the log, in the figures, and with
// those who watch.
func TestAPreviewLeavesNoTrace(t *testing.T) {
	r, clock := previewed(t)
	traces := func() string {
		s, err := r.State(r.within(), 0, true)
		r.must(err)
		return s.Digest + "\n" + r.figures()
	}
	before, last := traces(), r.Applied()
	qs := everyQuestion(r)
	hold := questions.Question{APIKeyID: "bob", ConnectionID: "c", RequestID: "r-2", Reserve: true, Estimate: quota.Amounts{quota.Requests: 1000}}
	for range 100 {
		r.preview(append(qs, hold, hold)...)
	}
	if after := traces(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	clock.ms.Add(2_000) // rows of blocks are told a second later
	if rows := r.Blocks(0); len(rows) != 0 {
		t.Errorf("those who watch are told of %+v", rows)
	}
	if list := r.logged(); len(list) != 0 {
		t.Errorf("the decision log has %+v", list)
	}
	if seq := r.publish("quota.release", `{"apiKeyId":"bob","requestId":"none"}`); seq != last+1 {
		t.Errorf("the next event is %d, want %d", seq, last+1)
	}
	r.ask(aboutAlice)
	if traces() == before || len(r.logged()) != 1 {
		t.Error("a decision leaves no trace either: this test sees nothing")
	}
}

// logged are the rows of the decision log, stored or not.
func (r *running) logged() []questions.Record {
	r.t.Helper()
	list, _, err := r.Decisions(r.within(), &httpapi.DecisionQuery{Limit: 10})
	r.must(err)
	return list
}

// figures are the engine's metrics as they are scraped.
func (r *running) figures() string {
	r.t.Helper()
	registry := prometheus.NewRegistry()
	r.must(registry.Register(r.Metrics()))
	families, err := registry.Gather()
	r.must(err)
	var b strings.Builder
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "quotashare_retention_") { // it plans when it likes
			b.WriteString(f.String() + "\n")
		}
	}
	return b.String()
}

// TestAPreviewOfAHoldIsJudgedWithIt: of 3,000 requests alice has 2,000, and bob
// wants the rest.
func TestAPreviewOfAHoldIsJudgedWithIt(t *testing.T) {
	r, _ := previewed(t)
	q := questions.Question{APIKeyID: "bob", ConnectionID: "c", RequestID: "r-1", Reserve: true}
	for _, c := range []struct {
		requests quota.Amount
		allow    bool
	}{{1_000_000, true}, {1_000_001, false}} {
		q.Estimate[quota.Requests] = c.requests
		if got := r.preview(q)[0]; got.Err != nil || got.Allow != c.allow {
			t.Errorf("%d thousandths of a request: %v %s, want allow %v", c.requests, got.Err, got.Reason, c.allow)
		}
	}
	r.publish("quota.hold", `{"id":"h-1","decisionId":"h-1","apiKeyId":"bob","connectionId":"c","requestId":"r-1","estimate":{"requests":1000},"leaseMs":3600000}`)
	q.Estimate[quota.Requests] = 1_000_000
	if got := r.preview(q)[0]; !got.Allow {
		t.Errorf("the hold that it would replace: %s, want an allow", got.Reason)
	}
	q.RequestID = "r-2"
	if got := r.preview(q)[0]; got.Allow {
		t.Errorf("beside the hold of another request: %s, want a block", got.Reason)
	}
}
