package answers

import (
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

const now = 1_700_000_000_000

// folded is the state after messages, one a second, of which the last came now.
func folded(t *testing.T, list ...[2]string) *projector.State {
	t.Helper()
	s := projector.NewState(memstore.New())
	for i, m := range list {
		header := map[string][]string{}
		if strings.HasPrefix(m[0], events.ConfigPrefix) {
			header[events.HeaderConfig] = []string{events.ConfigPut}
		}
		var run projector.Run
		run.Add(events.Message{Subject: m[0], Header: header, Data: []byte(m[1]), Seq: uint64(i + 1), Time: now - int64(len(list)-1-i)*1000})
		if err := s.Apply(&run); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Counts().Rejected; n > 0 {
		t.Fatalf("%d messages were rejected", n)
	}
	return s
}

// full is a pool of which alice has used more than all there is, that is closed or open
// when the engine lags.
func full(t *testing.T, onDegraded, mode string) *projector.State {
	t.Helper()
	return folded(t,
		[2]string{"quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":1000}]}`},
		[2]string{"quota.config.pool.p", `{"id":"p","name":"P","provider":"kimi","mode":"` + mode + `","onDegraded":"` + onDegraded + `",` +
			`"connections":[{"connectionId":"c"},{"connectionId":"d"}],"allocations":[{"apiKeyId":"alice","weight":50},{"apiKeyId":"bob","weight":50}]}`},
		[2]string{"quota.consumption", `{"apiKeyId":"alice","connectionId":"c","cost":{"tokens":1100}}`},
	)
}

// answer asks one question of a state.
func answer(t *testing.T, s *projector.State, q questions.Question, v View) (r questions.Reply) {
	t.Helper()
	asked := make([]projector.Asked, 1)
	s.Gather([]questions.Question{q}, now, asked)
	Make(&q, &asked[0], nil, &r, &v, func() string { return "new" }, new(Scratch))
	return r
}

var (
	alice = questions.Question{APIKeyID: "alice", ConnectionID: "c", MaxWaitMs: -1}
	bob   = questions.Question{APIKeyID: "bob", ConnectionID: "c", MaxWaitMs: -1}
)

func TestAnAnswerSaysWhatWasJudged(t *testing.T) {
	s := full(t, "open", "enforce")
	r := answer(t, s, alice, View{Seq: 3, Behind: 7})
	switch {
	case r.Err != nil || r.Allow || r.Reason != "fair-share" || r.HTTPStatus != 429 || r.Scope != "key":
		t.Errorf("alice: %+v", r)
	case !r.HasBinding || r.Binding != questions.Binding{Unit: quota.Tokens, Window: quota.Hourly}:
		t.Errorf("binding: %+v", r.Binding)
	case r.RetryAfterMs <= 0 || r.RetryAt != now+r.RetryAfterMs:
		t.Errorf("comes back in %d, at %d", r.RetryAfterMs, r.RetryAt)
	case r.AsOf != questions.AsOf{Seq: 3, Time: now, LagMs: 7}:
		t.Errorf("as of %+v", r.AsOf)
	case r.DecisionID != "new" || !strings.Contains(r.Message, "Quota share limit reached") || !strings.Contains(r.Message, "new"):
		t.Errorf("%q: %q", r.DecisionID, r.Message)
	case r.Explained || len(r.Dimensions) > 0 || r.HasTraffic:
		t.Errorf("it was explained: %+v", r)
	}
	q := bob
	q.Explain, q.Reserve, q.Estimate = true, true, quota.Amounts{quota.Requests: 1000}
	r = answer(t, s, q, View{Seq: 3})
	if !r.Allow || r.Message != "" || r.HTTPStatus != 200 || r.RequestID != "new" || len(r.Dimensions) != 1 || !r.Explained || !r.HasTraffic {
		t.Errorf("bob: %+v", r)
	}
	q.ConnectionID = "elsewhere"
	if r = answer(t, s, q, View{Seq: 3}); r.Reason != "no-pool" || !r.Explained || r.HasTraffic {
		t.Errorf("in no pool: %+v", r)
	}
}

func TestAnAnswerKeepsItsNames(t *testing.T) {
	s := full(t, "open", "enforce")
	asked := make([]projector.Asked, 1)
	q := alice
	q.RequestID, q.Reserve = "r", true
	s.Gather([]questions.Question{q}, now, asked)
	r := questions.Reply{DecisionID: "old"}
	Make(&q, &asked[0], nil, &r, &View{Seq: 3}, func() string { return "new" }, new(Scratch))
	if r.DecisionID != "old" || r.RequestID != "r" {
		t.Errorf("%q, %q", r.DecisionID, r.RequestID)
	}
	r = questions.Reply{Err: &questions.Error{Code: "too-many"}}
	Make(&q, &asked[0], nil, &r, &View{Seq: 3}, func() string { return "new" }, new(Scratch))
	if r.Err.Code != "too-many" || r.DecisionID != "" || r.Reason != "" {
		t.Errorf("an error became %+v", r)
	}
}

// What is wrong with a state is said, and blocks where the pool wants that; a verdict of
// the fold is never late.
func TestAnOldStateIsSaid(t *testing.T) {
	const lag = 5000 // the setting maxLagMs as it is built in
	for _, c := range []struct {
		name, onDegraded, mode string
		view                   View
		minSeq                 uint64
		says                   string
		reason                 string
	}{
		{"fresh", "closed", "enforce", View{Seq: 3, Behind: lag, Silent: lag}, 3, "", "ok"},
		{"behind", "open", "enforce", View{Seq: 3, Behind: lag + 1}, 0, "lag", "ok"},
		{"silent", "open", "enforce", View{Seq: 3, Silent: lag + 1}, 0, "lag", "ok"},
		{"closed", "closed", "enforce", View{Seq: 3, Behind: lag + 1}, 0, "lag", "degraded"},
		{"observing", "closed", "observe", View{Seq: 3, Behind: lag + 1}, 0, "lag", "ok"},
		{"a verdict", "closed", "enforce", View{Seq: 3, Behind: lag + 1, Silent: lag + 1, Folded: true}, 0, "", "ok"},
		{"a sequence", "closed", "enforce", View{Seq: 3}, 4, "min-seq", "ok"},
	} {
		q := bob
		q.MinSeq = c.minSeq
		r := answer(t, full(t, c.onDegraded, c.mode), q, c.view)
		if strings.Join(r.Degraded, " ") != c.says || r.Reason != c.reason || r.Allow != (c.reason == "ok") {
			t.Errorf("%s: says %q, %s", c.name, r.Degraded, r.Reason)
		}
		if !r.Allow && (r.HTTPStatus != 503 || !strings.Contains(r.Message, "too old to decide") || len(r.Alternatives) > 0) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func TestAClosedPoolKeepsABlockAsItIs(t *testing.T) {
	r := questions.Reply{Reason: "fair-share", HTTPStatus: 429, Alternatives: []string{"d"}}
	CloseIfDegraded(&r, &plans.Pool{OnDegraded: plans.Closed}, "x")
	if r.Reason != "fair-share" || r.HTTPStatus != 429 || len(r.Alternatives) != 0 {
		t.Errorf("%+v", r)
	}
	r = questions.Reply{Allow: true, Alternatives: []string{"d"}}
	CloseIfDegraded(&r, nil, "x")
	if !r.Allow || !slices.Equal(r.Alternatives, []string{"d"}) {
		t.Errorf("in no pool: %+v", r)
	}
}

func TestWhatCannotBeAnswered(t *testing.T) {
	s := full(t, "open", "enforce")
	for _, c := range []struct {
		q    questions.Question
		code string
		text string
	}{
		{questions.Question{APIKeyID: "bob", Pool: "q"}, questions.CodeInvalid, `pool: there is no pool "q"`},
		{questions.Question{APIKeyID: "bob", ConnectionID: "c", At: now - 7_200_000}, questions.CodeAtTooOld, "a replay of the log can answer"},
		{questions.Question{APIKeyID: "bob", Pool: "q", Route: "qtSd/q/kimi/m"}, questions.CodeInvalid, `route: there is no pool "q"`},
		{questions.Question{APIKeyID: "bob", Pool: "p", Route: "qtSd/p/codex/m"}, questions.CodeInvalid, "use qtSd/p/kimi/m"},
	} {
		r := answer(t, s, c.q, View{Seq: 3})
		if r.Err == nil || r.Err.Code != c.code || !strings.Contains(r.Err.Message, c.text) || r.DecisionID != "" {
			t.Errorf("%+v: %+v", c.q, r.Err)
		}
	}
}
