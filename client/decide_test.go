package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// TestACallFromQuestionToSettlement walks the whole way.
func TestACallFromQuestionToSettlement(t *testing.T) {
	e := startEngine(t)
	c, _ := e.client(nil)
	first := decide(t, c, about("", 800))
	if !first.Allow || first.Reason != "ok" || first.Status != 200 || first.ScoreFactor != 1 || first.Hold.RequestID == "" {
		t.Fatalf("the first: %+v", first)
	}
	second := decide(t, c, Question{APIKeyID: "bob", ConnectionID: "c", Estimate: Amounts{Tokens: 800}, Explain: true})
	if second.Allow || second.Reason != "global-saturated" || second.Status != 429 || second.Message == "" || second.RetryAfter <= 0 ||
		second.RetryAt.Before(time.Now()) || second.Binding == nil || second.Binding.Unit != quota.Tokens || second.Scope != "connection" && second.Scope != "pool" {
		t.Fatalf("beside its hold: %+v", second)
	}
	if held := second.Dimensions[0].HeldTotal; held != 800_000 {
		t.Errorf("held %d, want 800 tokens", held)
	}
	must(t, c.Settle(first.Hold, Amounts{Tokens: 150}))
	e.folded(c)
	third := decide(t, c, about("r", 800))
	if !third.Allow || third.Hold != (Hold{APIKeyID: "alice", ConnectionID: "c", RequestID: "r"}) {
		t.Fatalf("after its settlement: %+v", third)
	}
	must(t, c.Release(third.Hold))
	e.folded(c)
	if last := decide(t, c, Question{APIKeyID: "alice", ConnectionID: "c", Explain: true}); last.Dimensions[0].HeldTotal != 0 || last.Dimensions[0].Consumed != 150_000 {
		t.Errorf("at the end: %+v, want nothing held and 150 consumed", last.Dimensions[0])
	}
	s := c.Stats()
	if s.Allowed != 3 || s.Blocked != 1 || s.FailedOpen+s.FailedClosed+s.Invalid != 0 {
		t.Errorf("counted %+v", s)
	}
}

// TestARenewalHoldsOn: it lets the hold be, and the price that splits points.
func TestARenewalHoldsOn(t *testing.T) {
	e := startEngine(t)
	c, _ := e.client(nil)
	d := decide(t, c, about("r", 500))
	must(t, c.Publish(Saturation{ConnectionID: "c", Readings: []Reading{{Window: "5h", UsedPercent: 10 * Point}}}))
	e.folded(c)
	must(t, c.Publish(Consumption{APIKeyID: "alice", ConnectionID: "c", Cost: Amounts{Tokens: 1, USD: 3 * Cent}}))
	must(t, c.Publish(Consumption{APIKeyID: "bob", ConnectionID: "c", Cost: Amounts{Tokens: 1, USD: 1 * Cent}}))
	must(t, c.Renew(d.Hold))
	e.folded(c)
	must(t, c.Publish(Saturation{ConnectionID: "c", Readings: []Reading{{Window: "5h", UsedPercent: 50 * Point}}}))
	e.folded(c)
	now := decide(t, c, Question{APIKeyID: "alice", ConnectionID: "c", Explain: true})
	if held := now.Dimensions[0].Held; held != 500_000 {
		t.Errorf("held %d after the renewal, want 500 tokens", held)
	}
	if part := now.Dimensions[1].Consumed; part != quota.Amount(30*Point) {
		t.Errorf("alice has %s of 40 points, want 30: three parts of four of the price", Percent(part))
	}
}

// hung listens where the engine does, and answers what it is told, or nothing.
func hung(t *testing.T, b *broker, answer string) {
	t.Helper()
	nc := b.Connect()
	_, err := nc.QueueSubscribe(questions.Subject, "q", func(m *nats.Msg) {
		if answer != "" {
			_ = m.Respond([]byte(answer))
		}
	})
	must(t, err)
	must(t, nc.Flush())
}

// noAnswer are the ways to have none.
var noAnswer = []struct {
	cause   Cause
	timeout time.Duration // what comes at once comes within it on a busy machine too
	prepare func(*testing.T, *broker)
}{
	{NoResponders, unhurried, func(*testing.T, *broker) {}},
	{Timeout, 250 * time.Millisecond, func(t *testing.T, b *broker) { hung(t, b, "") }},
	{BadReply, unhurried, func(t *testing.T, b *broker) { hung(t, b, "no JSON") }},
	{BadReply, unhurried, func(t *testing.T, b *broker) { hung(t, b, `{"decision":"perhaps"}`) }},
	{BadReply, unhurried, func(t *testing.T, b *broker) { hung(t, b, `[{"decision":"allow"},{"decision":"allow"}]`) }},
	{EngineError, unhurried, func(t *testing.T, b *broker) {
		hung(t, b, `{"error":{"message":"a fault","type":"server_error","code":"internal"}}`)
	}},
	{Disconnected, unhurried, func(_ *testing.T, b *broker) { b.Stop() }},
}

// unhurried is the time limit of a question that is answered at once, and half of it is
// more than that takes.
const unhurried = 20 * time.Second

func TestWithoutAnAnswerRequestsPass(t *testing.T) {
	for _, tt := range noAnswer {
		t.Run(string(tt.cause), func(t *testing.T) {
			b := startBroker(t)
			nc := b.Connect()
			c, said := b.client(func(o *Options) { o.URL, o.Conn, o.Timeout = "", nc, tt.timeout })
			tt.prepare(t, b)
			awaitLoss(t, b, c.Connected)
			began := time.Now()
			d := decide(t, c, about("", 1))
			if took := time.Since(began); took > unhurried/2 {
				t.Errorf("the answer took %s", took)
			}
			if !d.Allow || d.Reason != ReasonFailOpen || d.Status != 200 || d.ScoreFactor != 1 || !slices.Equal(d.Degraded, []string{string(tt.cause)}) || d.Detail == "" {
				t.Errorf("decided %+v", d)
			}
			if d.Hold.RequestID == "" || d.Hold.APIKeyID != "alice" {
				t.Errorf("its hold is %+v, which cannot be settled", d.Hold)
			}
			if s := c.Stats(); s.FailedOpen != 1 || s.Failures[tt.cause] != 1 || s.Allowed+s.Blocked+s.FailedClosed+s.Published != 0 {
				t.Errorf("counted %+v", s)
			}
			if said.count("requests pass unchecked") != 1 || said.count("cause="+string(tt.cause)) != 1 {
				text, _ := said.now()
				t.Errorf("said\n%s", text)
			}
		})
	}
}

// awaitLoss waits until a client knows that its broker is stopped.
func awaitLoss(t *testing.T, b *broker, connected func() bool) {
	t.Helper()
	for ctx := within(t); !b.Running() && connected(); runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatal("the client does not notice")
		}
	}
}

func TestWithoutAnAnswerAClosedClientBlocks(t *testing.T) {
	for _, tt := range noAnswer {
		t.Run(string(tt.cause), func(t *testing.T) {
			b := startBroker(t)
			nc := b.Connect()
			stream := b.log(nc)
			c, said := b.client(func(o *Options) {
				o.URL, o.Conn, o.Timeout, o.FailClosed = "", nc, tt.timeout, true
			})
			tt.prepare(t, b)
			awaitLoss(t, b, c.Connected)
			d := decide(t, c, about("r", 1))
			if d.Allow || d.Reason != ReasonDegraded || d.Status != 503 || !slices.Equal(d.Degraded, []string{string(tt.cause)}) || d.Message == "" {
				t.Errorf("decided %+v", d)
			}
			if s := c.Stats(); s.FailedClosed != 1 || s.Failures[tt.cause] != 1 || s.FailedOpen != 0 {
				t.Errorf("counted %+v", s)
			}
			if said.count("requests are blocked") != 1 {
				text, _ := said.now()
				t.Errorf("said\n%s", text)
			}
			// Of one whose name is ours nothing can be held when nobody heard of it.
			before := c.Stats().Published
			unnamed := decide(t, c, about("", 1))
			must(t, c.Release(unnamed.Hold))
			unheard := tt.cause == Disconnected || tt.cause == NoResponders
			if more := c.Stats().Published > before; more == unheard {
				t.Errorf("published about it: %t", more)
			}
			if tt.cause == Disconnected {
				b.Start()
			}
			must(t, c.Flush(within(t)))
			if list := messages(t, stream); len(list) == 0 || !strings.Contains(list[0], `"requestId":"r"`) || strings.Contains(list[0], "cost") {
				t.Errorf("the log has %q, want the release of r", list)
			}
		})
	}
}

// TestADeadDecider: the real one, which was there and is not any more.
func TestADeadDecider(t *testing.T) {
	e := startEngine(t)
	c, said := e.client(func(o *Options) { o.Timeout = unhurried })
	awaitAnswers(t, c)
	e.stopEngine()
	began := time.Now()
	if d := decide(t, c, about("", 1)); !d.Allow || d.Reason != ReasonFailOpen {
		t.Errorf("dead: %+v", d)
	}
	if took := time.Since(began); took > unhurried/2 {
		t.Errorf("the answer took %s", took)
	}
	said.await(t, "requests pass unchecked")
	said.await(t, "cause=no-responders")
	if s := c.Stats(); s.FailedOpen != 1 || s.Failures[NoResponders] != 1 {
		t.Errorf("counted %+v", s)
	}
}

// TestEngineAnswersBeforeTheDeadline: a log that takes no holds costs the verdict,
// not the answer.
func TestEngineAnswersBeforeTheDeadline(t *testing.T) {
	e := startEngine(t)
	c, _ := e.client(nil)
	js, err := jetstream.New(e.Connect())
	must(t, err)
	cfg := ingest.Configs(14, 1)[0]
	cfg.MaxMsgSize = 1
	_, err = js.UpdateStream(within(t), cfg)
	must(t, err)
	q := about("", 1)
	q.MaxWait = 100 * time.Millisecond // what a deadline leaves for the way is little on a busy machine
	d := decide(t, c, q)
	if !d.Allow || d.Reason != "ok" || !slices.Equal(d.Degraded, []string{"no-hold"}) {
		t.Errorf("decided %+v, want the engine's own answer without a verdict", d)
	}
	if s := c.Stats(); s.Allowed != 1 || s.Degraded != 1 || s.FailedOpen != 0 {
		t.Errorf("counted %+v", s)
	}
}

// TestAHoldIsForOneRequest: unless it says otherwise.
func TestAHoldIsForOneRequest(t *testing.T) {
	for _, tt := range []struct {
		reserve  bool
		estimate Amounts
		want     quota.Amount
	}{
		{true, Amounts{Tokens: 5}, 1000},
		{true, Amounts{Requests: 2}, 2000},
		{true, Amounts{NoRequests: true}, 0},
		{false, Amounts{Tokens: 5}, 0},
	} {
		q := Question{APIKeyID: "alice", ConnectionID: "c", Reserve: tt.reserve, Estimate: tt.estimate}
		f, err := q.form()
		must(t, err)
		if got := f.Estimate[quota.Requests]; got != tt.want {
			t.Errorf("%+v: %d requests, want %d", tt, got, tt.want)
		}
	}
}

// TestTheSoonerDeadlineCounts: of the options and of the context.
func TestTheSoonerDeadlineCounts(t *testing.T) {
	b := startBroker(t)
	hung(t, b, "")
	for _, tt := range []struct{ own, callers time.Duration }{{10 * time.Millisecond, time.Hour}, {time.Hour, 10 * time.Millisecond}} {
		c, _ := b.client(func(o *Options) { o.Timeout = tt.own })
		ctx, cancel := context.WithTimeout(t.Context(), tt.callers)
		d, err := c.Decide(ctx, about("", 1))
		must(t, err)
		if !d.Allow || !slices.Equal(d.Degraded, []string{string(Timeout)}) {
			t.Errorf("%+v: %+v", tt, d)
		}
		cancel()
	}
}

// TestWhoLeavesIsNoOutage: it is counted and not said.
func TestWhoLeavesIsNoOutage(t *testing.T) {
	b := startBroker(t)
	c, said := b.client(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, err := c.Decide(ctx, about("", 1))
	must(t, err)
	if s := c.Stats(); s.Left != 1 || s.FailedOpen != 0 {
		t.Errorf("counted %+v", s)
	}
	if !slices.Equal(d.Degraded, []string{string(Canceled)}) || c.Stats().Failures[Canceled] != 1 || said.count("no answer") != 0 {
		text, _ := said.now()
		t.Errorf("decided %+v, said\n%s", d, text)
	}
}

// TestBadQuestionsNeverPass: also while nobody is there to refuse them.
func TestBadQuestionsNeverPass(t *testing.T) {
	dead := startBroker(t)
	e := startEngine(t)
	far := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, want string
		q          Question
	}{
		{"no key", "apiKeyId is missing", Question{ConnectionID: "c"}},
		{"no connection", "connectionId is missing", Question{APIKeyID: "alice"}},
		{"both", "pool is there beside connectionId", Question{APIKeyID: "alice", ConnectionID: "c", Pool: "team"}},
		{"hold by pool", "reserve needs a connectionId", Question{APIKeyID: "alice", Pool: "team", Reserve: true}},
		{"hold then", "reserve is there beside at", Question{APIKeyID: "alice", ConnectionID: "c", Reserve: true, At: far}},
		{"no UTF-8", "apiKeyId is not valid UTF-8", Question{APIKeyID: "al\xffce", ConnectionID: "c"}},
		{"control", "model has a control character", Question{APIKeyID: "alice", ConnectionID: "c", Model: "a\nb"}},
		{"too much", "estimate.tokens is beyond", Question{APIKeyID: "alice", ConnectionID: "c", Estimate: Amounts{Tokens: 1e12 + 1}}},
		{"overflow", "estimate.requests is beyond", Question{APIKeyID: "alice", ConnectionID: "c", Estimate: Amounts{Requests: math.MaxInt64/1000 + 2}}},
		{"negative", "estimate.tokens is negative", Question{APIKeyID: "alice", ConnectionID: "c", Estimate: Amounts{Tokens: -1}}},
		{"lease", "leaseMs", Question{APIKeyID: "alice", ConnectionID: "c", Reserve: true, Lease: 2 * time.Hour}},
		{"negative lease", "leaseMs", Question{APIKeyID: "alice", ConnectionID: "c", Reserve: true, Lease: -time.Hour}},
	} {
		for _, b := range []*broker{dead, e.broker} {
			c, _ := b.client(nil)
			d, err := c.Decide(within(t), tt.q)
			var bad *questions.Error
			if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), tt.want) || d.Allow || c.Stats().Invalid != 1 || c.Stats().FailedOpen != 0 {
				t.Errorf("%s: %+v, %v, want %q", tt.name, d, err, tt.want)
			}
		}
	}
	c, _ := e.client(nil)
	awaitAnswers(t, c)
	if _, err := c.Decide(within(t), Question{APIKeyID: "alice", Pool: "nobodys"}); err == nil || c.Stats().Invalid != 1 {
		t.Errorf("what only the engine knows to be wrong: %v", err)
	}
}

// awaitAnswers waits until the client is connected and has answers.
func awaitAnswers(t testing.TB, c *Client) {
	t.Helper()
	ctx := within(t)
	for ctx.Err() == nil {
		if d := decide(t, c, Question{APIKeyID: "alice", ConnectionID: "c"}); d.Reason != ReasonFailOpen {
			return
		}
	}
	t.Fatal("the client has no answers")
}

// TestBatchesAreSplit: by their number, by their size, and by that of their answers.
func TestBatchesAreSplit(t *testing.T) {
	e := startEngine(t)
	c, _ := e.client(func(o *Options) { o.Timeout = 25 * time.Second })
	var dims []plans.Dimension
	for w := quota.Hourly; w <= quota.Monthly; w++ {
		dims = append(dims, plans.Dimension{Unit: quota.Tokens, Window: w}, plans.Dimension{Unit: quota.Requests, Window: w})
	}
	_, err := e.PutPlan(within(t), "c", dims, httpapi.Meta{}) // an answer that explains has some 3,000 bytes
	must(t, err)
	long := strings.Repeat("m", 250)
	for _, tt := range []struct {
		name string
		make func(i int) Question
	}{
		{"many", func(i int) Question { return Question{APIKeyID: "alice", ConnectionID: "c", RequestID: fmt.Sprint(i)} }},
		{"long", func(i int) Question {
			return Question{APIKeyID: long, ConnectionID: long, Model: long, RequestID: fmt.Sprint(i) + "-" + long}
		}},
		{"long answers", func(i int) Question {
			return Question{APIKeyID: "alice", ConnectionID: "c", RequestID: fmt.Sprint(i) + "-" + long, Explain: true}
		}},
	} {
		list := make([]Question, 2100)
		for i := range list {
			list[i] = tt.make(i)
		}
		list[1234].APIKeyID = ""
		answers := c.DecideBatch(within(t), list)
		for i, a := range answers {
			switch {
			case i == 1234:
				if a.Err == nil || a.Allow {
					t.Errorf("%s: the bad one: %+v", tt.name, a)
				}
			case a.Err != nil || a.Reason == ReasonFailOpen || a.Hold.RequestID != list[i].RequestID:
				t.Fatalf("%s: answer %d: %+v", tt.name, i, a)
			}
		}
	}
	if got := c.DecideBatch(within(t), nil); len(got) != 0 {
		t.Errorf("no questions have %d answers", len(got))
	}
}

// TestABatchSeesItsHolds: one after the other, over the borders of messages.
func TestABatchSeesItsHolds(t *testing.T) {
	e := startEngine(t)
	c, _ := e.client(func(o *Options) { o.Timeout = 25 * time.Second })
	q := about("", 1)
	q.APIKeyID = "carol" // who has no share, and so all that is left
	list := slices.Repeat([]Question{q}, 1200)
	answers := c.DecideBatch(within(t), list)
	for i, a := range answers {
		if a.Err != nil || a.Allow != (i < 1000) || len(a.Degraded) > 0 {
			t.Fatalf("answer %d of 1,000 that fit: %+v", i, a)
		}
	}
}

func TestOneLineForACauseAndTime(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	l := newLines()
	s := newSaid(slog.New(slog.NewTextHandler(l, nil)))
	s.now = func() time.Time { return now }
	for range 5 {
		s.warn("timeout", "w", errBadReply)
	}
	s.warn("bad-reply", "w", errBadReply)
	now = now.Add(sayEvery - 1)
	s.warn("timeout", "w", errBadReply)
	if n := l.count("\n"); n != 2 {
		t.Errorf("%d lines for two causes", n)
	}
	now = now.Add(1)
	s.warn("timeout", "w", errBadReply)
	if l.count("\n") != 3 || l.count("cause=timeout count=6") != 1 {
		text, _ := l.now()
		t.Errorf("said\n%s", text)
	}
}

// TestWhatTheBrokerForbidsIsSaidOnce: and not for each request.
func TestWhatTheBrokerForbidsIsSaidOnce(t *testing.T) {
	b := startBroker(t)
	l := newLines()
	o, err := Options{URL: b.URL(), Logger: slog.New(slog.NewTextHandler(l, nil))}.prepare()
	must(t, err)
	opts, err := connectOptions(&o)
	must(t, err)
	nc, err := nats.Connect(b.URL(), opts...)
	must(t, err)
	defer nc.Close()
	for range 3 {
		nc.Opts.AsyncErrorCB(nc, nil, nats.ErrPermissionViolation)
	}
	if l.count("refuses something") != 1 {
		text, _ := l.now()
		t.Errorf("said\n%s", text)
	}
}
