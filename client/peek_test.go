package client

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/quotashare/quotashare/dialect"
)

func TestPeekLeavesTheBodyAsItWas(t *testing.T) {
	const chat = `{"model":"kimi-k2","messages":[]}`
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	_, err := w.Write([]byte(chat))
	must(t, err)
	must(t, w.Close())
	for _, tt := range []struct {
		name, body, encoding string
		most                 int64
		model                string
		fails                bool
	}{
		{"plain", chat, "", 0, "kimi-k2", false},
		{"just as long as allowed", chat, "", int64(len(chat)), "kimi-k2", false},
		{"too long", chat, "", int64(len(chat)) - 1, "", true},
		{"no JSON", `{"model":`, "", 0, "", true},
		{"gzip", small.String(), "gzip", 0, "kimi-k2", false},
		{"an unknown encoding", chat, "br", 0, "", true},
	} {
		req, err := http.NewRequest(http.MethodPost, "http://gateway", strings.NewReader(tt.body))
		must(t, err)
		req.Header.Set("Content-Encoding", tt.encoding)
		facts, err := Peek(req, dialect.Chat, tt.most)
		if facts.Model != tt.model || (err != nil) != tt.fails {
			t.Errorf("%s: model %q, error %v", tt.name, facts.Model, err)
		}
		left, err := io.ReadAll(req.Body)
		if must(t, err); string(left) != tt.body {
			t.Errorf("%s: %q is left of %q", tt.name, left, tt.body)
		}
		must(t, req.Body.Close())
	}
}

func TestPeekLeavesTheErrorOfABody(t *testing.T) {
	lost := errors.New("the client is gone")
	broken := io.MultiReader(strings.NewReader(`{"model":`), iotest.ErrReader(lost))
	req, err := http.NewRequest(http.MethodPost, "http://gateway", broken)
	must(t, err)
	if _, err := Peek(req, dialect.Chat, 0); !errors.Is(err, lost) {
		t.Errorf("the error is %v", err)
	}
	if left, err := io.ReadAll(req.Body); string(left) != `{"model":` || !errors.Is(err, lost) {
		t.Errorf("%q and %v are left", left, err)
	}
}

func TestConnected(t *testing.T) {
	b := startBroker(t)
	nc := b.Connect()
	c, _ := b.client(func(o *Options) { o.URL, o.Conn = "", nc })
	if !c.Connected() {
		t.Error("not connected to a broker that runs")
	}
	b.Stop()
	awaitLoss(t, b, c.Connected)
	b.Start()
	must(t, nc.FlushWithContext(within(t)))
	if !c.Connected() {
		t.Error("not connected to a broker that is back")
	}
}

// TestAnAnswerOfOursSaysItsLength, as one of a transport does: httputil.ReverseProxy
// copies the header, and sends in chunks what has none.
func TestAnAnswerOfOursSaysItsLength(t *testing.T) {
	req, err := http.NewRequest(http.MethodPost, "http://gateway/v1/messages", nil)
	must(t, err)
	resp := answer(req, dialect.Refusal{Status: 429, Message: "m"}, dialect.Messages, nil)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	if got := resp.Header.Get("Content-Length"); got != strconv.Itoa(len(body)) || resp.ContentLength != int64(len(body)) {
		t.Errorf("Content-Length %s and %d of %d bytes", got, resp.ContentLength, len(body))
	}
}
