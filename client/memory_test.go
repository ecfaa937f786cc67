package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// However a call ends, the room that its body took is free again when its response
// begins.
func TestRoomForBodiesIsGivenBack(t *testing.T) {
	p := startPassing(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Refuse") != "" {
			w.WriteHeader(529)
			return
		}
		_, _ = io.WriteString(w, whole)
	})
	p.mid.MaxBody = 1000
	var bomb bytes.Buffer
	g := gzip.NewWriter(&bomb)
	_, _ = g.Write(make([]byte, 1<<20))
	must(t, g.Close())
	all := int64(perBody * atOnce * 1000)
	for _, tt := range []struct {
		name, body, encoding, refuse string
		status                       int
	}{
		{"passed", hello, "", "", 200},
		{"refused", hello, "", "1", 529},
		{"too long", strings.Repeat(" ", 1001), "", "", 413},
		{"decoded too long", bomb.String(), "gzip", "", 413},
		{"no JSON", "x", "", "", 400},
		{"not encoded", hello, "zstd", "", 400},
		{"blocked", strings.Replace(hello, "100", "2000000", 1), "", "", 429},
	} {
		if tt.name == "blocked" {
			must(t, p.c.Publish(Consumption{APIKeyID: "alice", ConnectionID: "c", Cost: Amounts{Tokens: 1000}}))
			p.folded(p.c)
		}
		req, err := http.NewRequestWithContext(within(t), http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(tt.body))
		must(t, err)
		req.Header.Set("Content-Encoding", tt.encoding)
		req.Header.Set("X-Refuse", tt.refuse)
		if resp := p.do(req); resp.StatusCode != tt.status {
			t.Errorf("%s: %d %s", tt.name, resp.StatusCode, read(t, resp))
		}
		if !p.mid.memory.room.TryAcquire(all) {
			t.Fatalf("%s: room is lost", tt.name)
		}
		p.mid.memory.give(all)
	}
}

// Bodies that find no room wait, and one whose caller leaves does not.
func TestBodiesWaitForRoom(t *testing.T) {
	p := startPassing(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, whole) })
	p.mid.MaxBody = 1000
	all := int64(perBody * atOnce * 1000)
	must(t, p.mid.memory.take(within(t), all, 1000))
	ended := make(chan int, 1)
	go func() {
		resp, err := p.http.Post(p.url+"/v1/embeddings", "application/json", strings.NewReader(`{"input":"1"}`))
		if err != nil {
			t.Error(err)
			ended <- 0
			return
		}
		_ = resp.Body.Close()
		ended <- resp.StatusCode
	}()
	select {
	case status := <-ended:
		t.Errorf("answered with %d while there was no room", status)
	case <-time.After(20 * time.Millisecond): // it cannot be seen to wait
	}
	gone, leave := context.WithCancel(within(t))
	leave()
	body := &closed{Reader: strings.NewReader(`{"input":"1"}`)}
	req, err := http.NewRequestWithContext(gone, http.MethodPost, p.url+"/v1/embeddings", body)
	must(t, err)
	if _, err := p.mid.RoundTrip(req); !errors.Is(err, context.Canceled) || !body.closed {
		t.Errorf("a caller who left got %v, its body closed: %t", err, body.closed)
	}
	p.mid.memory.give(all)
	if status := take(t, ended); status != 200 {
		t.Errorf("answered with %d", status)
	}
}

// closed is a body that knows whether it was closed.
type closed struct {
	io.Reader
	closed bool
}

// Close implements io.Closer.
func (c *closed) Close() error { c.closed = true; return nil }

// A call that says by a key that it may be sent again is not sent again: only one of two
// could be charged.
func TestACallIsSentOnce(t *testing.T) {
	p := startPassing(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, whole) })
	base := p.mid.Base
	for key, want := range map[string]bool{"": true, "Idempotency-Key": false, "X-Idempotency-Key": false} {
		p.mid.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
			if (r.GetBody != nil) != want {
				t.Errorf("with %q it can be sent again: %t", key, !want)
			}
			return base.RoundTrip(r)
		})
		req, err := http.NewRequestWithContext(within(t), http.MethodPost, p.url+"/v1/embeddings", strings.NewReader(`{"input":"1"}`))
		must(t, err)
		if key != "" {
			req.Header.Set(key, "k")
		}
		read(t, p.do(req))
	}
}

// One header that no event takes does not cost the others.
func TestAnOversizedHeaderIsLeftOut(t *testing.T) {
	p := startPassing(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Ratelimit-Odd", strings.Repeat("x", 8193))
		w.Header().Set("X-Ratelimit-Long", strings.Repeat("y", 8192))
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	sub := p.listen("quota.saturation")
	read(t, p.call("/v1/embeddings", `{"input":"1"}`))
	m, err := sub.NextMsg(30 * time.Second)
	if err != nil || bytes.Contains(m.Data, []byte("xxxx")) || !bytes.Contains(m.Data, []byte("yyyy")) || !bytes.Contains(m.Data, []byte("Retry-After")) {
		t.Errorf("published %v, %v", m, err)
	}
}
