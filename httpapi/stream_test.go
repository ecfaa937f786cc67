package httpapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const goodLine = `{"id":"e%d","apiKeyId":"alice","connectionId":"acct-1","provider":"codex","model":"gpt-5","cost":{"tokens":1234}}` + "\n"

// upload is a stream that a test writes piece by piece.
type upload struct {
	t    *testing.T
	conn net.Conn
	body io.WriteCloser
	read *bufio.Reader // of the answer's body, once begun
}

func (s *server) upload(t *testing.T) *upload {
	t.Helper()
	return s.uploadAs(t, "")
}

func (s *server) uploadAs(t *testing.T, token string, headers ...string) *upload {
	t.Helper()
	conn := s.dial(t)
	fmt.Fprintf(conn, "POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n%s\r\n", token, strings.Join(append(headers, ""), "\r\n"))
	return &upload{t: t, conn: conn, body: httputil.NewChunkedWriter(conn)}
}

// uploadOf is an upload that begins with the text: it is sent with the headers, so that
// no silence of a busy machine comes between.
func (s *server) uploadOf(t *testing.T, text string) *upload {
	t.Helper()
	conn := s.dial(t)
	all := bufio.NewWriter(conn)
	fmt.Fprint(all, "POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
	u := &upload{t: t, conn: conn, body: httputil.NewChunkedWriter(all)}
	u.send(text)
	if err := all.Flush(); err != nil {
		t.Fatal(err)
	}
	u.body = httputil.NewChunkedWriter(conn)
	return u
}

func (u *upload) send(text string) {
	u.t.Helper()
	if _, err := io.WriteString(u.body, text); err != nil {
		u.t.Fatal(err)
	}
}

// until reads the answer on until it has the text, and returns what it read.
func (u *upload) until(text string) string {
	u.t.Helper()
	if u.read == nil {
		resp, err := http.ReadResponse(bufio.NewReader(u.conn), nil)
		if err != nil {
			u.t.Fatal(err)
		}
		if resp.StatusCode != 200 {
			u.t.Fatalf("answered %d", resp.StatusCode)
		}
		u.read = bufio.NewReader(resp.Body)
	}
	var got strings.Builder
	for !strings.HasSuffix(got.String(), text) {
		c, err := u.read.ReadByte()
		if err != nil {
			u.t.Fatalf("the answer ended with %v before %q: %s", err, text, got.String())
		}
		got.WriteByte(c)
	}
	return got.String()
}

// end ends the body and decodes the answer.
func (u *upload) end() answer {
	u.t.Helper()
	u.body.Close()
	io.WriteString(u.conn, "\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(u.conn), nil)
	if err != nil {
		u.t.Fatal(err)
	}
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		u.t.Fatal(err)
	}
	return a
}

// A gateway that sends an event and waits for its result gets it while the
// stream goes on, and an outage hurts only what was sent during it.
func TestStreamAnswersWhileItComes(t *testing.T) {
	d := newDouble()
	u := serve(t, d, Config{}, func(s *server) { s.api.atOnce = time.Millisecond }).upload(t)
	u.send(fmt.Sprintf(goodLine, 1))
	u.until(`{"id":"e1","seq":1}`)
	d.become(t, "down")
	u.send(fmt.Sprintf(goodLine, 2))
	u.until(`,{"id":"e2","error":{"message":"the log takes no writes at the moment: try again","type":"unavailable_error","code":"unavailable"}}`)
	d.become(t, "up")
	u.send(fmt.Sprintf(goodLine, 3) + `{"id":"e4"`)
	u.until(`,{"id":"e3","seq":2}`)
	u.send(`,"apiKeyId":"bob","connectionId":"acct-1"}`)
	u.body.Close()
	io.WriteString(u.conn, "\r\n")
	u.until(`,{"id":"e4","seq":3}],"accepted":3,"rejected":1}` + "\n")
}

// A client that reads only after it has written everything gets all of it,
// however little the sockets hold, and memory stays flat.
func TestStreamOfAClientThatReadsLast(t *testing.T) {
	for _, atOnce := range []time.Duration{0, time.Hour} {
		t.Run(fmt.Sprint("answer begins after ", atOnce), func(t *testing.T) {
			d := newDouble()
			d.discard = true
			srv := serve(t, d, Config{SpoolDir: t.TempDir()}, func(s *server) {
				s.api.atOnce = atOnce
				s.http.ConnState = func(c net.Conn, state http.ConnState) {
					if state == http.StateNew {
						c.(*net.TCPConn).SetWriteBuffer(64 << 10)
					}
				}
			})
			u := srv.upload(t)
			u.conn.(*net.TCPConn).SetReadBuffer(64 << 10)
			const blocks, perBlock = 100, 1000
			start, peak := liveHeap(), uint64(0)
			for b := range blocks {
				var block bytes.Buffer
				for i := range perBlock {
					fmt.Fprintf(&block, goodLine, b*perBlock+i)
				}
				u.send(block.String())
				if b%20 == 19 {
					peak = max(peak, liveHeap())
				}
			}
			if grown := int64(peak) - int64(start); grown > 4<<20 {
				t.Errorf("%d bytes more are live in the middle of the stream, want at most 4 MiB", grown)
			}
			a := u.end()
			if a.Accepted != blocks*perBlock || len(a.Results) != blocks*perBlock {
				t.Fatalf("%d accepted, %d results, want %d", a.Accepted, len(a.Results), blocks*perBlock)
			}
			for i, r := range a.Results {
				if r.ID != fmt.Sprint("e", i) || r.Seq == 0 {
					t.Fatalf("result %d is %+v", i, r)
				}
			}
		})
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A line that is too long, even one that seems to have no end, is an error of
// its own; its neighbours are taken.
func TestStreamWithLongLines(t *testing.T) {
	d := newDouble()
	u := serve(t, d, Config{}).upload(t)
	u.send(fmt.Sprintf(goodLine, 1))
	u.send(`{"id":"fits","apiKeyId":"k","connectionId":"c","x":"` + strings.Repeat("x", maxLine-60) + "\"}\n")
	u.send(`{"id":"long","apiKeyId":"k","connectionId":"c","x":"` + strings.Repeat("x", maxLine) + "\"}\n")
	start := liveHeap()
	for range 64 {
		u.send(strings.Repeat("y", 1<<18))
	}
	if grown := int64(liveHeap()) - int64(start); grown > 4<<20 {
		t.Errorf("%d bytes more are live within a line of 16 MiB, want at most 4 MiB", grown)
	}
	u.send("\n" + fmt.Sprintf(goodLine, 2))
	var got []string
	for _, r := range u.end().Results {
		if r.Error != nil {
			r.ID = r.Error.Code + ": " + r.Error.Message
		}
		got = append(got, r.ID)
	}
	const want = "e1|fits|too-large: the line has more than 1 MiB: one line is one event|too-large: the line has more than 1 MiB: one line is one event|e2"
	if strings.Join(got, "|") != want {
		t.Errorf("results are %q, want %q", got, want)
	}
}

// Silence ends a stream; what came before it is answered, and half a line is
// not taken for an event.
func TestStreamThatFallsSilent(t *testing.T) {
	d := newDouble()
	u := serve(t, d, Config{}, func(s *server) { s.api.streamIdle = 50 * time.Millisecond }).uploadOf(t, fmt.Sprintf(goodLine, 1)+`{"id":"half"}`)
	got := u.until("\n")
	const want = `{"results":[{"id":"e1","seq":1}],"accepted":1,"rejected":0,"error":{"message":"the stream was silent for too long: send an empty line now and then, or begin a new stream","type":"invalid_request_error","code":"timeout"}}` + "\n"
	if got != want {
		t.Errorf("answered %s\nwant %s", got, want)
	}
}

// A server that stops answers what has come, whatever the stream still has.
func TestStreamWhenTheServerStops(t *testing.T) {
	d := newDouble()
	srv := serve(t, d, Config{}, func(s *server) { s.api.atOnce = 0 })
	u := srv.upload(t)
	u.send(fmt.Sprintf(goodLine, 1))
	u.until(`{"id":"e1","seq":1}`)
	stopped := make(chan error)
	go func() { stopped <- srv.http.Shutdown(t.Context()) }()
	u.until(`],"accepted":1,"rejected":0,"error":{"message":"the server is stopping: send what has no result yet in a new stream","type":"unavailable_error","code":"stopping"}}` + "\n")
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// The client hangs up: what came whole is kept, and nothing is left running
// (the leak check of TestMain).
func TestStreamOfAClientThatHangsUp(t *testing.T) {
	d := newDouble()
	u := serve(t, d, Config{}, func(s *server) { s.api.atOnce = 0 }).upload(t)
	u.send(fmt.Sprintf(goodLine, 1))
	u.until(`{"id":"e1","seq":1}`)
	u.send(`{"id":"half","apiKeyId":"k"`)
	u.conn.Close()
	if got := d.published(); strings.Contains(got, "half") || !strings.Contains(got, `"e1"`) {
		t.Errorf("published %s, want e1 alone", got)
	}
}

// An answer that cannot be kept is broken off and not passed off as whole.
func TestStreamWhoseAnswerCannotBeKept(t *testing.T) {
	log := new(logged)
	srv := serve(t, newDouble(), Config{
		SpoolDir: filepath.Join(t.TempDir(), "missing"), Log: slog.New(slog.NewTextHandler(log, nil)),
	}, func(s *server) { s.api.atOnce = time.Hour })
	u := srv.upload(t)
	go func() {
		for i := range 10_000 {
			if _, err := fmt.Fprintf(u.body, goodLine, i); err != nil {
				return // the server hung up
			}
		}
		u.body.Close()
		io.WriteString(u.conn, "\r\n")
	}()
	if resp, err := http.ReadResponse(bufio.NewReader(u.conn), nil); err == nil {
		if all, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("answered %d, whole as it seems: %.200s", resp.StatusCode, all)
		}
	}
	if lines := log.all(); len(lines) != 1 || !strings.Contains(lines[0], "broke off") {
		t.Errorf("logged %q, want one line that says that the answer broke off", lines)
	}
}
