package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/fakeprovider"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/enginetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, brokertest.LostChannel)
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

// within ends long after everything should have happened.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// token is what the engine asks for.
const token = "secret"

// engine is a real one: a broker, a decider and its HTTP API.
type engine struct {
	t    testing.TB
	nc   *nats.Conn
	url  string // of the API
	http *http.Client
}

func startEngine(t testing.TB) *engine {
	t.Helper()
	nc, _ := brokertest.Start(t).Log()
	d := enginetest.Start(t, decider.Options{Conn: nc})
	h, err := httpapi.New(httpapi.Config{Engine: d, Publisher: enginetest.Intake(t, nc), Version: "0.0.1", Token: token, Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	api := httptest.NewServer(h)
	t.Cleanup(api.Close)
	return &engine{t: t, nc: nc, url: api.URL, http: api.Client()}
}

// api is the engine's API as the command line has it.
func (e *engine) api(ctx context.Context, method, path string, header http.Header, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, e.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	header.Set("Authorization", "Bearer "+token)
	req.Header = header
	resp, err := e.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusNotFound:
		return nil, ErrNotFound
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("%s %s: %s", method, path, answer)
	}
	return answer, nil
}

// send makes a change to the engine that the demo has no part in.
func (e *engine) send(method, path, body string) {
	e.t.Helper()
	_, err := e.api(within(e.t), method, path, http.Header{"Content-Type": {"application/json"}}, []byte(body))
	must(e.t, err)
}

// get reads what the engine shows.
func (e *engine) get(path string, into any) {
	e.t.Helper()
	answer, err := e.api(within(e.t), http.MethodGet, path, http.Header{}, nil)
	must(e.t, err)
	must(e.t, json.Unmarshal(answer, into))
}

// demo is the shortest one, as fast as the engine answers: nobody waits for the time of a
// request, and the provider for nothing.
func (e *engine) demo(now time.Time) (*demo, *bytes.Buffer) {
	var out bytes.Buffer
	d := newDemo(Options{
		API: e.api, NATS: e.nc, For: Shortest, Seed: 1, Out: &out, Zone: time.UTC, Log: slog.New(slog.DiscardHandler), URL: "http://engine",
	}, now)
	d.pace = func(time.Time) pace { return func(ctx context.Context, _ time.Duration) error { return ctx.Err() } }
	d.answerWithin = time.Minute // all ask at once
	as := d.how.Behave
	d.how.Behave = func(r *http.Request) fakeprovider.Behaviour {
		b := as(r)
		b.FirstByteDelay, b.Delay = 0, 0
		return b
	}
	return d, &out
}
