package client

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, ofEngines) }

// ofEngines is a goroutine of nats.go that an engine which stops may leave behind when
// its publisher is cleaned up before that goroutine has taken its channel. A client
// publishes in another way and never has it.
var ofEngines = goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect")

// lines collects a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	turn chan struct{} // closed, and replaced, at every write
}

func newLines() *lines { return &lines{turn: make(chan struct{})} }

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.turn)
	l.turn = make(chan struct{})
	return l.text.Write(p)
}

func (l *lines) now() (string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.turn
}

// count is how often something was said.
func (l *lines) count(words string) int {
	text, _ := l.now()
	return strings.Count(text, words)
}

// await returns when it was said.
func (l *lines) await(t *testing.T, words string) {
	t.Helper()
	ctx := within(t)
	for {
		text, turn := l.now()
		if strings.Contains(text, words) {
			return
		}
		select {
		case <-turn:
		case <-ctx.Done():
			t.Fatalf("nobody said %q:\n%s", words, text)
		}
	}
}

// within ends long after everything should have happened.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustToo is must for other goroutines than the test's.
func mustToo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// broker is an embedded log that can be stopped and started again at the same
// address.
type broker struct {
	t    testing.TB
	dir  string
	addr string
	srv  *ingest.Server // nil = stopped
}

func startBroker(t testing.TB) *broker {
	t.Helper()
	b := &broker{t: t, dir: filepath.Join(t.TempDir(), "nats"), addr: freeAddr(t)}
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *broker) start() {
	b.t.Helper()
	srv, err := ingest.Start(ingest.Options{Dir: b.dir, Addr: b.addr, Sync: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	must(b.t, err)
	b.srv = srv
}

func (b *broker) stop() {
	if b.srv == nil {
		return
	}
	if err := b.srv.Shutdown(); err != nil {
		b.t.Error(err)
	}
	b.srv = nil
}

func (b *broker) url() string { return "nats://" + b.addr }

// freeAddr stays below the ports that the system gives to those who do not choose.
func freeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(20_000+rand.IntN(10_000)))
		if l, err := net.Listen("tcp", addr); err == nil {
			must(t, l.Close())
			return addr
		}
	}
	t.Fatal("no free port between 20000 and 30000")
	return ""
}

// connect returns a connection that outlives restarts of the broker.
func (b *broker) connect() *nats.Conn {
	b.t.Helper()
	nc, err := nats.Connect(b.url(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	must(b.t, err)
	b.t.Cleanup(nc.Close)
	return nc
}

// log is the stream of events, made when it is not there.
func (b *broker) log(nc *nats.Conn) jetstream.Stream {
	b.t.Helper()
	js, err := jetstream.New(nc)
	must(b.t, err)
	_, err = ingest.EnsureStreams(within(b.t), js, ingest.Configs(14, 1))
	must(b.t, err)
	stream, err := js.Stream(within(b.t), "QUOTA")
	must(b.t, err)
	return stream
}

// messages returns the bodies of the log by their sequence from 1 on.
func messages(t testing.TB, stream jetstream.Stream) (bodies []string) {
	t.Helper()
	info, err := stream.Info(within(t))
	must(t, err)
	for seq := uint64(1); seq <= info.State.LastSeq; seq++ {
		m, err := stream.GetMsg(within(t), seq)
		must(t, err)
		bodies = append(bodies, string(m.Data))
	}
	return bodies
}

// engine is a real decider.
type engine struct {
	*decider.Engine
	*broker
	stopEngine func()
}

// startEngine runs an engine, with a pool team of alice and bob on the connection c
// whose plan is 1,000 tokens an hour and 100 percent in 5 hours.
func startEngine(t testing.TB) *engine {
	t.Helper()
	e := &engine{broker: startBroker(t)}
	nc := e.connect()
	e.log(nc)
	var err error
	e.Engine, err = decider.New(decider.Options{Conn: nc, Dir: filepath.Join(t.TempDir(), "state"), Version: "0.0.1", Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	e.stopEngine = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the engine ended with: %v", err)
		}
	})
	t.Cleanup(e.stopEngine)
	must(t, e.AwaitReady(within(t)))
	e.configure()
	return e
}

func (e *engine) configure() {
	e.t.Helper()
	_, err := e.PutPlan(within(e.t), "c", []plans.Dimension{
		{Unit: quota.Tokens, Window: quota.Hourly, Limit: 1000 * quota.Amount(quota.Tokens.Scale())},
		{Unit: quota.Percent, Window: quota.FiveHour, Limit: 100 * quota.Amount(quota.Percent.Scale())},
	}, httpapi.Meta{})
	must(e.t, err)
	half := 50 * quota.RatioOne
	e.putPool(&plans.Pool{
		ID: "team", Name: "Team", Provider: "kimi", Reserve: 100,
		Connections: []plans.Connection{{ConnectionID: "c", Weight: 100}},
		Allocations: []plans.Allocation{{APIKeyID: "alice", Weight: half}, {APIKeyID: "bob", Weight: half}},
	})
}

func (e *engine) putPool(p *plans.Pool) {
	e.t.Helper()
	_, err := e.ChangePool(within(e.t), p.ID, func(*plans.Pool) (*plans.Pool, error) { return p, nil }, httpapi.Meta{})
	must(e.t, err)
}

// folded waits until the engine has everything that the client published.
func (e *engine) folded(c *Client) httpapi.State {
	e.t.Helper()
	must(e.t, c.Flush(within(e.t)))
	now, err := e.State(within(e.t), 0, false)
	must(e.t, err)
	s, err := e.State(within(e.t), now.LastSeq, false)
	must(e.t, err)
	return s
}

// client returns a client of the broker, closed at the test's end, and its log.
func (b *broker) client(change func(*Options)) (*Client, *lines) {
	b.t.Helper()
	said := newLines()
	o := Options{URL: b.url(), Timeout: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(said, nil))}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	must(b.t, err)
	b.t.Cleanup(func() { _ = c.Close(within(b.t)) })
	return c, said
}

// decide asks what must be answered.
func decide(t testing.TB, c *Client, q Question) Decision {
	t.Helper()
	d, err := c.Decide(within(t), q)
	must(t, err)
	return d
}

// about is a question of alice that holds tokens.
func about(request string, tokens int64) Question {
	return Question{APIKeyID: "alice", ConnectionID: "c", RequestID: request, Reserve: true, Estimate: Amounts{Tokens: tokens}}
}
