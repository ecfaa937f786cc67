package decider

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, brokertest.LostChannel)
}

// lines collects log lines.
type lines struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	grew chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.grew <- struct{}{}:
	default:
	}
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// running is an engine that runs until stop or the test's end.
type running struct {
	*Engine
	t    *testing.T
	dir  string
	said lines
	stop func()
}

// put writes a pool whatever is there.
func put(ctx context.Context, e *Engine, p *plans.Pool, m httpapi.Meta) (httpapi.Pool, error) {
	return e.ChangePool(ctx, p.ID, func(*plans.Pool) (*plans.Pool, error) { return p, nil }, m)
}

func (r *running) putPool(ctx context.Context, p *plans.Pool, m httpapi.Meta) (httpapi.Pool, error) {
	return put(ctx, r.Engine, p, m)
}

// start runs an engine over the log, with what change makes of it, and waits
// until it answers.
func start(t *testing.T, nc *nats.Conn, dir string, change func(*Engine)) *running {
	t.Helper()
	r := &running{t: t, dir: dir, said: lines{grew: make(chan struct{}, 1)}}
	var err error
	r.Engine, err = New(Options{
		Conn: nc, Dir: dir, Version: "0.0.1", Settings: plans.DefaultSettings(),
		Log: slog.New(slog.NewTextHandler(&r.said, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r.Engine)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err, _ := came(t, done, "the end of the engine"); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(r.stop)
	if err := r.AwaitReady(r.within()); err != nil {
		t.Fatalf("not ready: %v\n%s", err, r.said.String())
	}
	return r
}

// within is a context that ends long after everything should have happened.
func (r *running) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r.t.Cleanup(cancel)
	return ctx
}

func (r *running) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// awaitSaid waits for a line of the log.
func (r *running) awaitSaid(text string) {
	r.t.Helper()
	ctx := r.within()
	for !strings.Contains(r.said.String(), text) {
		select {
		case <-r.said.grew:
		case <-ctx.Done():
			r.t.Fatalf("it never said %q:\n%s", text, r.said.String())
		}
	}
}

func (r *running) ask(q questions.Question) questions.Reply {
	r.t.Helper()
	q.MaxWaitMs = max(q.MaxWaitMs, 1)
	rs := make([]questions.Reply, 1)
	rs[0].Reset()
	r.decide(context.Background(), []questions.Question{q}, rs)
	return rs[0]
}

// send stores a message and returns its sequence.
func (r *running) send(subject string, body []byte) (uint64, error) {
	ack, err := r.js.Publish(r.within(), subject, body)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// publish stores an event and waits until it is folded.
func (r *running) publish(subject, body string) uint64 {
	r.t.Helper()
	seq, err := r.send(subject, []byte(body))
	r.must(err)
	_, err = r.State(r.within(), seq, false)
	r.must(err)
	return seq
}

// team is a pool with one connection and two keys, half and half.
func team(id, connection string) *plans.Pool {
	half := 50 * quota.RatioOne
	return &plans.Pool{
		ID: id, Name: id, Provider: "kimi", Reserve: 100,
		Connections: []plans.Connection{{ConnectionID: connection, Weight: 100}},
		Allocations: []plans.Allocation{{APIKeyID: "alice", Weight: half}, {APIKeyID: "bob", Weight: half}},
	}
}

var aboutAlice = questions.Question{APIKeyID: "alice", ConnectionID: "c"}

func TestQuestionsThatCannotBeAnswered(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	_, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{})
	r.must(err)
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	for _, c := range []struct {
		name string
		q    questions.Question
		code string
	}{
		{"an hour that is over", questions.Question{APIKeyID: "alice", ConnectionID: "c", At: r.now() - 7_200_000}, questions.CodeAtTooOld},
		{"no such pool", questions.Question{APIKeyID: "alice", Pool: "q"}, questions.CodeInvalid},
	} {
		if got := r.ask(c.q); got.Err == nil || got.Err.Code != c.code {
			t.Errorf("%s: %+v, want %s", c.name, got.Err, c.code)
		}
	}
	later := r.ask(questions.Question{APIKeyID: "alice", ConnectionID: "c", At: r.now() + 7_200_000, Explain: true})
	if later.Err != nil || later.Dimensions[0].Consumed != 0 {
		t.Errorf("in two hours: %v %+v, want nothing consumed", later.Err, later.Dimensions)
	}
}

func TestMinSeqIsWaitedFor(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	seq := r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	q := aboutAlice
	q.MinSeq, q.MaxWaitMs = seq+1, 1
	if got := r.ask(q); len(got.Degraded) != 1 || got.Degraded[0] != answers.MinSeq || got.AsOf.Seq != seq {
		t.Errorf("a sequence that does not come: degraded %v as of %d", got.Degraded, got.AsOf.Seq)
	}
	answer := make(chan questions.Reply, 1)
	q.MaxWaitMs = 20_000
	go func() { answer <- r.ask(q) }()
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	if got := await(t, answer, "the answer"); len(got.Degraded) != 0 || got.AsOf.Seq != seq+1 {
		t.Errorf("a sequence that comes: degraded %v as of %d, want %d", got.Degraded, got.AsOf.Seq, seq+1)
	}
}

// TestSilenceOfTheLogIsSaid: no word for longer than maxLag. A closed pool then
// blocks, one that observes does not.
func TestSilenceOfTheLogIsSaid(t *testing.T) {
	nc := startLog(t, t.TempDir())
	var later atomic.Int64
	r := start(t, nc, t.TempDir()+"/state", func(e *Engine) {
		e.now = func() int64 { return time.Now().UnixMilli() + later.Load() }
	})
	for _, c := range []struct {
		name   string
		change func(*plans.Pool)
		reason string
		status int
	}{
		{"open", func(*plans.Pool) {}, "ok", 200},
		{"closed", func(p *plans.Pool) { p.OnDegraded = plans.Closed }, "degraded", 503},
		{"closed and observing", func(p *plans.Pool) { p.OnDegraded, p.Mode = plans.Closed, plans.Observe }, "ok", 200},
		{"closed and off", func(p *plans.Pool) { p.OnDegraded, p.Mode = plans.Closed, plans.Off }, "off", 200},
	} {
		p := team("p", "c")
		p.Connections = append(p.Connections, plans.Connection{ConnectionID: "d", Weight: 100})
		c.change(p)
		_, err := r.putPool(r.within(), p, httpapi.Meta{})
		r.must(err)
		later.Store(6_000) // six seconds on, nothing was heard
		got := r.ask(aboutAlice)
		later.Store(0)
		if blocked := c.status == 503; (len(got.Alternatives) == 0) != blocked {
			t.Errorf("%s: alternatives %v", c.name, got.Alternatives)
		}
		if got.Reason != c.reason || got.HTTPStatus != c.status || got.Allow != (c.status == 200) ||
			len(got.Degraded) != 1 || got.Degraded[0] != answers.Lag {
			t.Errorf("%s: %s %d, degraded %v", c.name, got.Reason, got.HTTPStatus, got.Degraded)
		}
	}
}

// TestSettingsComeFromTheEnvironment: into the log, once, by the last start.
func TestSettingsComeFromTheEnvironment(t *testing.T) {
	nc := startLog(t, t.TempDir())
	set := func(s plans.Setting, n int64) func(*Engine) {
		return func(e *Engine) { e.o.Settings[s] = plans.SettingValue{N: n, Origin: plans.Environment} }
	}
	a := start(t, nc, t.TempDir()+"/a", set(plans.MaxLagMs, 7_000))
	inForce := func(r *running, n int64) plans.SettingValue {
		t.Helper()
		ctx := r.within()
		for {
			applied := r.Applied() // before the look, so that no change falls between
			got := r.current.Load().state.Settings()[plans.MaxLagMs]
			if got.N == n {
				return got
			}
			r.must(r.current.Load().loop.Wait(ctx, applied+1))
		}
	}
	first := inForce(a, 7_000)
	if first.Origin != plans.Environment || first.From == "" {
		t.Errorf("in force: %+v, want from an environment that is named", first)
	}
	seq := a.Applied()
	a.stop()
	a = start(t, nc, a.dir, set(plans.MaxLagMs, 7_000))
	b := start(t, nc, t.TempDir()+"/b", set(plans.MaxLagMs, 8_000))
	inForce(b, 8_000)
	if got := b.Applied(); got != seq+1 {
		t.Errorf("%d events after two more starts, want one more than %d", got, seq)
	}
	if !strings.Contains(b.said.String(), "sets this differently") || !strings.Contains(b.said.String(), "theirs=7000") {
		t.Errorf("the one that replaces said:\n%s", b.said.String())
	}
	a.awaitSaid("has replaced this setting")
}

// TestStoredBeforeEnvironmentBeforeDefault, and where a stored value is taken
// away the environment's comes back, whoever takes it away.
func TestStoredBeforeEnvironmentBeforeDefault(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a := start(t, nc, t.TempDir()+"/a", func(e *Engine) {
		e.o.Settings[plans.MaxLagMs] = plans.SettingValue{N: 7_000, Origin: plans.Environment}
	})
	b := start(t, nc, t.TempDir()+"/b", nil)
	is := func(s httpapi.Settings, n int64, o plans.Origin) {
		t.Helper()
		if got := s.Values[plans.MaxLagMs]; got.N != n || got.Origin != o {
			t.Errorf("maxLagMs is %d from %s, want %d from %s", got.N, got.Origin, n, o)
		}
	}
	store := func(n int64, o plans.Origin) func(plans.Settings) (plans.Settings, error) {
		return func(s plans.Settings) (plans.Settings, error) {
			s[plans.MaxLagMs] = plans.SettingValue{N: n, Origin: o}
			return s, nil
		}
	}
	initial := plans.DefaultSettings()[plans.MaxLagMs].N
	for _, r := range []*running{a, b} {
		made, err := r.ChangeSettings(r.within(), store(9_000, plans.Stored), httpapi.Meta{Actor: "ops"})
		r.must(err)
		is(made, 9_000, plans.Stored)
		if made.Actor != "ops" || made.Revision == 0 || made.UpdatedAt == 0 {
			t.Errorf("the change is stamped %+v", made.Stamp)
		}
		made, err = r.ChangeSettings(r.within(), store(initial, plans.Default), httpapi.Meta{})
		r.must(err)
		settled := made.Revision
		if r == a {
			is(made, 7_000, plans.Environment)
		} else { // b was told nothing; a will see to it
			is(made, initial, plans.Default)
			settled++
		}
		_, err = a.State(a.within(), settled, false)
		r.must(err)
		is(a.Settings(), 7_000, plans.Environment)
	}
}

// TestRejectionsArriveOnce, however many engines find them, and after a
// restart too.
func TestRejectionsArriveOnce(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	seq := a.publish("quota.consumption", `[{"apiKeyId":"alice"},{"apiKeyId":"alice","connectionId":"c"},7]`)
	_, err := b.State(b.within(), seq, false)
	a.must(err)
	a.stop()
	b.stop()
	a = start(t, nc, a.dir, nil)
	list := a.rejected(2)
	if list[0].Seq != seq || list[0].Index != 0 || list[1].Index != 2 || list[1].Reason != events.Invalid {
		t.Errorf("rejected: %+v", list)
	}
}

// TestWhatIsThereAlreadyIsDelivered: the stream refuses a second message, and
// the store forgets it. Another event at the same place, of a log that was
// rolled back, makes way.
func TestWhatIsThereAlreadyIsDelivered(t *testing.T) {
	js, err := jetstream.New(startLog(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"7", "7", "8"} {
		store := memstore.New()
		s := projector.NewState(store)
		var run projector.Run
		run.Add(events.Message{Subject: "quota.consumption", Data: []byte(body), Seq: 1, Time: 1_790_000_000_000})
		b := store.NewBatch()
		if err := errors.Join(s.Apply(&run), s.Cut(b), store.Commit(b)); err != nil {
			t.Fatal(err)
		}
		o := newOutbox(js, store, slog.New(slog.DiscardHandler))
		if err := o.deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, err := projector.Rejections(store, 9); err != nil || len(left) != 0 {
			t.Errorf("%s: %d left, %v", body, len(left), err)
		}
		stream, err := js.Stream(t.Context(), events.RejectedStream)
		if err != nil {
			t.Fatal(err)
		}
		m, err := stream.GetLastMsgForSubject(t.Context(), "quota.rejected.1.0")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := events.ParseRejected(m.Data); err != nil || string(r.Data) != body || stream.CachedInfo().State.Msgs != 1 {
			t.Errorf("%s: the stream has %q in %d messages, %v", body, r.Data, stream.CachedInfo().State.Msgs, err)
		}
	}
}

// TestUndeliveredRejectionsStay in the store for the next try.
func TestUndeliveredRejectionsStay(t *testing.T) {
	nc := startLog(t, t.TempDir())
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), events.RejectedStream); err != nil {
		t.Fatal(err)
	}
	store := memstore.New()
	s := projector.NewState(store)
	var run projector.Run
	run.Add(events.Message{Subject: "quota.consumption", Data: []byte("7"), Seq: 1, Time: 1_790_000_000_000})
	b := store.NewBatch()
	if err := errors.Join(s.Apply(&run), s.Cut(b), store.Commit(b)); err != nil {
		t.Fatal(err)
	}
	if err := newOutbox(js, store, slog.New(slog.DiscardHandler)).deliver(t.Context()); err == nil {
		t.Error("delivered to a stream that is not there")
	}
	if left, err := projector.Rejections(store, 9); err != nil || len(left) != 1 {
		t.Errorf("%d left, %v, want the one that nobody has", len(left), err)
	}
}

// TestADamagedStoreIsSetAside and the state is the same afterwards.
func TestADamagedStoreIsSetAside(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	seq := r.publish("quota.consumption", `{"id":"1","apiKeyId":"alice","connectionId":"c"}`)
	want, err := r.State(r.within(), seq, true)
	r.must(err)
	r.stop()
	names, err := os.ReadDir(r.dir)
	r.must(err)
	for _, n := range names {
		if strings.HasPrefix(n.Name(), "MANIFEST") {
			r.must(os.WriteFile(r.dir+"/"+n.Name(), []byte("no manifest"), 0o600))
		}
	}
	r = start(t, nc, r.dir, nil)
	got, err := r.State(r.within(), seq, true)
	r.must(err)
	if got.Digest != want.Digest {
		t.Errorf("digest %s, want %s", got.Digest, want.Digest)
	}
	if !strings.Contains(r.said.String(), "setting the store aside") {
		t.Errorf("said:\n%s", r.said.String())
	}
	if _, err := os.Stat(r.dir + ".aside"); err != nil {
		t.Errorf("the damaged store is not kept: %v", err)
	}
}

func TestDecisionIDs(t *testing.T) {
	a, b := newDecisionIDs(), newDecisionIDs()
	x, y, z := a.next(), a.next(), b.next()
	if x == y || x[:9] != y[:9] || x[:9] == z[:9] {
		t.Errorf("ids %s %s %s", x, y, z)
	}
}

// TestEveryMinSeqIsWaitedFor as long as its own question allows, also in one array.
func TestEveryMinSeqIsWaitedFor(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	seq := r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	never, soon := aboutAlice, aboutAlice
	never.MinSeq, never.MaxWaitMs = seq+1000, 1
	soon.MinSeq, soon.MaxWaitMs = seq+1, 20_000
	rs := make([]questions.Reply, 3)
	done := returned(func() { r.Decide(context.Background(), []questions.Question{never, soon, never}, rs) })
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	await(t, done, "the answer to all")
	for i, want := range []int{1, 0, 1} {
		if got := rs[i].Degraded; len(got) != want {
			t.Errorf("question %d: degraded %v", i, got)
		}
	}
}

// TestWhatWasHeldThenIsGone: of a time before a hold was taken only a replay can tell.
func TestWhatWasHeldThenIsGone(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	oneLimit(r, 10)
	before := r.publish("quota.due", `{}`)
	held := r.folded(held("r-1"))
	for _, c := range []struct {
		at   int64
		want string
	}{{held.AsOf.Time - 1, questions.CodeAtTooOld}, {held.AsOf.Time, ""}, {held.AsOf.Time + 1, ""}} {
		q := aboutAlice
		q.At = c.at
		if got := r.ask(q); (got.Err == nil) != (c.want == "") || got.Err != nil && got.Err.Code != c.want {
			t.Errorf("%d ms after the hold: %+v, want %q (after %d)", c.at-held.AsOf.Time, got.Err, c.want, before)
		}
	}
}
