package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// event is what chat streams have one of for each piece of text.
const event = `data: {"choices":[{"index":0,"delta":{"content":"word"}}]}` + "\n\n"

// flowing is a provider whose stream goes on when the test says so, and that tells when
// its client has gone.
type flowing struct {
	Connection

	more chan string   // the next piece; closed: the end
	cut  chan struct{} // the request's context has ended
}

func startFlowing(t testing.TB) *flowing {
	t.Helper()
	f := &flowing{more: make(chan string), cut: make(chan struct{})}
	f.Connection = upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case piece, ok := <-f.more:
				if !ok {
					return
				}
				_, _ = io.WriteString(w, piece)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				close(f.cut)
				return
			}
		}
	})
	return f
}

// send gives the provider a piece to send on.
func (f *flowing) send(t testing.TB, piece string) {
	t.Helper()
	select {
	case f.more <- piece:
	case <-within(t).Done():
		t.Fatal("the provider was not called, or its call has ended")
	}
}

// await returns when something has ended.
func await(t testing.TB, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-within(t).Done():
		t.Fatalf("%s never came", what)
	}
}

// TestAStreamIsNotHeldBack: the provider sends a piece only after the client has got
// the one before. Pieces that are no whole events pass too, where nothing is taken out.
func TestAStreamIsNotHeldBack(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages"} {
		f := startFlowing(t)
		s := start(t, nowhere, everything(f.Connection))
		resp := s.do(s.request("POST", path, `{"model":"m","stream":true}`)) // with the header alone
		pieces := []string{": here\n\n", event, event, "data: [DONE]\n\n"}
		if path != "/v1/chat/completions" {
			pieces = append(pieces, "da", "ta: {\"ha", "lf\":1}\n\n")
		}
		for _, piece := range pieces {
			f.send(t, piece)
			got := make([]byte, len(piece))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != piece {
				t.Fatalf("%s: got %q, %v, want %q", path, got, err, piece)
			}
		}
		close(f.more)
		if rest := text(t, resp); rest != "" {
			t.Errorf("%s: and then %q", path, rest)
		}
	}
}

// TestAClientThatLeavesEndsTheCall: at the provider too, and what came is charged.
func TestAClientThatLeavesEndsTheCall(t *testing.T) {
	e := startEngine(t, 1000)
	f := startFlowing(t)
	s := start(t, e.url, f.Connection)
	ctx, leave := context.WithCancel(context.Background())
	resp := s.do(s.request("POST", "/v1/chat/completions", chat).WithContext(ctx))
	f.send(t, event)
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	leave()
	await(t, "the end at the provider", f.cut)
	must(t, s.g.wait(within(t)))
	if got := s.c.Stats(); got.Settled != 1 || got.Estimated != 1 || got.Calls != 1 {
		t.Errorf("settled %d, estimated %d of %d calls", got.Settled, got.Estimated, got.Calls)
	}
}

// TestAClientThatLeavesBeforeTheFirstByte has used nothing.
func TestAClientThatLeavesBeforeTheFirstByte(t *testing.T) {
	e := startEngine(t, 1000)
	f := startFlowing(t)
	s := start(t, e.url, f.Connection)
	ctx, leave := context.WithCancel(context.Background())
	s.do(s.request("POST", "/v1/chat/completions", chat).WithContext(ctx))
	leave()
	await(t, "the end at the provider", f.cut)
	must(t, s.g.wait(within(t)))
	if got := s.c.Stats(); got.Released != 1 || got.Calls != 1 {
		t.Errorf("released %d of %d calls", got.Released, got.Calls)
	}
}

// TestAStreamThatTheProviderCutsIsCut, so that no client takes it for whole.
func TestAStreamThatTheProviderCutsIsCut(t *testing.T) {
	s := start(t, nowhere, upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, event)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	resp := s.do(s.request("POST", "/v1/chat/completions", chat))
	if body, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || string(body) != event {
		t.Errorf("%q, %v", body, err)
	}
}

// TestStopping: what is in progress ends as it should, and nothing new begins.
func TestStopping(t *testing.T) {
	f := startFlowing(t)
	s := start(t, nowhere, f.Connection)
	resp := s.do(s.request("POST", "/v1/chat/completions", chat))
	f.send(t, event)
	stopped := make(chan error)
	go func() { stopped <- s.stop() }()
	refused(t, s.url)
	f.send(t, event)
	close(f.more)
	if body := text(t, resp); body != event+event {
		t.Errorf("got %q", body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// refused returns when nobody listens any more.
func refused(t testing.TB, url string) {
	t.Helper()
	for ctx := within(t); ctx.Err() == nil; {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			return
		}
		_ = conn.Close()
	}
	t.Fatal("the gateway still listens")
}

// TestStoppingDoesNotWaitForEver: what lasts longer than it may is cut, charged, and
// over when Serve returns.
func TestStoppingDoesNotWaitForEver(t *testing.T) {
	e := startEngine(t, 1000)
	f := startFlowing(t)
	s := rig{drain: time.Millisecond}.start(t, e.url, f.Connection)
	resp := s.do(s.request("POST", "/v1/chat/completions", chat))
	f.send(t, event)
	must(t, s.stop())
	if got := s.c.Stats(); got.Settled != 1 || got.Estimated != 1 || got.Calls != 1 {
		t.Errorf("settled %d, estimated %d of %d calls", got.Settled, got.Estimated, got.Calls)
	}
	await(t, "the end at the provider", f.cut)
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the stream ended as if it were whole")
	}
}

// TestACallWithoutAnAnswerIsToldOfTheEnd, so that its client tries again.
func TestACallWithoutAnAnswerIsToldOfTheEnd(t *testing.T) {
	called := make(chan struct{})
	s := rig{drain: time.Millisecond}.start(t, nowhere, upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(called)
		<-r.Context().Done()
	}))
	answered := make(chan *http.Response)
	go func() { answered <- s.do(s.request("POST", "/v1/chat/completions", chat)) }()
	await(t, "the call", called)
	must(t, s.stop())
	if resp := <-answered; resp.StatusCode != 503 || !strings.Contains(text(t, resp), "is being stopped; try again") {
		t.Errorf("answered %d", resp.StatusCode)
	}
}

// TestABodyThatDoesNotCome is not waited for as long as a stream may last.
func TestABodyThatDoesNotCome(t *testing.T) {
	s := rig{readWithin: time.Millisecond}.start(t, nowhere, upstream(t, func(http.ResponseWriter, *http.Request) {
		t.Error("the provider was called")
	}))
	for head, want := range map[string]string{
		"Content-Length: 100\r\n\r\n{":                     "HTTP/1.1 408 Request Timeout\r\n",
		"Transfer-Encoding: chunked\r\n\r\nno hexadecimal": "HTTP/1.1 400 Bad Request\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		must(t, err)
		_, err = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: "+aliceToken+"\r\n"+head+"\r\n")
		must(t, err)
		if got, err := bufio.NewReader(conn).ReadString('\n'); got != want {
			t.Errorf("%q: answered %q, %v", head, got, err)
		}
		must(t, conn.Close())
	}
}

// TestAStreamLastsLongerThanItsRequestMay: the time for a body is not one for the
// answer.
func TestAStreamLastsLongerThanItsRequestMay(t *testing.T) {
	const most = 500 * time.Millisecond
	f := startFlowing(t)
	s := rig{readWithin: most}.start(t, nowhere, f.Connection)
	resp := s.do(s.request("POST", "/v1/chat/completions", chat))
	f.send(t, event)
	<-time.After(2 * most) // passing time is what this is about
	f.send(t, event)
	close(f.more)
	if body := text(t, resp); body != event+event {
		t.Errorf("got %q", body)
	}
}

// TestAnAnswerOfKnownLengthIsNotHeldBack either: of a stream a proxy knows by itself
// that it is to be sent on at once.
func TestAnAnswerOfKnownLengthIsNotHeldBack(t *testing.T) {
	rest := make(chan struct{})
	s := start(t, nowhere, upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "8")
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		<-rest
		_, _ = io.WriteString(w, "rest")
	}))
	resp := s.do(s.request("POST", "/v1/embeddings", "{}"))
	half := make([]byte, 4)
	if _, err := io.ReadFull(resp.Body, half); err != nil || string(half) != "half" {
		t.Errorf("got %q, %v", half, err)
	}
	close(rest)
	if body := text(t, resp); body != "rest" {
		t.Errorf("and then %q", body)
	}
}
