package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// gated is a log whose messages wait until they are let through.
type gated struct {
	*double
	begun chan struct{} // a message is under way
	let   chan error    // what becomes of it
}

func newGated() *gated {
	return &gated{newDouble(), make(chan struct{}, 100), make(chan error, 1000)}
}

func (g *gated) Publish(ctx context.Context, subject string, data []byte, n int) (Receipt, error) {
	g.begun <- struct{}{}
	select {
	case err := <-g.let:
		if err != nil {
			return Receipt{}, err
		}
		return g.double.Publish(ctx, subject, data, n)
	case <-ctx.Done():
		return Receipt{}, ctx.Err()
	}
}

// begin sends a request whose answer is awaited later.
func (s *server) begin(t *testing.T, path, body string) (answer func() (int, string)) {
	t.Helper()
	conn := s.dial(t)
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	return func() (int, string) {
		t.Helper()
		resp, text := answerOf(t, conn)
		if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
			t.Error("429 does not say when to come again")
		}
		return resp.StatusCode, text
	}
}

const oneQuestion = `{"apiKeyId":"alice","connectionId":"acct-1"}`

// A log that is slower than its callers fills the room, and no more: who comes then is
// told to come again. Who asks is still answered.
func TestBodiesThatWaitForTheLogFillTheRoom(t *testing.T) {
	log := newGated()
	srv := serve(t, log.double, Config{Publisher: log}, func(s *server) { s.api.publishing.most = 3 * (bodyRoom + 512 + eventRoom) })
	var waiting []func() (int, string)
	for range 3 {
		waiting = append(waiting, srv.begin(t, "/api/quota/events", oneEvent))
		<-log.begun
	}
	for _, path := range []string{"/api/quota/events", "/api/quota/release"} {
		if status, text := srv.begin(t, path, oneEvent)(); status != 429 || !strings.Contains(text, `"code":"busy"`) {
			t.Errorf("%s: %d %s, want 429", path, status, text)
		}
	}
	if status, text := srv.begin(t, "/api/quota/decide", oneQuestion)(); status != 200 {
		t.Errorf("a question: %d %s", status, text)
	}
	for range 4 {
		log.let <- nil
	}
	for i, answer := range waiting {
		if status, text := answer(); status != 200 {
			t.Errorf("%d: %d %s", i, status, text)
		}
	}
	if status, text := srv.begin(t, "/api/quota/events", oneEvent)(); status != 200 {
		t.Errorf("when there is room again: %d %s", status, text)
	}
}

// A body that finds no room is not read: who asks first does not send it.
func TestNoRoomIsSaidBeforeTheBody(t *testing.T) {
	srv := serve(t, newDouble(), Config{}, func(s *server) { s.api.publishing.most = 1 << 20 })
	resp, text := srv.raw(t, fmt.Appendf(nil, "POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", 1<<20))
	if resp.StatusCode != 429 {
		t.Errorf("%d %s, want 429", resp.StatusCode, text)
	}
}

// One that is not announced ends where the room does.
func TestBodyThatOutgrowsTheRoom(t *testing.T) {
	srv := serve(t, newDouble(), Config{}, func(s *server) { s.api.publishing.most = 256 << 10 })
	for size, want := range map[int]int{100 << 10: 200, 300 << 10: 429} {
		body := iotest.DataErrReader(strings.NewReader(oneEvent + strings.Repeat(" ", size)))
		if status, a := srv.postAs(t, http.Header{}, body); status != want {
			t.Errorf("%d bytes: %d %+v, want %d", size, status, a.Error, want)
		}
	}
}

// What is announced and does not come takes nothing from others.
func TestAnnouncedBytesTakeNoRoom(t *testing.T) {
	srv := serve(t, newDouble(), Config{}, func(s *server) { s.api.publishing.most = 1 << 20 })
	for range 3 {
		fmt.Fprintf(srv.dial(t), "POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n[", 900<<10)
	}
	if status, text := srv.begin(t, "/api/quota/events", arrayOf(1000, 300))(); status != 200 {
		t.Errorf("%d %.200s, want 200", status, text)
	}
	srv.http.Close() // without waiting for those
}

// Short events take room too: their results are longer than they are.
func TestManyShortEventsTakeRoom(t *testing.T) {
	srv := serve(t, newDouble(), Config{}, func(s *server) { s.api.publishing.most = 1 << 20 })
	for n, want := range map[int]int{2000: 200, 5000: 429} {
		if status, text := srv.begin(t, "/api/quota/events", "["+strings.Repeat("0,", n)+"0]")(); status != want {
			t.Errorf("%d events: %d %.200s, want %d", n, status, text, want)
		}
	}
}

// However a request ends, what it took is given back.
func TestRoomIsGivenBack(t *testing.T) {
	log := newGated()
	srv := serve(t, log.double, Config{Publisher: log}, func(s *server) { s.http.ReadTimeout = time.Second })
	for range 10 {
		log.let <- nil
	}
	for _, request := range []string{
		"POST /api/quota/events\n\n" + oneEvent,
		"POST /api/quota/events\n\n{",
		"POST /api/quota/events\n\n[]",
		"POST /api/quota/events\ncontent-type: application/x-ndjson\n\n" + oneEvent + "\n" + strings.Repeat("x", maxLine/2),
		"POST /api/quota/events\ncontent-type: application/x-ndjson\ncontent-encoding: gzip\n\n" + oneEvent,
		"POST /api/quota/decide\n\n" + oneQuestion,
		"POST /api/quota/pools\n\n{}",
		"PUT /api/quota/settings\n\n{\"maxLagMs\":true}",
		"POST /api/quota/session\n\n{\"token\":\"x\"}",
	} {
		srv.send(t, request)
	}
	srv.raw(t, []byte("POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n1")) // does not come
	if status, _ := srv.begin(t, "/api/quota/events", strings.Repeat(" ", maxBody+1))(); status != 413 {
		t.Errorf("too large: %d", status)
	}
	if err := srv.http.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*room{"documents": &srv.api.documents, "publishing": &srv.api.publishing, "logins": &srv.api.logins} {
		if r.used != 0 {
			t.Errorf("%s: %d bytes are taken when nobody is there", name, r.used)
		}
	}
}

// Who has no token yet has little to say, and takes nothing from those who have.
func TestLoginIsShort(t *testing.T) {
	srv := serve(t, newDouble(), Config{Token: "s3cret"})
	token := `{"token":"s3cret"}`
	for size, want := range map[int]int{maxLogin: 200, maxLogin + 1: 413} {
		status, text := srv.begin(t, "/api/quota/session", token+strings.Repeat(" ", size-len(token)))()
		if status != want || (want == 413) != strings.Contains(text, "the body has more than 16 KiB") {
			t.Errorf("%d bytes: %d %s, want %d", size, status, text, want)
		}
	}
}

// A line that needs more room than there is is an error of its own.
func TestLineWithoutRoom(t *testing.T) {
	srv := serve(t, newDouble(), Config{}, func(s *server) { s.api.publishing.most = bodyRoom + minBuffer })
	fits := fmt.Sprintf(`{"id":"fits","apiKeyId":"k","connectionId":"c","x":"%s"}`, strings.Repeat("x", minBuffer))
	long := fmt.Sprintf(`{"id":"long","apiKeyId":"k","connectionId":"c","x":"%s"}`, strings.Repeat("x", 3*minBuffer))
	status, a := srv.post(t, "application/x-ndjson", strings.Join([]string{oneEvent, fits, long, fits, oneEvent}, "\n"))
	var got []string
	for _, r := range a.Results {
		if r.Error != nil {
			r.ID = r.Error.Code
		}
		got = append(got, r.ID)
	}
	if status != 200 || strings.Join(got, " ") != "e1 fits busy fits e1" {
		t.Errorf("%d %q", status, got)
	}
}

// The room of a long line is another stream's when the line is done.
func TestRoomOfALineIsGivenBack(t *testing.T) {
	srv := serve(t, newDouble(), Config{}, func(s *server) {
		s.api.publishing.most, s.api.atOnce = 2*bodyRoom+minBuffer, 0
	})
	for i := range 2 {
		u := srv.upload(t)
		u.send(fmt.Sprintf(`{"id":"long","apiKeyId":"k","connectionId":"c","x":"%s"}`+"\n", strings.Repeat("x", minBuffer)))
		u.until(fmt.Sprintf(`{"id":"long","seq":%d}`, 2*i+1))
		u.send(fmt.Sprintf(goodLine, 1))
		u.until(fmt.Sprintf(`{"id":"e1","seq":%d}`, 2*i+2))
		defer u.conn.Close()
	}
}

func TestTooManyStreams(t *testing.T) {
	srv := serve(t, newDouble(), Config{}, func(s *server) { s.api.streams.most, s.api.atOnce = 2, 0 })
	var open []*upload
	for i := range 2 {
		open = append(open, srv.upload(t))
		open[i].send(fmt.Sprintf(goodLine, i))
		open[i].until(`}`)
	}
	if status, a := srv.post(t, "application/x-ndjson", oneEvent); status != 429 || a.Error.Code != "busy" {
		t.Errorf("a third: %d %+v, want 429", status, a.Error)
	}
	open[0].body.Close()
	io.WriteString(open[0].conn, "\r\n")
	open[0].until("}\n")
	io.Copy(io.Discard, open[0].read)
	if status, a := srv.post(t, "application/x-ndjson", oneEvent); status != 200 {
		t.Errorf("when one has ended: %d %+v", status, a.Error)
	}
}

// A stream waits while too much waits for the log, and says so only in the end.
func TestStreamsWaitForRoomInTheLog(t *testing.T) {
	crowded := Refuse(ErrBusy, "too much waits for the log: try again")
	for tries, want := range map[int]string{streamTries: `{"id":"e1","seq":1}`, streamTries + 1: `{"id":"e1","error":{"message":"too much waits for the log: try again","type":"rate_limit_error","code":"busy"}}`} {
		log := newGated()
		log.begun = make(chan struct{}, 2*streamTries)
		srv := serve(t, log.double, Config{Publisher: log}, func(s *server) { s.api.tryAgain, s.api.atOnce = 0, 0 })
		for range tries {
			log.let <- crowded
		}
		log.let <- nil
		u := srv.upload(t)
		u.send(fmt.Sprintf(goodLine, 1))
		u.until(want)
		log.let <- nil
		u.send(fmt.Sprintf(goodLine, 2))
		u.until(`{"id":"e2","seq":`)
	}
}

// A stream that waits ends with its client, and with the server.
func TestStreamsThatWaitEnd(t *testing.T) {
	log := newGated()
	srv := serve(t, log.double, Config{Publisher: log}, func(s *server) { s.api.atOnce = 0 })
	for range 1000 {
		log.let <- Refuse(ErrBusy, "no")
	}
	hangsUp, stays := srv.upload(t), srv.upload(t)
	for _, u := range []*upload{hangsUp, stays} {
		u.send(fmt.Sprintf(goodLine, 1))
		<-log.begun
	}
	hangsUp.conn.Close()
	stopped := make(chan error)
	go func() { stopped <- srv.http.Shutdown(t.Context()) }()
	stays.until(`"code":"stopping"}}` + "\n")
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// While the log is slow nobody reads a stream on: its sender waits, and not memory.
func TestStreamsAreSlowedByNotReading(t *testing.T) {
	log := newGated()
	srv := serve(t, log.double, Config{Publisher: log})
	u, start := srv.upload(t), liveHeap()
	block := []byte(linesOf(1000))
	u.conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
	sent, err := 0, error(nil)
	for ; sent < 64<<20 && err == nil; sent += len(block) {
		_, err = u.body.Write(block)
	}
	if !os.IsTimeout(err) {
		t.Errorf("%d bytes were taken while the log took none: %v", sent, err)
	}
	if grown := int64(liveHeap()) - int64(start); grown > 4<<20 {
		t.Errorf("%d bytes more are live, want at most 4 MiB", grown)
	}
	u.conn.Close()
	for range 1000 {
		log.let <- nil
	}
	for len(log.begun) > 0 {
		<-log.begun
	}
}

// Some clients read as they write, with one request on a connection after the other,
// and some send the next before they have the answer.
func TestPipelining(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	conn := srv.dial(t)
	request := fmt.Sprintf("POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(oneEvent), oneEvent)
	stream := fmt.Sprintf("POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n%s", len(oneEvent), oneEvent)
	io.WriteString(conn, request+stream+request)
	in := bufio.NewReader(conn)
	for i := range 3 {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || !strings.Contains(string(text), fmt.Sprintf(`"seq":%d}`, i+1)) {
			t.Errorf("answer %d: %d %s %v", i, resp.StatusCode, text, err)
		}
	}
}
