package client

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

func TestACallIsHeldAndCharged(t *testing.T) {
	var p *passing
	p = startPassing(t, func(w http.ResponseWriter, r *http.Request) {
		if _, held := p.counted(); held != helloPrompt(t)+100 {
			t.Errorf("%d tokens are held while the provider works", held)
		}
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("asked for encoding %q", got)
		}
		_, _ = io.WriteString(w, whole)
	})
	sub := p.listen("quota.consumption")
	resp := p.call("/v1/chat/completions", hello)
	if got := read(t, resp); got != whole {
		t.Errorf("the body is %s", got)
	}
	if m, err := sub.NextMsg(30 * time.Second); err != nil || bytes.Contains(m.Data, []byte("estimated")) ||
		!bytes.Contains(m.Data, []byte(`"provider":"kimi"`)) || !bytes.Contains(m.Data, []byte(`"model":"m"`)) {
		t.Errorf("published %s, %v", m.Data, err)
	}
	if d, ok := DecisionOf(resp.Request.Context()); !ok || d.DecisionID == "" || resp.Header.Get(HeaderDecision) != d.DecisionID {
		t.Errorf("decision %+v, header %q", d, resp.Header.Get(HeaderDecision))
	}
	p.expect(15, 0)
	p.ended(1, 0, 0)
}

func TestHeldIsWhatTheCallMaySpend(t *testing.T) {
	for bound, want := range map[int64]int64{7: 7, 500: 100} {
		var p *passing
		p = startPassing(t, func(w http.ResponseWriter, _ *http.Request) {
			if _, held := p.counted(); held != helloPrompt(t)+want {
				t.Errorf("%d tokens are held", held)
			}
			_, _ = io.WriteString(w, whole)
		})
		p.mid.Call = func(*http.Request) Call {
			return Call{APIKeyID: "alice", ConnectionID: "c", API: dialect.Chat, MaxOutput: bound}
		}
		read(t, p.call("/of/another/path", hello))
		p.expect(15, 0)
	}
}

// What a request does not say is held all the same.
func TestAnAnswerOfUnknownLengthIsHeld(t *testing.T) {
	p := startPassing(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, whole) })
	holds := p.listen("quota.hold")
	for _, tt := range []struct {
		path, body string
		bound      int64
		want       string
	}{
		{"/v1/responses", `{"input":"1234"}`, 0, `"tokens":4097`},
		{"/v1/chat/completions", `{"messages":"1234"}`, 9, `"tokens":10`},
		{"/v1/embeddings", `{"input":"1234"}`, 9, `"tokens":1}`},
	} {
		p.mid.Call = func(*http.Request) Call { return Call{APIKeyID: "alice", ConnectionID: "else", MaxOutput: tt.bound} }
		read(t, p.call(tt.path, tt.body))
		if m, err := holds.NextMsg(30 * time.Second); err != nil || !bytes.Contains(m.Data, []byte(tt.want)) {
			t.Errorf("%s: held %s, %v", tt.path, m.Data, err)
		}
	}
}

func TestWhatNobodyWouldSeeIsRefused(t *testing.T) {
	p := startPassing(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was called") })
	resp := p.call("/v1/responses", `{"input":"1","background":true}`)
	if body := read(t, resp); resp.StatusCode != 400 || !strings.Contains(body, "could not be counted") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	p.ended(0, 0, 0)
}

func TestABlockDoesNotReachTheProvider(t *testing.T) {
	p := startPassing(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was called") })
	must(t, p.c.Publish(Consumption{APIKeyID: "alice", ConnectionID: "c", Cost: Amounts{Tokens: 1000}}))
	p.folded(p.c)
	resp := p.call("/v1/messages", hello)
	body := read(t, resp)
	d, _ := DecisionOf(resp.Request.Context())
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" || resp.Header.Get("X-Should-Retry") != "false" ||
		!strings.HasPrefix(body, `{"type":"error","error":{"type":"rate_limit_error","message":"`) || !strings.Contains(body, d.DecisionID) ||
		d.DecisionID == "" || resp.Header.Get(HeaderDecision) != d.DecisionID {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
	p.expect(1000, 0)
	p.ended(0, 0, 0)
}

func TestAStreamIsReadOnItsWay(t *testing.T) {
	p := startPassing(t, func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		mustToo(t, err)
		if !bytes.Contains(sent, []byte(`"include_usage":true`)) || r.ContentLength != int64(len(sent)) {
			t.Errorf("the provider got %d bytes, %s", r.ContentLength, sent)
		}
		_, _ = io.WriteString(w, chunk("hi")+chunk("!")+last+done)
	})
	resp := p.call("/v1/chat/completions", strings.Replace(hello, "{", `{"stream":true,`, 1))
	if resp.ContentLength != -1 || resp.Header.Get("Content-Length") != "" {
		t.Errorf("the client is told of %d bytes, %s", resp.ContentLength, resp.Header.Get("Content-Length"))
	}
	got := read(t, resp)
	want := strings.ReplaceAll(chunk("hi")+chunk("!"), `,"usage":null`, "") + done
	if got != want {
		t.Errorf("the client got\n%s\nwant\n%s", got, want)
	}
	p.expect(15, 0)
}

// Nothing is held back: the provider sends a piece only when the client has had the
// one before.
func TestAStreamIsNotHeldBack(t *testing.T) {
	had := make(chan struct{})
	for _, asks := range []string{`{"stream":true,`, `{"stream":true,"stream_options":{"include_usage":true},`} {
		p := startPassing(t, func(w http.ResponseWriter, r *http.Request) {
			for range 3 {
				_, _ = io.WriteString(w, chunk("hi"))
				_ = http.NewResponseController(w).Flush()
				select {
				case <-had:
				case <-r.Context().Done():
					return
				}
			}
			_, _ = io.WriteString(w, last+done)
		})
		resp := p.call("/v1/chat/completions", strings.Replace(hello, "{", asks, 1))
		piece := make([]byte, 4096)
		for range 3 {
			n, err := resp.Body.Read(piece)
			must(t, err)
			if !bytes.HasSuffix(piece[:n], []byte("\n\n")) {
				t.Fatalf("got %q", piece[:n])
			}
			had <- struct{}{}
		}
		read(t, resp)
		p.expect(15, 0)
	}
}

// What is cut is charged what is known: the prompt as the provider said, else as it was
// estimated, and a token for 4 bytes of text.
func TestWhatIsCutIsEstimated(t *testing.T) {
	prompt := helloPrompt(t)
	stream := strings.Replace(hello, "{", `{"stream":true,`, 1)
	started := `event: message_start` + "\n" + `data: {"type":"message_start","message":{"usage":{"input_tokens":30,"output_tokens":1}}}` + "\n\n"
	delta := `event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"123456789"}}` + "\n\n"
	for _, tt := range []struct {
		name, path, sent string
		want             int64
	}{
		{"prompt not stated", "/v1/chat/completions", chunk("12345678"), prompt + 2},
		{"text rounded up", "/v1/chat/completions", chunk("12345678") + chunk("9"), prompt + 3},
		{"half an event", "/v1/chat/completions", chunk("12345678") + `data: {"choices":[{"delta":{"con`, prompt + 2},
		{"prompt stated", "/v1/messages", started + delta, 30 + 3},
		{"no text", "/v1/messages", started, 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := startPassing(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, tt.sent)
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
			sub := p.listen("quota.consumption")
			got, err := io.ReadAll(p.call(tt.path, stream).Body)
			if want := strings.ReplaceAll(tt.sent, `,"usage":null`, ""); err == nil || string(got) != want {
				t.Errorf("the client got %s, %v; want %s, and that it was cut", got, err, want)
			}
			if m, err := sub.NextMsg(30 * time.Second); err != nil || !bytes.Contains(m.Data, []byte(`"estimated":true`)) {
				t.Errorf("published %s, %v", m.Data, err)
			}
			p.expect(tt.want, 0)
			p.ended(1, 1, 0)
		})
	}
}

func TestACallerWhoLeavesIsCharged(t *testing.T) {
	left := make(chan struct{})
	p := startPassing(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, chunk("12345678"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // the call is given up, which saves the rest
		close(left)
	})
	resp := p.call("/v1/chat/completions", strings.Replace(hello, "{", `{"stream":true,`, 1))
	_, err := resp.Body.Read(make([]byte, 4096))
	must(t, err)
	must(t, resp.Body.Close())
	must(t, resp.Body.Close()) // again
	<-left
	p.expect(helloPrompt(t)+2, 0)
	p.ended(1, 1, 0)
}

func TestWhatUsedNothingIsReleased(t *testing.T) {
	for name, provider := range map[string]http.HandlerFunc{
		"refused":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(529) },
		"not found": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"usage":{"total_tokens":9}}`, 404) },
		"aborted":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"empty":     func(http.ResponseWriter, *http.Request) {},
		"error in a 200": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `data: {"error":{"code":"overloaded"}}`+"\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPassing(t, provider)
			req, err := http.NewRequestWithContext(within(t), http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(hello))
			must(t, err)
			if resp, err := p.http.Do(req); err == nil {
				read(t, resp)
			}
			p.expect(0, 0)
			p.ended(0, 0, 1)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestALongCallIsRenewed(t *testing.T) {
	on := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(on) })
	p := startPassing(t, func(w http.ResponseWriter, _ *http.Request) {
		<-on
		_, _ = io.WriteString(w, whole)
	})
	t.Cleanup(goOn)
	p.mid.Lease = 3 * time.Second
	sub, holds := p.listen("quota.consumption"), p.listen("quota.hold")
	got := make(chan string, 1)
	go func() { got <- read(t, p.call("/v1/chat/completions", hello)) }()
	if m, err := holds.NextMsg(30 * time.Second); err != nil || !bytes.Contains(m.Data, []byte(`"leaseMs":3000`)) {
		t.Errorf("held %s, %v", m.Data, err)
	}
	for range 4 { // four seconds: more than a lease
		m, err := sub.NextMsg(30 * time.Second)
		must(t, err)
		if !bytes.Contains(m.Data, []byte(`"partial":true`)) {
			t.Errorf("published %s", m.Data)
		}
	}
	p.expect(0, helloPrompt(t)+100)
	goOn()
	<-got
	p.expect(15, 0)
	if s := p.c.Stats(); s.Renewed < 4 {
		t.Errorf("renewed %d times", s.Renewed)
	}
}

func TestWhatTheProviderSaysIsPublished(t *testing.T) {
	p := startPassing(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Codex-Primary-Used-Percent", "40")
		w.Header().Set("X-Codex-Primary-Window-Minutes", "300")
		w.Header().Set("X-Codex-Primary-Reset-After-Seconds", "7200")
		w.Header().Set("Set-Cookie", "secret=1")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	sub := p.listen("quota.saturation")
	read(t, p.call("/v1/responses", `{"input":"hi"}`))
	m, err := sub.NextMsg(30 * time.Second)
	must(t, err)
	if bytes.Contains(m.Data, []byte("secret")) || bytes.Contains(m.Data, []byte("Date")) ||
		!bytes.Contains(m.Data, []byte(`"status":429`)) || !bytes.Contains(m.Data, []byte(`"provider":"kimi"`)) {
		t.Errorf("published %s", m.Data)
	}
	p.folded(p.c)
	d := decide(t, p.c, Question{APIKeyID: "alice", ConnectionID: "c", Explain: true})
	if got := d.Dimensions[1].ProviderUsed; int64(got) != 40*quota.Percent.Scale() {
		t.Errorf("the engine knows of %d", got)
	}
}

func TestOtherCallsPassUntouched(t *testing.T) {
	p := startPassing(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Ratelimit-Limit-Requests", "10") // of counting, which has limits of its own
		w.Header().Set("X-Ratelimit-Remaining-Requests", "0")
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	if got := read(t, p.call("/v1/messages/count_tokens", hello)); got != hello {
		t.Errorf("got %s", got)
	}
	if s := p.c.Stats(); s.Allowed+s.Published+s.Calls != 0 {
		t.Errorf("counted %+v", s)
	}
}

func TestLowPriorityIsMarked(t *testing.T) {
	var got []string
	p := startPassing(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get(HeaderDeprioritize))
		w.Header().Set(HeaderDeprioritize, "by the provider")
		_, _ = io.WriteString(w, whole)
	})
	p.putPool(&plans.Pool{
		ID: "team", Name: "Team", Provider: "kimi", Reserve: 100, Connections: []plans.Connection{{ConnectionID: "c", Weight: 100}},
		Allocations: []plans.Allocation{{APIKeyID: "alice", Weight: 10 * quota.RatioOne, Policy: plans.Soft}},
	})
	for range 2 {
		req, err := http.NewRequestWithContext(within(t), http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(hello))
		must(t, err)
		req.Header.Set(HeaderDeprioritize, "by the client")
		resp := p.do(req)
		read(t, resp)
		got = append(got, resp.Header.Get(HeaderDeprioritize))
		must(t, p.c.Publish(Consumption{APIKeyID: "alice", ConnectionID: "c", Cost: Amounts{Tokens: 700}}))
		p.folded(p.c)
	}
	if want := []string{"", "", "true", "true"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("marked %q, want %q", got, want)
	}
}

func TestCompressedRequestsAreRead(t *testing.T) {
	var zipped, squeezed bytes.Buffer
	g := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(g, hello)
	must(t, g.Close())
	z, err := zstd.NewWriter(&squeezed, zstd.WithEncoderConcurrency(1))
	must(t, err)
	_, _ = io.WriteString(z, hello)
	must(t, z.Close())
	var p *passing
	p = startPassing(t, func(w http.ResponseWriter, r *http.Request) {
		if _, held := p.counted(); held != helloPrompt(t)+100 {
			t.Errorf("held %d", held)
		}
		w.Header().Set("Content-Encoding", "gzip") // though it was not to be
		out := gzip.NewWriter(w)
		_, _ = io.WriteString(out, whole)
		_ = out.Close()
	})
	for i, tt := range []struct {
		encoding, body string
		status         int
	}{
		{"gzip", zipped.String(), 200},
		{"zstd", squeezed.String(), 200},
		{"gzip", hello, 400},
		{"br", hello, 415},
		{"", "{", 400},
		{"", strings.Replace(hello, `"m"`, `"`+strings.Repeat("m", 300)+`"`, 1), 400},
	} {
		req, err := http.NewRequestWithContext(within(t), http.MethodPost, p.url+"/v1/messages", strings.NewReader(tt.body))
		must(t, err)
		req.Header.Set("Content-Encoding", tt.encoding)
		resp := p.do(req)
		if body := read(t, resp); resp.StatusCode != tt.status || (tt.status == 200) != (body == whole) {
			t.Errorf("%d: %d %s", i, resp.StatusCode, body)
		}
	}
	p.mid.MaxBody = int64(len(hello)) - 1
	if resp := p.call("/v1/messages", hello); resp.StatusCode != 413 {
		t.Errorf("too long a body is %d", resp.StatusCode)
	}
	p.mid.MaxBody++
	if resp := p.call("/v1/messages", hello); resp.StatusCode != 200 {
		t.Errorf("a body as long as may be is %d", resp.StatusCode)
	}
}

// What is changed is sent as it is, whatever it came as, and can be sent again when a
// kept connection turns out to be closed.
func TestAChangedRequestIsSentPlain(t *testing.T) {
	p := startPassing(t, func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		mustToo(t, err)
		if r.Header.Get("Content-Encoding") != "" || !bytes.Contains(sent, []byte(`"include_usage":true`)) {
			t.Errorf("the provider got %q as %q", sent, r.Header.Get("Content-Encoding"))
		}
		_, _ = io.WriteString(w, last+done)
	})
	base := p.mid.Base
	p.mid.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		mustToo(t, err)
		r.Body, err = r.GetBody()
		mustToo(t, err)
		return base.RoundTrip(r)
	})
	var zipped bytes.Buffer
	g := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(g, strings.Replace(hello, "{", `{"stream":true,`, 1))
	must(t, g.Close())
	req, err := http.NewRequestWithContext(within(t), http.MethodPost, p.url+"/v1/chat/completions", &zipped)
	must(t, err)
	req.Header.Set("Content-Encoding", "gzip")
	read(t, p.do(req))
	p.expect(15, 0)
}

func TestWithoutAnEngineCallsPassOrNot(t *testing.T) {
	p := startPassing(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, whole) })
	p.stopEngine()
	if got := read(t, p.call("/v1/chat/completions", hello)); got != whole {
		t.Errorf("got %s", got)
	}
	resp := p.call("/v1/chat/completions", hello)
	if got := resp.Header.Get(HeaderDegraded); got != string(NoResponders) {
		t.Errorf("the answer says %q of what is wrong", got)
	}
	read(t, resp)
	if s := p.c.Stats(); s.FailedOpen != 2 || s.Settled != 2 {
		t.Errorf("counted %+v", s)
	}
	p.said.await(t, "no engine listens")
	p.mid.Client, _ = p.client(func(o *Options) { o.FailClosed = true })
	resp = p.call("/v1/chat/completions", hello)
	if body := read(t, resp); resp.StatusCode != 503 || !strings.Contains(body, "quota engine gives no answer") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
