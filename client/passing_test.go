package client

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/quota"
)

// passing is a gateway of the fewest lines, between an engine and a provider.
type passing struct {
	*engine
	c    *Client
	said *lines
	mid  *Middleware
	http *http.Client
	url  string
}

// startPassing has alice's calls go to a provider, on a plan of 1,000 tokens a month.
func startPassing(t *testing.T, provider http.HandlerFunc) *passing {
	t.Helper()
	p := &passing{engine: startEngine(t)}
	p.c, p.said = p.client(nil)
	upstream := httptest.NewServer(provider)
	t.Cleanup(upstream.Close)
	p.url = upstream.URL
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	p.mid = &Middleware{Client: p.c, Base: base, Call: func(r *http.Request) Call {
		return Call{APIKeyID: "alice", ConnectionID: "c", Provider: "kimi"}
	}}
	p.http = &http.Client{Transport: p.mid}
	return p
}

// call makes a call of an API.
func (p *passing) call(path, body string) *http.Response {
	p.t.Helper()
	req, err := http.NewRequestWithContext(within(p.t), http.MethodPost, p.url+path, strings.NewReader(body))
	must(p.t, err)
	return p.do(req)
}

func (p *passing) do(req *http.Request) *http.Response {
	p.t.Helper()
	resp, err := p.http.Do(req)
	must(p.t, err)
	p.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// read reads a response to its end.
func read(t testing.TB, resp *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	must(t, resp.Body.Close())
	return string(body)
}

// listen gets what is published on a subject from now on.
func (p *passing) listen(subject string) *nats.Subscription {
	p.t.Helper()
	nc := p.Connect()
	sub, err := nc.SubscribeSync(subject)
	must(p.t, err)
	must(p.t, nc.Flush()) // the broker knows of it
	return sub
}

// counted is what alice has used, and what is held, in tokens.
func (p *passing) counted() (consumed, held int64) {
	p.t.Helper()
	p.folded(p.c)
	d := decide(p.t, p.c, Question{APIKeyID: "alice", ConnectionID: "c", Explain: true})
	scale := quota.Tokens.Scale()
	return int64(d.Dimensions[0].Consumed) / scale, int64(d.Dimensions[0].HeldTotal) / scale
}

// expect compares what was counted.
func (p *passing) expect(consumed, held int64) {
	p.t.Helper()
	if c, h := p.counted(); c != consumed || h != held {
		p.t.Errorf("consumed %d tokens, held %d; want %d and %d", c, h, consumed, held)
	}
}

// ended compares how the calls ended.
func (p *passing) ended(settled, estimated, released uint64) {
	p.t.Helper()
	s := p.c.Stats()
	if s.Settled != settled || s.Estimated != estimated || s.Released != released || s.Calls != settled+released {
		p.t.Errorf("settled %d, estimated %d, released %d of %d calls; want %d, %d and %d",
			s.Settled, s.Estimated, s.Released, s.Calls, settled, estimated, released)
	}
}

const (
	hello = `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"12345678"}]}`
	whole = `{"model":"m","choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":11,"completion_tokens":4,"total_tokens":15}}`
)

// helloPrompt is the estimate of hello's prompt.
func helloPrompt(t testing.TB) int64 {
	t.Helper()
	r, err := dialect.Read(dialect.Chat, []byte(hello))
	must(t, err)
	return r.PromptTokens
}

// chunk is a piece of a chat stream.
func chunk(text string) string {
	return fmt.Sprintf(`data: {"model":"m","choices":[{"delta":{"content":%q}}],"usage":null}`+"\n\n", text)
}

const (
	last = `data: {"model":"m","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":4,"total_tokens":15}}` + "\n\n"
	done = "data: [DONE]\n\n"
)

// connectionIn is the connection that an event names.
func connectionIn(event []byte) string {
	_, rest, _ := strings.Cut(string(event), `"connectionId":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// take receives what should come at once.
func take[T any](t *testing.T, from <-chan T) (x T) {
	t.Helper()
	select {
	case x = <-from:
	case <-within(t).Done():
		t.Fatal("nothing comes")
	}
	return x
}
