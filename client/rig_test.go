package client

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/enginetest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, brokertest.LostChannel) }

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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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

// broker is one of our own that can be stopped and started again.
type broker struct {
	*brokertest.Broker
	t testing.TB
}

func startBroker(t testing.TB) *broker {
	t.Helper()
	return &broker{brokertest.StartAgain(t), t}
}

// log is the stream of events, made when it is not there.
func (b *broker) log(nc *nats.Conn) jetstream.Stream {
	b.t.Helper()
	stream, err := brokertest.Streams(b.t, nc).Stream(within(b.t), "QUOTA")
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
// whose plan is 1,000 tokens a month, of which a full hour takes nothing away, and 100
// percent in 5 hours.
func startEngine(t testing.TB) *engine {
	t.Helper()
	b := startBroker(t)
	nc := b.Connect()
	b.log(nc)
	d := enginetest.Start(t, decider.Options{Conn: nc})
	e := &engine{d.Engine, b, d.Stop}
	e.configure()
	return e
}

func (e *engine) configure() {
	e.t.Helper()
	_, err := e.PutPlan(within(e.t), "c", []plans.Dimension{
		{Unit: quota.Tokens, Window: quota.Monthly, Limit: 1000 * quota.Amount(quota.Tokens.Scale())},
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
	o := Options{URL: b.URL(), Timeout: unhurried, Logger: slog.New(slog.NewTextHandler(said, nil))}
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
