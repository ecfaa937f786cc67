package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/internal/brokertest"
)

func TestReadiness(t *testing.T) {
	c := upstream(t, func(http.ResponseWriter, *http.Request) {})
	b := brokertest.Start(t)
	b.Log()
	url := b.URL()
	for name, tt := range map[string]struct {
		s      *site
		status int
		text   string
	}{
		"connected":             {start(t, url, c), 200, "ready\n"},
		"connected, closed":     {rig{closed: true}.start(t, url, c), 200, "ready\n"},
		"not connected":         {start(t, nowhere, c), 200, "ready; not connected to the quota engine's broker: calls pass unchecked\n"},
		"not connected, closed": {rig{closed: true}.start(t, nowhere, c), 503, "not connected to the quota engine's broker: calls are blocked\n"},
	} {
		if status, body := tt.s.send("GET", "/readyz", ""); status != tt.status || body != tt.text {
			t.Errorf("%s: %d %q", name, status, body)
		}
		if status, body := tt.s.send("GET", "/healthz", ""); status != 200 || body != "ok\n" {
			t.Errorf("%s: alive? %d %q", name, status, body)
		}
	}
}

// TestWhoSeesTheFigures: this machine, and who has the token.
func TestWhoSeesTheFigures(t *testing.T) {
	c := upstream(t, func(http.ResponseWriter, *http.Request) {})
	open, guarded := start(t, nowhere, c), rig{token: "operators"}.start(t, nowhere, c)
	for _, tt := range []struct {
		s                                    *site
		peer, host, authorization, forwarded string
		status                               int
	}{
		{open, "127.0.0.1:1", "127.0.0.1:8482", "", "", 200},
		{open, "[::1]:1", "[::1]:8482", "", "", 200},
		{open, "[::ffff:127.0.0.1]:1", "localhost:8482", "", "", 200},
		{open, "127.0.0.1:1", "LOCALHOST", "", "", 200},
		{open, "10.0.0.1:1", "127.0.0.1:8482", "", "", 401},
		{open, "10.0.0.1:1", "127.0.0.1:8482", "Bearer ", "", 401},
		{open, "127.0.0.1:1", "gateway.example:8482", "", "", 401}, // a page whose name resolves to us now
		{open, "127.0.0.1:1", "127.0.0.1:8482", "", "10.0.0.1", 401},
		{guarded, "10.0.0.1:1", "gateway.example", "Bearer operators", "", 200},
		{guarded, "10.0.0.1:1", "gateway.example", "bearer operators", "", 200},
		{guarded, "10.0.0.1:1", "gateway.example", "Bearer " + aliceToken, "", 401},
		{guarded, "10.0.0.1:1", "gateway.example", "operators", "", 401},
		{guarded, "127.0.0.1:1", "127.0.0.1", "", "", 200},
	} {
		req := httptest.NewRequest("GET", "/metrics", nil)
		req.RemoteAddr, req.Host = tt.peer, tt.host
		for name, value := range map[string]string{"Authorization": tt.authorization, "X-Forwarded-For": tt.forwarded} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		rec := httptest.NewRecorder()
		if tt.s.g.ServeHTTP(rec, req); rec.Code != tt.status {
			t.Errorf("%+v: answered %d", tt, rec.Code)
		}
	}
}

// TestFigures: every request is counted once by path and status, whatever becomes of
// it, and every counter of the client is there.
func TestFigures(t *testing.T) {
	f := startFlowing(t)
	s := start(t, nowhere, f.Connection)
	metric := func(line string) {
		t.Helper()
		if _, page := s.send("GET", "/metrics", ""); !regexp.MustCompile("(?m)^" + line + "$").MatchString(page) {
			t.Errorf("no %s in\n%s", line, page)
		}
	}
	resp := s.do(s.request("POST", "/v1/chat/completions", chat))
	metric("quotashare_gateway_in_flight 1")
	f.send(t, event)
	close(f.more)
	_ = text(t, resp)
	s.send("POST", "/v1/nothing", "")
	s.send("POST", "/v1/messages", "{}")
	req := s.request("POST", "/v1/responses", "{}")
	req.Header.Del("Authorization")
	s.do(req)
	must(t, s.g.wait(within(t)))
	early := httptest.NewRecorder()
	rec := s.g.metrics.begin(early, 0)
	rec.WriteHeader(http.StatusEarlyHints)
	rec.WriteHeader(http.StatusOK)
	rec.WriteHeader(http.StatusInternalServerError) // too late
	rec.end()
	metric(`quotashare_gateway_requests_total{code="200",path="other"} 1`)
	metric("quotashare_gateway_in_flight 0")
	metric(`quotashare_gateway_requests_total{code="200",path="/v1/chat/completions"} 1`)
	metric(`quotashare_gateway_requests_total{code="404",path="other"} 1`)
	metric(`quotashare_gateway_requests_total{code="404",path="/v1/messages"} 1`)
	metric(`quotashare_gateway_requests_total{code="401",path="/v1/responses"} 1`)
	metric(`quotashare_gateway_first_byte_seconds_count{path="/v1/chat/completions"} 1`)
	metric("quotashare_gateway_decision_seconds_count 1") // the others went nowhere
	metric(`quotashare_gateway_failures_total{cause="no-responders"} [01]`)
	metric("quotashare_gateway_failed_open_total 1")
	metric("quotashare_gateway_waiting [12]") // what the call used, and that nobody answered
	stats := s.c.Stats()
	stats.Each(func(name string, _ uint64) {
		if !strings.HasPrefix(name, "failures_") {
			metric("quotashare_gateway_" + name + "(_total)? [0-9]+")
		}
	})
}

// TestNoSecretIsLogged: neither a client's nor the account's, whatever goes wrong.
func TestNoSecretIsLogged(t *testing.T) {
	cut := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-Way") {
		case "cut":
			_, _ = io.WriteString(w, event)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "denied":
			w.WriteHeader(401)
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		case "broken":
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, "no HTTP: "+r.Header.Get("Authorization")[:10])
			_ = conn.Close()
		}
	})
	away := cut
	away.ID, away.Models, away.URL = "away", []string{"away"}, "http://127.0.0.1:1"
	s := start(t, nowhere, away, cut)
	var told strings.Builder
	for _, way := range []string{"", "cut", "denied", "broken", "away"} {
		req := s.request("POST", "/v1/chat/completions?key="+aliceToken, `{"model":"`+way+`"}`)
		req.Header.Set("X-Way", way)
		resp := s.do(req)
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Header.Write(&told)
		told.Write(body)
	}
	must(t, s.stop())
	all := s.said.String() + told.String()
	for _, secret := range []string{aliceToken, credential, credential[:8]} {
		if strings.Contains(all, secret) {
			t.Errorf("%q was said:\n%s", secret, all)
		}
	}
	for _, want := range []string{"the provider refuses the credential", "a provider did not answer", "connection=away"} {
		if !strings.Contains(s.said.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, s.said)
		}
	}
}

func TestOptionsThatAreMissing(t *testing.T) {
	config := Config{Connections: []Connection{{ID: "c", Provider: "kimi", URL: "http://x", Credential: credential}}}
	if _, err := New(Options{Config: config}); err == nil || !strings.Contains(err.Error(), "options.Client and Keys must be set") {
		t.Errorf("without anything: %v", err)
	}
	if _, err := New(Options{Client: new(client.Client)}); err == nil || !strings.Contains(err.Error(), "connections has none") {
		t.Errorf("without connections: %v", err)
	}
}
