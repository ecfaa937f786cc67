package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi/openapitest"
)

// The transcripts are what callers and the engine see. Commands:
//
//	http [gzip]       sends the request below it (the first line, headers, an
//	                  empty line, the body, in gzip if so) to a real server and
//	                  prints the answer: status, the headers that carry meaning,
//	                  the body
//	published         what the engine was told to publish since the last time
//	metas             who wrote configuration and why, since the last time
//	tokens damaged    does that to the token file; $read in a request is the
//	                  token of that name
//	room none | enough
//	                  for what is being read
//	engine ready | not-ready | up | down | broken | reject | full | no-snapshots | busy | occupied | crowded
//
// Every request and answer is held against the OpenAPI document too.
// What differs from run to run is shown as <id>, <now>.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, file string) {
		d := newDouble()
		c := Config{Log: slog.New(slog.NewTextHandler(new(logged), nil))}
		var roles *ring
		switch filepath.Base(file) {
		case "roles":
			roles = newRing(t, c.Log)
			c.Tokens = roles.File
		case "token", "session":
			c.Token = "s3cret"
			c.Hosts = []string{"quota.example.com"}
		}
		srv := serve(t, d, c)
		datadriven.RunTest(t, file, func(t *testing.T, cmd *datadriven.TestData) string {
			switch cmd.Cmd {
			case "http":
				if cmd.HasArg("gzip") {
					return stable(srv.transcriptInGzip(t, cmd.Input))
				}
				return stable(srv.transcript(t, roles.named(cmd.Input)))
			case "room":
				for _, r := range []*room{&srv.api.documents, &srv.api.publishing} {
					r.most = map[string]int{"none": 0, "enough": maxRoom}[cmd.CmdArgs[0].Key]
				}
				return ""
			case "tokens":
				roles.become(cmd.CmdArgs[0].Key)
				return ""
			case "published":
				return stable(d.published())
			case "metas":
				return d.describeMetas()
			case "engine":
				d.become(t, cmd.CmdArgs[0].Key)
				return ""
			}
			t.Fatalf("%s: unknown command %q", cmd.Pos, cmd.Cmd)
			return ""
		})
	})
}

func (d *double) describeMetas() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	for _, m := range d.metas {
		fmt.Fprintf(&b, "actor=%q reason=%q ifMatch=%v revision=%d\n", m.Actor, m.Reason, m.IfMatch, m.ExpectedRevision)
	}
	d.metas = nil
	return b.String()
}

func (d *double) become(t *testing.T, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch what {
	case "ready", "not-ready":
		d.notReady = what == "not-ready"
	case "up":
		d.fail, d.spools = nil, false
	case "spooling":
		d.spools = true
	case "down":
		d.fail = ErrUnavailable
	case "crowded":
		d.fail = Refuse(ErrBusy, "too much waits for the log: try again")
	case "broken":
		d.fail = fmt.Errorf("open /var/lib/secret: no such file")
	case "small":
		d.fail = ErrTooLarge
	case "conflict":
		d.fail = Refuse(ErrConflict, "connection %q is in pool %q: take it out there first", "acct-1", "other")
	case "no-snapshots":
		d.nothing = true
	case "busy":
		d.busy = true
	case "occupied":
		d.occupied = true
	case "full":
		d.fill()
	case "reject":
		d.rejects = append(d.rejects, events.Rejected{
			Seq: 5, Index: len(d.rejects), Subject: "quota.consumption", Reason: events.Invalid,
			Message: "apiKeyId is missing", Time: 1_700_000_000_000, Data: []byte("{}"),
		})
	default:
		t.Fatalf("the engine cannot become %q", what)
	}
}

var unstable = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\b[A-Z2-7]{26}\b`), "<ID>"},
	{regexp.MustCompile(`\b[a-z2-7]{26}\b`), "<id>"},
	{regexp.MustCompile(`"createdAt":"[^"]*"`), `"createdAt":"<now>"`},
	{regexp.MustCompile(`localhost:\d+`), "localhost:8480"},
	{regexp.MustCompile(`quotashare-\d+=[\w-]*`), "quotashare-8480=<token>"},
	{regexp.MustCompile(`/[^ ]*/tokens.json`), "<file>"},
}

func stable(s string) string {
	for _, u := range unstable {
		s = u.pattern.ReplaceAllString(s, u.text)
	}
	return s
}

// server is a real one, on loopback.
type server struct {
	addr string
	api  *api
	http *http.Server
}

// serve starts a server that the end of the test stops. Whatever of c is not
// set gets a value for tests; log lines fail the test unless it brings a log.
func serve(t *testing.T, d *double, c Config, change ...func(*server)) *server {
	t.Helper()
	c.Engine = d
	srv := prepare(t, c)
	for _, f := range change {
		f(srv)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv.addr = l.Addr().String()
	done := make(chan error)
	go func() { done <- srv.http.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := srv.http.Shutdown(ctx); err != nil {
			t.Errorf("a handler does not end: %v", err)
			srv.http.Close()
		}
		<-done
	})
	return srv
}

// transcript sends a request as it is written, holds what comes back against the
// OpenAPI document, and shows it.
func (s *server) transcript(t *testing.T, input string) string {
	t.Helper()
	resp, answer := s.send(t, input)
	if err := openAPI(t).Check(exchange(input, resp, answer)); err != nil {
		t.Error(err)
	}
	return shown(resp, answer)
}

// transcriptInGzip is transcript with the body in gzip.
func (s *server) transcriptInGzip(t *testing.T, input string) string {
	t.Helper()
	head, body, _ := strings.Cut(input+"\n", "\n\n")
	head = strings.TrimSuffix(head, "\n") + "\ncontent-encoding: gzip"
	resp, answer := s.sendBody(t, head, string(inGzip(strings.TrimSuffix(body, "\n"))))
	if err := openAPI(t).Check(exchange(input, resp, answer)); err != nil {
		t.Error(err)
	}
	return shown(resp, answer)
}

func (s *server) send(t *testing.T, input string) (*http.Response, string) {
	t.Helper()
	head, body, _ := strings.Cut(input+"\n", "\n\n")
	return s.sendBody(t, head, strings.TrimSuffix(body, "\n"))
}

func (s *server) sendBody(t *testing.T, head, body string) (*http.Response, string) {
	t.Helper()
	line, headers, _ := strings.Cut(strings.TrimSuffix(head, "\n"), "\n")
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s HTTP/1.1\r\nConnection: close\r\n", line)
	if !strings.Contains(strings.ToLower(headers), "host:") {
		_, port, _ := net.SplitHostPort(s.addr)
		fmt.Fprintf(&b, "Host: localhost:%s\r\n", port)
	}
	for h := range strings.Lines(headers) {
		fmt.Fprintf(&b, "%s\r\n", strings.TrimSpace(h))
	}
	if !strings.Contains(strings.ToLower(headers), "transfer-encoding:") {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	fmt.Fprintf(&b, "\r\n%s", body)
	return s.raw(t, b.Bytes())
}

// shown is an answer as the transcripts have it.
func shown(resp *http.Response, answer string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d\n", resp.StatusCode)
	for _, name := range openapitest.Meaning {
		if v := resp.Header.Get(name); v != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	if ct := resp.Header.Get("Content-Type"); ct != "application/json" {
		fmt.Fprintf(&out, "Content-Type: %s\n", ct)
	}
	return out.String() + strings.TrimSuffix(answer, "\n") + "\n"
}

// raw writes bytes to the server and reads one answer.
func (s *server) raw(t *testing.T, request []byte) (*http.Response, string) {
	t.Helper()
	conn := s.dial(t)
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	return answerOf(t, conn)
}

func (s *server) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	return conn
}

func answerOf(t *testing.T, conn net.Conn) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}
