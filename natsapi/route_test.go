package natsapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

// route asks for a connection.
func (r *rig) route(data string) *nats.Msg {
	r.Helper()
	m, err := r.client.Request(questions.RouteSubject, []byte(data), patience)
	r.must(err)
	return m
}

// awaitWaiting waits until one more question waits.
func (r *rig) awaitWaiting() {
	r.Helper()
	select {
	case <-r.decider.waiting:
	case <-time.After(patience):
		r.Fatal("it does not wait")
	}
}

// TestRoutesAreRead as such, and those of quota.decide are not.
func TestRoutesAreRead(t *testing.T) {
	r := start(t, nil, Config{})
	for _, tt := range []struct {
		ask, want string
		code      string
	}{
		{`{"apiKeyId":"k","pool":"p","model":"now"}`, `"reason":"now"`, ""},
		{`{"apiKeyId":"k","route":"qtSd/p/kimi/now"}`, `"reason":"now"`, ""},
		{`[{"apiKeyId":"k","pool":"p","model":"now"},{"apiKeyId":"k"}]`, `{"error":{"message":"pool is one of three: send exactly one of pool, route and candidates"`, ""},
		{`{"apiKeyId":"k","connectionId":"c","reserve":true}`, `connectionId is chosen by a route`, "400"},
	} {
		m := r.route(tt.ask)
		if code := m.Header.Get("Nats-Service-Error-Code"); !strings.Contains(string(m.Data), tt.want) || code != tt.code {
			t.Errorf("%s: code %q, %s", tt.ask, code, m.Data)
		}
	}
	if m := r.ask(`{"apiKeyId":"k","route":"qtSd/p/kimi/now"}`, nil); !strings.Contains(string(m.Data), "connectionId is missing") {
		t.Errorf("decide knows routes: %s", m.Data)
	}
	r.must(r.server.Stop(t.Context()))
	if _, err := r.client.Request(questions.RouteSubject, []byte("{}"), patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a stopped server: %v", err)
	}
}

// TestRoutesWaitApart: those that wait for a full account keep nobody from a verdict
// or a sequence, whatever they wait for themselves.
func TestRoutesWaitApart(t *testing.T) {
	r := start(t, nil, Config{MaxBehind: 1, MaxWaiting: 1, MaxRouted: 2})
	waiter := r.inbox()
	for _, data := range []string{`{"apiKeyId":"k","pool":"p","maxWaitMs":3600000}`, `{"apiKeyId":"k","pool":"p","minSeq":6}`} {
		r.must(r.client.PublishRequest(questions.RouteSubject, waiter.Subject, []byte(data)))
		r.awaitWaiting()
	}
	if m := r.route(`{"apiKeyId":"k","pool":"p"}`); !strings.Contains(string(m.Data), "degraded") {
		t.Errorf("a third waits: %s", m.Data)
	}
	for _, data := range []string{`{"apiKeyId":"k","connectionId":"c","reserve":true}`, `{"apiKeyId":"k","pool":"p","minSeq":6}`} {
		r.send(waiter, data)
		r.awaitWaiting()
	}
	if counts := r.server.Counts(); counts.Waiting.Load() != 4 || counts.Hurried.Load() != 1 {
		t.Errorf("%d wait and %d hurried, want 4 and 1", counts.Waiting.Load(), counts.Hurried.Load())
	}
	r.decider.advance(6)
	for range 4 {
		if data := r.next(waiter); strings.Contains(data, "degraded") {
			t.Errorf("got %s", data)
		}
	}
}

// TestWhatIsChosenIsTold: an answer that does not fit with its candidates is sent
// without them, and says so.
func TestWhatIsChosenIsTold(t *testing.T) {
	r := start(t, func(o *server.Options) { o.MaxPayload = 2048 }, Config{})
	for explain, want := range map[bool]string{false: "without candidates: with them the answer has ", true: "without dimensions and candidates: with them the answer has "} {
		m := r.route(fmt.Sprintf(`{"apiKeyId":"k","pool":"many","model":"now","explain":%v}`, explain))
		replies, err := questions.ParseReplies(m.Data, wire.JSON)
		r.must(err)
		if got := &replies[0]; got.Err != nil || got.ConnectionID != "c" || len(got.Candidates) > 0 || got.HasTraffic || !strings.HasPrefix(got.Detail, want) {
			t.Errorf("explained %v: %+v", explain, got)
		}
	}
	if len(r.decider.released) > 0 {
		t.Errorf("released are %q", r.decider.released)
	}
}
