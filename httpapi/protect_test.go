package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

const oneEvent = `{"id":"e1","apiKeyId":"alice","connectionId":"acct-1"}`

// A client that sends its headers byte by byte is hung up on.
func TestSlowHeadersEnd(t *testing.T) {
	srv := serve(t, newDouble(), Config{}, func(s *server) { s.http.ReadHeaderTimeout = 30 * time.Millisecond })
	conn := srv.dial(t)
	io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: local")
	if all, err := io.ReadAll(conn); err != nil {
		t.Errorf("after slow headers: %q, %v; want the connection closed", all, err)
	}
}

// A body that does not come is 408, whether the length was announced or not.
func TestSlowBodyIsAnswered(t *testing.T) {
	srv := serve(t, newDouble(), Config{}, func(s *server) { s.http.ReadTimeout = 30 * time.Millisecond })
	for _, length := range []string{"Content-Length: 100", "Transfer-Encoding: chunked"} {
		resp, body := srv.raw(t, []byte("POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\n"+length+"\r\n\r\n1"))
		if resp.StatusCode != 408 || !strings.Contains(body, `"code":"timeout"`) {
			t.Errorf("%s: answered %d %s, want 408", length, resp.StatusCode, body)
		}
	}
}

// Every server that NewServer makes has all bounds, so that no test's shorter
// ones hide a missing one.
func TestServerHasBounds(t *testing.T) {
	s := NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 || s.MaxHeaderBytes > 1<<20 {
		t.Errorf("bounds are headers %s, reading %s, writing %s, idle %s, %d bytes of headers; want all set",
			s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout, s.IdleTimeout, s.MaxHeaderBytes)
	}
}

func TestHugeHeadersAreRefused(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	resp, _ := srv.raw(t, []byte("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 2*maxHeader)+"\r\n\r\n"))
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("answered %d, want 431", resp.StatusCode)
	}
}

// 8 MiB are taken and one byte more is not, announced or chunked; and a client
// that sends everything before it reads still sees why.
func TestBodyBound(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	for _, c := range []struct {
		size    int
		chunked bool
		status  int
	}{
		{maxBody, false, 200},
		{maxBody, true, 200},
		{maxBody + 1, false, 413},
		{maxBody + 1, true, 413},
		{maxBody + 4<<20, false, 413},
		{maxBody + 4<<20, true, 413},
	} {
		conn := srv.dial(t)
		head, body := fmt.Sprintf("Content-Length: %d", c.size), io.WriteCloser(noClose{conn})
		if c.chunked {
			head, body = "Transfer-Encoding: chunked", httputil.NewChunkedWriter(conn)
		}
		fmt.Fprintf(conn, "POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", head)
		if _, err := io.WriteString(body, oneEvent+strings.Repeat(" ", c.size-len(oneEvent))); err != nil {
			t.Errorf("%d bytes, chunked %v: the client could not send its body: %v", c.size, c.chunked, err)
		}
		body.Close()
		if c.chunked {
			io.WriteString(conn, "\r\n")
		}
		resp, answer := answerOf(t, conn)
		if resp.StatusCode != c.status || (c.status == 413) != strings.Contains(answer, "the body has more than 8 MiB: split it") {
			t.Errorf("%d bytes, chunked %v: answered %d %.200s, want %d", c.size, c.chunked, resp.StatusCode, answer, c.status)
		}
	}
}

type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }

// A client that asks first is told before it sends.
func TestTooLargeIsSaidBeforeItIsSent(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	resp, _ := srv.raw(t, fmt.Appendf(nil, "POST /api/quota/pools HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", maxBody+1))
	if resp.StatusCode != 413 {
		t.Errorf("answered %d, want 413", resp.StatusCode)
	}
}

// Documents that are deep or have very many values are refused without much
// work, on every path that reads one.
func TestDeepAndWideDocuments(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	deep := strings.Repeat(`{"cost":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	wide := `{"a":[` + strings.Repeat("0,", wire.MaxValues) + "0]}"
	for _, path := range []string{"POST /api/quota/pools", "PUT /api/quota/plans/x", "POST /api/quota/decide", "POST /api/quota/events"} {
		for name, body := range map[string]string{"deep": deep, "wide": wide} {
			resp, answer := srv.raw(t, fmt.Appendf(nil, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body))
			if resp.StatusCode != 400 || len(answer) > 2000 {
				t.Errorf("%s, a %s document: answered %d %.500s, want a short 400", path, name, resp.StatusCode, answer)
			}
		}
	}
}

// A panic is answered and logged once, and the server goes on.
func TestPanicIsAnsweredAndLoggedOnce(t *testing.T) {
	log := new(logged)
	d := newDouble()
	d.decide = func(questions.Question, *questions.Reply) { panic("boom") }
	srv := serve(t, d, Config{Log: slog.New(slog.NewTextHandler(log, nil))})
	got := srv.transcript(t, "POST /api/quota/decide\n\n"+`{"apiKeyId":"a","connectionId":"c"}`)
	const want = `500
{"error":{"message":"the server met an error of its own: its log says more","type":"server_error","code":"internal"}}
`
	if got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
	if lines := log.all(); len(lines) != 1 || !strings.Contains(lines[0], "boom") || !strings.Contains(lines[0], "protect_test.go") {
		t.Errorf("logged %q, want one line with the panic and its stack", lines)
	}
	if got := srv.transcript(t, "GET /healthz\n"); !strings.HasPrefix(got, "200") {
		t.Errorf("after a panic /healthz is %s", got)
	}
}

// A panic within an answer breaks it off: half an answer is not a whole one.
func TestPanicWithinAnAnswerBreaksItOff(t *testing.T) {
	log := new(logged)
	srv := serve(t, newDouble(), Config{Log: slog.New(slog.NewTextHandler(log, nil))}, func(s *server) {
		s.api.handle("GET /half", anyone, func(w http.ResponseWriter, _ *http.Request) error {
			io.WriteString(w, "half of it")
			http.NewResponseController(w).Flush()
			panic("boom")
		})
	})
	conn := srv.dial(t)
	io.WriteString(conn, "GET /half HTTP/1.1\r\nHost: localhost\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("read %q to its end, want an error", body)
	}
	if lines := log.all(); len(lines) != 1 {
		t.Errorf("logged %q, want one line", lines)
	}
}

// Metrics count answers by route and status, and events; nothing a caller
// writes becomes a label.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	srv := serve(t, newDouble(), Config{Registry: reg})
	for _, request := range []string{
		"GET /api/quota/pools/a", "GET /api/quota/pools/b", "GET /nowhere/1", "GET /nowhere/2",
		"BREW /api/quota/decide", "GET /healthz\nhost: evil.example",
		"POST /api/quota/events\n\n[" + oneEvent + ",1,2]",
	} {
		srv.transcript(t, request)
	}
	watching, leave := context.WithCancel(t.Context())
	leave()
	srv.http.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(watching, "GET", "http://localhost/api/quota/stream", nil))
	got := srv.transcript(t, "GET /metrics")
	for _, line := range []string{
		`quotashare_http_requests_total{code="404",route="GET /api/quota/pools/{id}"} 2`,
		`quotashare_http_requests_total{code="404",route="/"} 2`,
		`quotashare_http_requests_total{code="405",route="/api/quota/decide"} 1`,
		`quotashare_http_requests_total{code="403",route="refused"} 1`,
		`quotashare_http_requests_total{code="200",route="POST /api/quota/events"} 1`,
		`quotashare_http_requests_total{code="200",route="GET /api/quota/stream"} 1`,
		`quotashare_http_request_seconds_count{route="GET /api/quota/pools/{id}"} 2`,
		`quotashare_http_request_seconds_count{route="POST /api/quota/events"} 1`,
		`quotashare_http_in_flight 1`, // the one that shows it
		`quotashare_http_events_total{result="accepted"} 1`,
		`quotashare_http_events_total{result="rejected"} 2`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
	if strings.Contains(got, `request_seconds_count{route="GET /api/quota/stream"}`) {
		t.Error("how long somebody looks is taken for how long an answer takes")
	}
	if _, err := New(Config{Engine: newDouble(), Registry: reg, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a second API on one registry: no error")
	}
}
