package e2e

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/fakeprovider"
	"github.com/quotashare/quotashare/internal/brokertest"
)

// storm is many requests through a gateway to a provider that fails a third of them,
// or whose callers leave, while the programs between are killed and stopped.
type storm struct {
	t        *testing.T
	provider *fakeprovider.Provider
	trials   sync.Map // by request id, what the provider is to do
	gateway  string   // its URL
	tokens   map[string]string
	http     *http.Client

	done   atomic.Int64
	missed atomic.Int64 // requests that found no gateway
	mu     sync.Mutex
	up     chan struct{} // closed while the gateway listens
}

// trial is one request, and what becomes of it.
type trial struct {
	key, path, body string
	how             fakeprovider.Behaviour
	leaveAfter      int           // events of the stream; -1 = the caller stays
	reached         chan struct{} // the caller leaves when it is closed; nil = it does not
	leaveWithin     time.Duration // of its asking; 0 = it does not
}

// bodies are requests of every API. None says how long an answer may be, so that the
// provider chooses.
var bodies = []struct{ path, body string }{
	{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"What is a fair share of a cake?"}]}`},
	{"/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"And of two?"}]}`},
	{"/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Of three?"}]}`},
	{"/v1/messages", `{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"What is a fair share of a cake?"}]}`},
	{"/v1/messages", `{"model":"m","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"And of two?"}]}`},
	{"/v1/responses", `{"model":"m","input":"What is a fair share of a cake?"}`},
	{"/v1/responses", `{"model":"m","input":"And of two?","stream":true}`},
	{"/v1/embeddings", `{"model":"m","input":"a cake"}`},
}

// newTrial chooses: of three requests one fails, in one of the ways there are.
func newTrial(rng *rand.Rand) *trial {
	b := bodies[rng.IntN(len(bodies))]
	x := &trial{key: fmt.Sprintf("key-%d", rng.IntN(4)), path: b.path, body: b.body, leaveAfter: -1}
	after := rng.IntN(5) // JSON has five parts, streams have more
	if rng.IntN(3) > 0 {
		return x
	}
	kind := rng.IntN(8)
	if streams := strings.Contains(b.body, `"stream":true`); !streams && kind == 6 {
		kind = rng.IntN(6)
	}
	switch kind {
	case 0:
		x.how.Status = []int{400, 429, 500, 529}[rng.IntN(4)]
	case 1:
		x.how.Cut = fakeprovider.BeforeHeader
	case 2:
		x.how.Cut, x.how.CutAfter = fakeprovider.BetweenParts, after
	case 3:
		x.how.Cut, x.how.CutAfter = fakeprovider.InsidePart, after
	case 4:
		x.how.Cut, x.how.CutAfter = fakeprovider.ErrorEvent, after
	case 5: // the caller has had enough before the answer begins
		x.reached, x.how.FirstByteDelay = make(chan struct{}), time.Hour
	case 6: // or in the middle of it. What comes after is held back, so that all know what came.
		x.leaveAfter = 1 + rng.IntN(3)
		gate := make(chan struct{}, x.leaveAfter)
		for range x.leaveAfter {
			gate <- struct{}{}
		}
		x.how.Gate = gate
	case 7: // or at once, maybe while the engine decides
		x.leaveWithin, x.how.FirstByteDelay = time.Duration(1+rng.IntN(5_000))*time.Microsecond, time.Hour
	}
	return x
}

func (s *storm) behave(r *http.Request) fakeprovider.Behaviour {
	x, ok := s.trials.Load(r.Header.Get("X-Request-Id"))
	if !ok {
		s.t.Errorf("the provider does not know the request %q", r.Header.Get("X-Request-Id"))
		return fakeprovider.Behaviour{}
	}
	tried, _ := x.(*trial)
	if tried.reached != nil {
		close(tried.reached)
	}
	return tried.how
}

// request has one request until a gateway took it.
func (s *storm) request(i int, seed uint64) {
	for attempt := 0; ; attempt++ {
		x := newTrial(rand.New(rand.NewPCG(seed, uint64(i))))
		id := fmt.Sprintf("%d-%d", i, attempt)
		s.trials.Store(id, x)
		if s.try(id, x) {
			s.done.Add(1)
			return
		}
		s.missed.Add(1)
		select {
		case <-s.listens():
		case <-time.After(patience):
			s.t.Error("the gateway does not come back")
			return
		}
	}
}

func (s *storm) listens() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up
}

// try makes the call, and reports whether there was a gateway.
func (s *storm) try(id string, x *trial) bool {
	ctx, leave := context.WithTimeout(context.Background(), cmp.Or(x.leaveWithin, patience))
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.gateway+x.path, strings.NewReader(x.body))
	if err != nil {
		s.t.Error(err)
		return true
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[x.key])
	req.Header.Set("X-Request-Id", id)
	if x.reached != nil {
		go func() {
			select {
			case <-x.reached:
				leave()
			case <-ctx.Done():
			}
		}()
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return !errors.Is(err, syscall.ECONNREFUSED)
	}
	defer resp.Body.Close()
	if x.leaveAfter < 0 {
		_, _ = io.Copy(io.Discard, resp.Body)
		return true
	}
	lines := bufio.NewReader(resp.Body)
	for events := 0; events < x.leaveAfter; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return true
		}
		if line == "\n" {
			events++
		}
	}
	return true
}

// startStorm starts a provider, and a gateway before it.
func startStorm(t *testing.T, nats string) (s *storm, restart func()) {
	t.Helper()
	s = &storm{t: t, tokens: map[string]string{}, up: make(chan struct{})}
	s.provider = fakeprovider.New(fakeprovider.Options{Credentials: []string{"upstream-secret"}, Behave: s.behave})
	upstream := httptest.NewServer(s.provider)
	t.Cleanup(upstream.Close)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	s.http = &http.Client{Transport: transport}

	data := t.TempDir()
	keys := data + "/keys.json"
	for i := range 4 {
		id := fmt.Sprintf("key-%d", i)
		s.tokens[id] = strings.TrimSpace(run(t, "quotashare", "keys", "issue", "--id", id, "--keys-file", keys))
	}
	addr := brokertest.FreeAddr(t)
	connections := `[{"id":"c","provider":"custom","url":"` + upstream.URL + `/v1","serves":["/v1/chat/completions","/v1/responses","/v1/embeddings"],"credential":"${UPSTREAM}"},
		{"id":"d","provider":"anthropic","url":"` + upstream.URL + `/v1","credential":"${UPSTREAM}"}]`
	begin := func() *process {
		p := launch(t, []string{"UPSTREAM=upstream-secret", "QUOTA_GATEWAY_CONNECTIONS=" + connections},
			"gateway", "--store-nats-url", nats, "--http-addr", addr, "--data-dir", data)
		p.awaitListening(&p.http)
		return p
	}
	p := begin()
	s.gateway = p.http
	close(s.up)
	return s, func() {
		s.mu.Lock()
		s.up = make(chan struct{})
		s.mu.Unlock()
		p.stop()
		p = begin()
		s.mu.Lock()
		close(s.up)
		s.mu.Unlock()
	}
}

// rain has n requests, some at a time, and calls the strikes one after the other when
// their part of the requests is through. Requests go on meanwhile.
func (s *storm) rain(n int, seed uint64, strikes ...func()) {
	left, due := make(chan int), make(chan func(), len(strikes))
	var rain, thunder sync.WaitGroup
	for range 32 {
		rain.Go(func() {
			for i := range left {
				s.request(i, seed)
			}
		})
	}
	thunder.Go(func() {
		for strike := range due {
			strike()
		}
	})
	part := n / (len(strikes) + 1)
	for i := range n {
		if k := i / part; i%part == 0 && k > 0 && k <= len(strikes) {
			due <- strikes[k-1]
		}
		left <- i
	}
	close(left)
	close(due)
	rain.Wait()
	thunder.Wait()
}

// total is what one key has used of a connection.
type total struct{ requests, tokens int64 }

// charged is what the provider charges each key for.
func (s *storm) charged() (sums map[string]total, calls int) {
	sums = map[string]total{}
	for _, c := range s.provider.Charges() {
		if c.Open {
			s.t.Errorf("%s is still being answered", c.RequestID)
		}
		if !c.Whole && c.Total == 0 {
			continue
		}
		x, ok := s.trials.Load(c.RequestID)
		if !ok {
			s.t.Fatalf("the provider charges for %q", c.RequestID)
		}
		tried, _ := x.(*trial)
		sum := sums[tried.key]
		sum.requests++
		sum.tokens += c.Total
		sums[tried.key] = sum
		calls++
	}
	return sums, calls
}

// countedByKey is what the engine counts for each key, over both connections.
func countedByKey(p *process) map[string]total {
	sums := map[string]total{}
	for _, id := range []string{"c", "d"} {
		var doc struct {
			Usage struct {
				Dimensions []struct {
					Unit   string
					PerKey []struct {
						APIKeyID string
						Consumed json.Number
					}
				}
			}
		}
		decode(p.t, p.mustCall("GET", apiPath("pools", id, "usage"), ""), &doc)
		for _, d := range doc.Usage.Dimensions {
			for _, k := range d.PerKey {
				n, err := k.Consumed.Int64()
				if err != nil {
					p.t.Fatal(err)
				}
				sum := sums[k.APIKeyID]
				if d.Unit == "tokens" {
					sum.tokens += n
				} else {
					sum.requests += n
				}
				sums[k.APIKeyID] = sum
			}
		}
	}
	return sums
}

// Whatever becomes of requests, and of the programs between, no hold is left over at
// the end, and what the engine counts is what the provider charges.
func TestNothingLeaksThroughTheGateway(t *testing.T) {
	const n = 10_000
	seed := dice(t).Uint64()
	logArgs := []string{"--data-dir", t.TempDir(), "--nats-addr", brokertest.FreeAddr(t), "--http-addr", "127.0.0.1:0", "--sync", "100ms"}
	front := start(t, "ingest", logArgs...)
	decArgs := []string{"--data-dir", t.TempDir(), "--store-nats-url", front.nats, "--http-addr", "127.0.0.1:0"}
	dec := start(t, "decider", decArgs...)
	dec.awaitReady()
	for _, id := range []string{"c", "d"} {
		operator{dec}.plan(id, "tokens/monthly 1000000000000", "requests/monthly 1000000000")
		operator{dec}.poolOf(id, []string{id}, "key-0 25", "key-1 25", "key-2 25", "key-3 25")
	}
	s, restartGateway := startStorm(t, front.nats)
	restartDecider := func() {
		dec.kill()
		dec = start(t, "decider", decArgs...)
	}
	s.rain(n, seed,
		restartGateway,
		restartDecider,
		func() {
			front.kill()
			front = start(t, "ingest", logArgs...)
		},
		restartDecider,
		restartGateway,
	)
	restartGateway() // which stops when everything is in the log
	dec.awaitReady()
	dec.at(lastSeq(t, front.nats))

	want, calls := s.charged()
	t.Logf("%d requests, %d of them asked again because there was no gateway; %d charged: %v", n, s.missed.Load(), calls, want)
	if calls < n*2/3 {
		t.Errorf("only %d of %d requests were charged", calls, n)
	}
	if diff := gocmp.Diff(want, countedByKey(dec), gocmp.AllowUnexported(total{})); diff != "" {
		t.Errorf("the engine counts something else than the provider charges (-charged +counted):\n%s", diff)
	}
	for _, connection := range []string{"c", "d"} {
		if got := dec.holding("key-0", connection, 0); !strings.HasSuffix(got, "+0") {
			t.Errorf("at the end %s has %s", connection, got)
		}
	}
}
