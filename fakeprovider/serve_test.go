package fakeprovider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/dialect"
)

// TestHTTP2 has cuts and gates where a stream is one of several on a
// connection: the cut one ends in an error, and the connection goes on.
func TestHTTP2(t *testing.T) {
	p := New(Options{})
	server := httptest.NewUnstartedServer(p)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	r := &rig{p, server}
	for _, cut := range []string{"before", "between", "inside"} {
		for _, req := range requests {
			a := r.ask(t, req.api, req.body, BehaviourHeader+": cut-after=2&cut="+cut)
			if a.err == nil {
				t.Errorf("%s, cut %s: it ended well with %q", req.name, cut, a.body)
			}
			if c := r.last(t); cut != "before" {
				total, _ := metered(req.api, req.body, a)
				if c.Total != total {
					t.Errorf("%s, cut %s: charged %+v, the meter says %d of %q", req.name, cut, c, total, a.body)
				}
			}
		}
	}
	if a := r.ask(t, dialect.Chat, requests[0].body); a.err != nil || a.status != 200 {
		t.Errorf("after the cuts: %d, %v", a.status, a.err)
	}
}

// TestManyAtOnce: requests that do not wait for each other find each their own
// line, and what they drew is charged.
func TestManyAtOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rig := newRig(t, Options{Seed: rapid.Uint64().Draw(rt, "seed"), IDHeader: "X-Test"})
		var all sync.WaitGroup
		got := make([]answer, rapid.IntRange(1, 12).Draw(rt, "requests"))
		kinds := make([]int, len(got))
		for i := range got {
			kinds[i] = rapid.IntRange(0, len(requests)-1).Draw(rt, "kind")
			how := rapid.SampledFrom([]string{
				"", "status=429", "status=529", "cut=before", "cut=between&cut-after=", "cut=inside&cut-after=", "cut=error&cut-after=",
			}).Draw(rt, "how")
			if strings.HasSuffix(how, "=") {
				how += rapid.SampledFrom(strings.Fields("0 1 2 3 4 5 9 12")).Draw(rt, "after")
			}
			how += rapid.SampledFrom([]string{"&", "&reasoning=5", "&cached=4", "&chunks=1", "&completion=1"}).Draw(rt, "what")
			all.Go(func() {
				req := requests[kinds[i]]
				got[i] = rig.ask(t, req.api, req.body, BehaviourHeader+": "+how, "X-Test: "+string(rune('a'+i)))
			})
		}
		all.Wait()
		rig.server.Close()
		lines := rig.Charges()
		if len(lines) != len(got) {
			rt.Fatalf("%d lines for %d requests", len(lines), len(got))
		}
		for _, c := range lines {
			i := int(c.RequestID[0] - 'a')
			agree(rt, c, requests[kinds[i]].api, requests[kinds[i]].body, got[i])
		}
	})
}

// TestAGateHoldsTheRestBack: a client that goes away is charged for what was let
// through, exactly, and the answer ends without the gate.
func TestAGateHoldsTheRestBack(t *testing.T) {
	gate := make(chan struct{}, 20)
	rig := newRig(t, Options{Behave: func(*http.Request) Behaviour { return Behaviour{Gate: gate, Completion: 6, Chunks: 6} }})
	req := requests[1]
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "POST", rig.server.URL+req.api.String(), strings.NewReader(req.body))
	resp, err := rig.server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if c := rig.last(t); c.Total != 0 || !c.Open || c.Status != 200 {
		t.Errorf("before the first event: %+v", c)
	}
	in, got := bufio.NewReader(resp.Body), []byte(nil)
	for range 3 {
		gate <- struct{}{}
		for range 2 { // an event is two lines
			line, err := in.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, line...)
		}
	}
	leave()
	_ = resp.Body.Close()
	rig.server.Close() // returns when the handler has
	agree(t, rig.last(t), req.api, req.body, answer{status: 200, body: got})
	if c := rig.last(t); c.Text == 0 || c.Whole || len(gate) > 0 {
		t.Errorf("%+v, %d are left in the gate", c, len(gate))
	}
}

// TestAClosedGateIsNone, as none is.
func TestAClosedGateIsNone(t *testing.T) {
	gate := make(chan struct{})
	close(gate)
	rig := newRig(t, Options{Behave: func(*http.Request) Behaviour { return Behaviour{Gate: gate} }})
	if a := rig.ask(t, dialect.Messages, requests[6].body); a.err != nil || !strings.Contains(string(a.body), "message_stop") {
		t.Errorf("%v, %s", a.err, a.body)
	}
}

// TestWhoHasReadIsCharged: the line is written before the answer has been read,
// so that nobody has to wait for it.
func TestWhoHasReadIsCharged(t *testing.T) {
	rig := newRig(t, Options{})
	for range 200 {
		a := rig.ask(t, dialect.Chat, requests[0].body)
		if total, _ := metered(dialect.Chat, requests[0].body, a); rig.last(t).Total != total {
			t.Fatalf("charged %+v, not %d", rig.last(t), total)
		}
	}
}

// TestWhoDoesNotAsk: a chat stream without its usage is charged what it cost,
// which its reader cannot know.
func TestWhoDoesNotAsk(t *testing.T) {
	rig := newRig(t, Options{})
	body := strings.Replace(requests[1].body, `"include_usage":true`, `"include_usage":false`, 1)
	a := rig.ask(t, dialect.Chat, body, BehaviourHeader+": completion=100&reasoning=90")
	c := rig.last(t)
	if total, estimated := metered(dialect.Chat, body, a); !estimated || !c.Whole || c.Total != 112 || total >= c.Total {
		t.Errorf("charged %+v, the meter says %d, estimated %v", c, total, estimated)
	}
}

// TestDelays, on a clock that stands until all wait.
func TestDelays(t *testing.T) {
	gated := Behaviour{Reasoning: 1} // a gate belongs to the bubble it is made in
	for name, tt := range map[string]struct {
		how    Behaviour
		body   string
		leaves time.Duration // the client, 0 never
		took   time.Duration
	}{
		"first byte":      {Behaviour{FirstByteDelay: time.Hour}, requests[0].body, 0, time.Hour},
		"of a refusal":    {Behaviour{FirstByteDelay: time.Hour, Status: 529}, requests[0].body, 0, time.Hour},
		"of a cut":        {Behaviour{FirstByteDelay: time.Hour, Cut: BeforeHeader}, requests[0].body, 0, time.Hour},
		"parts of JSON":   {Behaviour{Delay: time.Second}, requests[0].body, 0, 4 * time.Second},
		"events":          {Behaviour{Delay: time.Second, Chunks: 2}, requests[1].body, 0, 5 * time.Second},
		"a client leaves": {Behaviour{Delay: time.Second, FirstByteDelay: time.Hour}, requests[0].body, time.Minute, time.Minute},
		"in between":      {Behaviour{Delay: time.Hour}, requests[0].body, time.Minute, time.Minute},
		"at the gate":     {gated, requests[0].body, time.Minute, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			if tt.how == gated {
				tt.how.Gate = make(chan struct{})
			}
			p := New(Options{Behave: func(*http.Request) Behaviour { return tt.how }})
			r := post("/v1/chat/completions", tt.body)
			if tt.leaves > 0 {
				ctx, cancel := context.WithTimeout(r.Context(), tt.leaves)
				defer cancel()
				r = r.WithContext(ctx)
			}
			begin := time.Now()
			aborted := serve(p, httptest.NewRecorder(), r)
			if took := time.Since(begin); took != tt.took || aborted != (tt.leaves > 0 || tt.how.Cut != Uncut) {
				t.Errorf("%s: it took %v, aborted %v", name, took, aborted)
			}
			if p.Charges()[0].Open {
				t.Errorf("%s: the line is open", name)
			}
		})
	}
}

// serve reports whether the handler ended the connection.
func serve(p *Provider, w http.ResponseWriter, r *http.Request) (aborted bool) {
	defer func() {
		if v := recover(); v != nil {
			aborted = errors.Is(v.(error), http.ErrAbortHandler)
		}
	}()
	p.ServeHTTP(w, r)
	return false
}

// TestTheBodyCanBeRead by who chooses the behaviour.
func TestTheBodyCanBeRead(t *testing.T) {
	var seen []byte
	rig := newRig(t, Options{Behave: func(r *http.Request) Behaviour {
		seen, _ = io.ReadAll(r.Body)
		return Behaviour{Status: 503}
	}})
	if a := rig.ask(t, dialect.Chat, requests[0].body); a.status != 503 || string(seen) != requests[0].body {
		t.Errorf("%d, the body is %q", a.status, seen)
	}
	if a := rig.ask(t, dialect.Chat, requests[0].body, BehaviourHeader+": status=200"); a.status != 200 {
		t.Errorf("the header does not win: %d", a.status)
	}
}

// TestTooLarge, and a body that ends early.
func TestTooLarge(t *testing.T) {
	p := New(Options{})
	for _, tt := range []struct {
		body   io.Reader
		status int
	}{
		{io.MultiReader(strings.NewReader(`{"model":"m"}`), io.LimitReader(spaces{}, maxBody-13)), 200},
		{io.MultiReader(strings.NewReader(`{"model":"m"}`), io.LimitReader(spaces{}, maxBody-12)), 413},
		{io.MultiReader(strings.NewReader(`{"model":"m"}`), failing{}), 400},
	} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", tt.body))
		if w.Code != tt.status {
			t.Errorf("answered %d, not %d: %s", w.Code, tt.status, w.Body)
		}
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{' '}, len(p))), nil }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestEmbeddings has the forms of inputs and vectors.
func TestEmbeddings(t *testing.T) {
	rig := newRig(t, Options{})
	for input, n := range map[string]int{
		`"one"`: 1, `["one"]`: 1, `["one","two"]`: 2, `[1,2,3]`: 1, `[[1],[2, 3]]`: 2, `[]`: 1,
	} {
		var out struct {
			Data []struct {
				Index     int
				Embedding json.RawMessage
			}
		}
		for encoding, bytes := range map[string]int{"float": 0, "base64": 4 * 5} {
			a := rig.ask(t, dialect.Embeddings, `{"model":"m","dimensions":5,"input":`+input+`,"encoding_format":"`+encoding+`"}`)
			if err := json.Unmarshal(a.body, &out); err != nil || len(out.Data) != n || out.Data[n-1].Index != n-1 {
				t.Fatalf("%s: %v: %s", input, err, a.body)
			}
			var vector []float32
			var text string
			if json.Unmarshal(out.Data[0].Embedding, &vector) == nil && len(vector) == 5 && bytes == 0 {
				continue
			}
			if raw, err := base64.StdEncoding.DecodeString(text); json.Unmarshal(out.Data[0].Embedding, &text) != nil || err != nil || bytes == 0 {
				t.Errorf("%s as %s: %s, %v", input, encoding, out.Data[0].Embedding, raw)
			}
			if raw, _ := base64.StdEncoding.DecodeString(text); len(raw) != bytes {
				t.Errorf("%s: a vector of %d bytes", input, len(raw))
			}
		}
	}
}
