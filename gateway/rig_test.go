package gateway

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/enginetest"
	"github.com/quotashare/quotashare/keyfile"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, brokertest.LostChannel)
}

const (
	aliceToken = "qs-token-of-alice"
	credential = "sk-credential-of-the-account"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within ends long after everything should have happened.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// lines is a log, of all levels.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// engine is a real one, with a broker of its own.
type engine struct {
	*enginetest.Engine
	url string
	nc  *nats.Conn
}

// startEngine has a pool of alice and bob, on a connection c whose plan is that many
// tokens a month: a full hour then takes nothing away.
func startEngine(t testing.TB, tokens int64) *engine {
	t.Helper()
	b := brokertest.Start(t)
	nc, _ := b.Log()
	d := enginetest.Start(t, decider.Options{Conn: nc})
	_, err := d.PutPlan(within(t), "c", []plans.Dimension{
		{Unit: quota.Tokens, Window: quota.Monthly, Limit: quota.Amount(tokens * quota.Tokens.Scale())},
	}, httpapi.Meta{})
	must(t, err)
	pool := &plans.Pool{
		ID: "team", Name: "Team", Provider: "kimi", Reserve: 100, Connections: []plans.Connection{{ConnectionID: "c", Weight: 100}},
		Allocations: []plans.Allocation{{APIKeyID: "alice", Weight: 50 * quota.RatioOne}, {APIKeyID: "bob", Weight: 50 * quota.RatioOne}},
	}
	_, err = d.ChangePool(within(t), pool.ID, func(*plans.Pool) (*plans.Pool, error) { return pool, nil }, httpapi.Meta{})
	must(t, err)
	return &engine{d, b.URL(), nc}
}

// site is a gateway that listens.
type site struct {
	t    testing.TB
	g    *Gateway
	c    *client.Client
	url  string
	said *lines
	http *http.Client
	reg  *prometheus.Registry
	stop func() error // and what the gateway said
}

// nowhere is where no broker is: requests pass because the engine gives no answer.
const nowhere = "nats://127.0.0.1:1"

// rig says what of a gateway is not as usual.
type rig struct {
	base       http.RoundTripper // to providers
	drain      time.Duration     // 0 = 10 s
	readWithin time.Duration     // 0 = as usual
	restWithin time.Duration     // 0 = as usual
	maxWait    time.Duration
	closed     bool // it fails closed
	token      string
}

// start runs a gateway that asks the engine of a broker.
func start(t testing.TB, broker string, connections ...Connection) *site {
	t.Helper()
	return rig{}.start(t, broker, connections...)
}

func (o rig) start(t testing.TB, broker string, connections ...Connection) *site {
	t.Helper()
	s := &site{t: t, said: &lines{}, reg: prometheus.NewRegistry()}
	var err error
	s.c, err = client.New(client.Options{URL: broker, Timeout: 20 * time.Second, FailClosed: o.closed, Logger: s.said.logger()})
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		if broker == nowhere {
			cancel()
		}
		defer cancel()
		_ = s.c.Close(ctx)
	})
	s.g, err = New(Options{
		Client: s.c, Transport: o.base, Token: o.token, MaxWait: o.maxWait, Config: Config{Connections: connections}, Log: s.said.logger(), Registry: s.reg,
		Keys: keyfile.Of(map[string]string{aliceToken: "alice", "qs-token-of-bob": "bob"}),
	})
	must(t, err)
	s.g.readWithin, s.g.restWithin = cmp.Or(o.readWithin, s.g.readWithin), cmp.Or(o.restWithin, s.g.restWithin)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s.url = "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.g.Serve(ctx, l, cmp.Or(o.drain, 10*time.Second)) }()
	s.stop = sync.OnceValue(func() error { cancel(); return <-done })
	tr := &http.Transport{}
	s.http = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		if err := s.stop(); err != nil {
			t.Errorf("the gateway ended with: %v", err)
		}
	})
	return s
}

// upstream is a provider of the test's own, as a connection of OpenAI's kind.
func upstream(t testing.TB, h http.HandlerFunc) Connection {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return Connection{ID: "c", Provider: "kimi", URL: srv.URL + "/v1", Credential: credential}
}

// request is one of alice's, to send with do.
func (s *site) request(method, path, body string) *http.Request {
	s.t.Helper()
	req, err := http.NewRequestWithContext(within(s.t), method, s.url+path, strings.NewReader(body))
	must(s.t, err)
	req.Header.Set("Authorization", "Bearer "+aliceToken)
	return req
}

func (s *site) do(req *http.Request) *http.Response {
	s.t.Helper()
	resp, err := s.http.Do(req)
	must(s.t, err)
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// text reads a body to its end.
func text(t testing.TB, resp *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return string(body)
}

// send returns the whole answer to a request of alice's.
func (s *site) send(method, path, body string) (int, string) {
	s.t.Helper()
	resp := s.do(s.request(method, path, body))
	return resp.StatusCode, text(s.t, resp)
}
