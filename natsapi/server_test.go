package natsapi

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, brokertest.LostChannel) }

// patience bounds what a test waits for; it is never used up by a test that
// passes.
const patience = 10 * time.Second

// runServer runs a broker on a free port until the test ends.
func runServer(tb testing.TB, change func(*server.Options)) *server.Server {
	tb.Helper()
	opts := &server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true}
	if change != nil {
		change(opts)
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		tb.Fatal(err)
	}
	ns.Start()
	tb.Cleanup(func() {
		ns.Shutdown()
		ns.WaitForShutdown()
	})
	if !ns.ReadyForConnections(patience) {
		tb.Fatal("the broker does not start")
	}
	return ns
}

func connect(tb testing.TB, ns *server.Server, options ...nats.Option) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect(ns.ClientURL(), options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// echoing is a small decider: the reason is the model that was asked about, a
// key "panic" panics, and a MinSeq beyond Applied waits for advance.
type echoing struct {
	applied  atomic.Uint64
	waiting  chan struct{} // gets one when a question begins to wait
	advanced chan struct{} // closed by advance

	mu       sync.Mutex
	released []string        // requests
	begun    context.Context // of what was begun and not hurried
	hurry    context.CancelCauseFunc
}

func newEchoing() *echoing {
	d := &echoing{waiting: make(chan struct{}, 100), advanced: make(chan struct{})}
	d.Hurry()
	return d
}

// Begin answers at once what a model "now" is asked about; a pool "many" has many
// connections.
func (d *echoing) Begin(qs []questions.Question, rs []questions.Reply, done func()) bool {
	if qs[0].APIKeyID == "panic" {
		panic("on demand")
	}
	if qs[0].Model == "now" {
		for i := range rs {
			q, r := &qs[i], &rs[i]
			r.Allow, r.Reason, r.HTTPStatus, r.RequestID = true, "now", 200, q.RequestID
			r.AsOf.Time = quota.MinInstant
			r.Opened, r.Explained, r.HasTraffic, r.Dimensions = q.Reserve, q.Explain, q.Explain, make([]questions.Dimension, 5)
			if q.Pool == "many" {
				r.ConnectionID, r.Candidates = "c", make([]questions.RouteCandidate, 100)
			}
		}
		return true
	}
	d.mu.Lock()
	ctx := d.begun
	d.mu.Unlock()
	go func() {
		d.Decide(ctx, qs, rs)
		done()
	}()
	return false
}

func (d *echoing) Hurry() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hurry != nil {
		d.hurry(ErrHurried)
	}
	d.begun, d.hurry = context.WithCancelCause(context.Background())
}

// Release notes what was opened.
func (d *echoing) Release(qs []questions.Question, rs []questions.Reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range rs {
		if rs[i].Opened {
			d.released = append(d.released, qs[i].RequestID)
		}
	}
}

func (d *echoing) advance(seq uint64) {
	d.applied.Store(seq)
	close(d.advanced)
}

func (d *echoing) Applied() uint64 { return d.applied.Load() }

func (d *echoing) Decide(ctx context.Context, qs []questions.Question, rs []questions.Reply) {
	if len(qs) == 0 {
		panic("nothing is asked")
	}
	for i := range qs {
		q, r := &qs[i], &rs[i]
		r.Allow, r.Reason, r.HTTPStatus, r.RequestID = true, q.Model, 200, q.RequestID
		if r.Explained = q.Explain; q.Explain {
			r.Dimensions = make([]questions.Dimension, 5)
		}
		switch {
		case q.APIKeyID == "panic":
			panic("on demand")
		case q.At != 0:
			r.Err = &questions.Error{Code: questions.CodeAtTooOld, Message: "at is before the state"}
		case (q.Reserve || q.MinSeq > d.Applied()) && !d.wait(ctx):
			r.Degraded = append(r.Degraded, "min-seq")
		}
		r.AsOf = questions.AsOf{Seq: d.Applied(), Time: quota.MinInstant}
	}
}

func (d *echoing) wait(ctx context.Context) bool {
	if ctx.Err() == nil {
		select {
		case d.waiting <- struct{}{}:
		default: // more than any test counts
		}
	}
	select {
	case <-d.advanced:
		return true
	case <-ctx.Done():
		return !errors.Is(context.Cause(ctx), ErrHurried) // then nobody would take the answer
	}
}

// rig is a started server with a decider and a client.
type rig struct {
	*testing.T
	ns      *server.Server
	client  *nats.Conn
	decider *echoing
	server  *Server
	served  *dialer
}

// dialer keeps the socket, for tests that cut it.
type dialer struct{ net.Conn }

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (conn net.Conn, err error) {
	d.Conn, err = net.Dial(network, address)
	return d.Conn, err
}

func start(t *testing.T, change func(*server.Options), config Config) *rig {
	t.Helper()
	r := &rig{T: t, ns: runServer(t, change), decider: newEchoing()}
	r.client = connect(t, r.ns)
	r.served = &dialer{}
	config.Conn = connect(t, r.ns, nats.SetCustomDialer(r.served), nats.NoReconnect())
	config.Decider, config.Version = r.decider, "1.2.3"
	r.server = New(config)
	r.must(r.server.Start())
	t.Cleanup(func() { r.must(r.server.Stop(context.Background())) })
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) ask(data string, header nats.Header) *nats.Msg {
	r.Helper()
	m, err := r.client.RequestMsg(&nats.Msg{Subject: questions.Subject, Data: []byte(data), Header: header}, patience)
	r.must(err)
	return m
}

// send asks without waiting; the answer comes to the subscription.
func (r *rig) send(sub *nats.Subscription, data string) {
	r.Helper()
	r.must(r.client.PublishRequest(questions.Subject, sub.Subject, []byte(data)))
}

func (r *rig) inbox() *nats.Subscription {
	r.Helper()
	sub, err := r.client.SubscribeSync(nats.NewInbox())
	r.must(err)
	return sub
}

func (r *rig) next(sub *nats.Subscription) string {
	r.Helper()
	m, err := sub.NextMsg(patience)
	r.must(err)
	return string(m.Data)
}

func TestDiscovery(t *testing.T) {
	r := start(t, nil, Config{})
	m, err := r.client.Request("$SRV.INFO.quotashare", nil, patience)
	r.must(err)
	var info micro.Info
	r.must(json.Unmarshal(m.Data, &info))
	if len(info.Endpoints) != 2 || info.Version != "1.2.3" {
		t.Fatalf("info %+v", info)
	}
	for i, want := range []micro.EndpointInfo{
		{Name: "decide", Subject: "quota.decide", QueueGroup: "quotashare"},
		{Name: "route", Subject: "quota.route", QueueGroup: "quotashare"},
	} {
		if e := info.Endpoints[i]; e.Name != want.Name || e.Subject != want.Subject || e.QueueGroup != want.QueueGroup {
			t.Errorf("endpoint %+v, want %+v", e, want)
		}
	}
	r.ask("7", nil)
	m, err = r.client.Request("$SRV.STATS.quotashare", nil, patience)
	r.must(err)
	var stats struct {
		Endpoints []struct{ Data map[string]uint64 }
	}
	r.must(json.Unmarshal(m.Data, &stats))
	if data := stats.Endpoints[0].Data; data["messages"] != 1 || data["errors"] != 1 || data["waiting"] != 0 {
		t.Errorf("statistics %v", data)
	}
}

// TestSubscribedOnlyWhileStarted: a member of the queue group that does not
// answer would cost its share of all questions.
func TestSubscribedOnlyWhileStarted(t *testing.T) {
	r := start(t, nil, Config{})
	if err := r.server.Start(); !errors.Is(err, ErrStarted) {
		t.Errorf("second start: %v", err)
	}
	for range 2 {
		r.must(r.server.Stop(t.Context()))
		if _, err := r.client.Request(questions.Subject, []byte("{}"), patience); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("a stopped server: %v", err)
		}
		r.must(r.server.Stop(t.Context()))
		r.must(r.server.Start())
		r.ask(`{"apiKeyId":"k","pool":"p"}`, nil)
	}
	idle := New(Config{Conn: r.client, Decider: r.decider})
	r.must(idle.Stop(t.Context()))
	if err := idle.Start(); err == nil {
		t.Error("started without a version")
	}
}

// TestStopAnswersAll stops while a question waits and the broker sends others,
// and then cuts the connection: what the broker has not got by then is lost.
func TestStopAnswersAll(t *testing.T) {
	r := start(t, nil, Config{})
	sub := r.inbox()
	r.send(sub, `{"apiKeyId":"k","pool":"p","minSeq":9,"maxWaitMs":3600000}`)
	<-r.decider.waiting
	const behind = 60
	long := "[" + strings.Repeat(good+",", questions.MaxItems-1) + good + "]"
	for range behind {
		r.send(sub, long)
	}
	r.must(r.client.Flush())
	r.must(r.server.Stop(t.Context()))
	r.must(r.served.Close())
	degraded := 0
	for range behind + 1 {
		if strings.Contains(r.next(sub), `"degraded":["min-seq"]`) {
			degraded++
		}
	}
	if degraded != 1 {
		t.Errorf("%d answers are degraded, want only that of the question that waited", degraded)
	}
}

// stubborn is a decider that never comes to an end before its release.
type stubborn struct {
	*echoing
	release chan struct{}
}

func (d stubborn) Decide(context.Context, []questions.Question, []questions.Reply) {
	d.waiting <- struct{}{}
	<-d.release
}

func (d stubborn) Begin(qs []questions.Question, rs []questions.Reply, done func()) bool {
	go func() {
		d.Decide(context.Background(), qs, rs)
		done()
	}()
	return false
}

// TestStopHeedsItsContext stops while a question cannot be answered, in the
// callback and beside it.
func TestStopHeedsItsContext(t *testing.T) {
	for _, question := range []string{good, `{"apiKeyId":"k","connectionId":"c","reserve":true}`} {
		ns := runServer(t, nil)
		d := stubborn{newEchoing(), make(chan struct{})}
		client := connect(t, ns)
		s := New(Config{Conn: connect(t, ns), Decider: d, Version: "1.0.0"})
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		if err := client.PublishRequest(questions.Subject, "inbox", []byte(question)); err != nil {
			t.Fatal(err)
		}
		<-d.waiting
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: stop: %v", question, err)
		}
		cancel()
		close(d.release)
	}
}

func TestStopOfAClosedConnection(t *testing.T) {
	ns := runServer(t, nil)
	nc := connect(t, ns)
	s := New(Config{Conn: nc, Decider: newEchoing(), Version: "1.0.0"})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestQueueGroup: of several deciders exactly one answers.
func TestQueueGroup(t *testing.T) {
	r := start(t, nil, Config{})
	other := New(Config{Conn: connect(t, r.ns), Decider: r.decider, Version: "1.2.3"})
	r.must(other.Start())
	defer func() { r.must(other.Stop(context.Background())) }()
	const n = 200
	for range n {
		r.ask(`{"apiKeyId":"k","pool":"p"}`, nil)
	}
	mine, its := r.server.Counts().Messages.Load(), other.Counts().Messages.Load()
	if mine+its != n || mine == 0 || its == 0 {
		t.Errorf("%d and %d messages, want %d together", mine, its, n)
	}
}
