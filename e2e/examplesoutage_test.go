package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// through is the environment of an example that reaches the engine by a cable alone.
func (e *example) through(c *cable, more ...string) []string {
	return at(c.url("nats"), c.url("http"), append(more, "QUOTA_KEY="+e.name, "QUOTA_CONNECTION="+e.name)...)
}

func (e *example) address(p *process) string {
	if e.nats {
		return p.nats
	}
	return p.http
}

// TestExamplesWhoseAnswerIsLost: the engine has what the call used, and the gateway does
// not know. It sends it again, and it counts once.
func TestExamplesWhoseAnswerIsLost(t *testing.T) {
	p := up(t, t.TempDir())
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			p.account(e.name, e.name)
			for _, lost := range []string{"-before-1", "-used"} {
				name := "c" + lost + e.name
				c := layCable(t, e.address(p), name+lost, true)
				r := e.begin(t, e.through(c), name)
				<-c.cut
				r.mustEnd()
				if !strings.Contains(r.stderr.String(), e.retries) {
					t.Errorf("it does not say that it sends it again:\n%s", r.stderr)
				}
			}
			used := e.name + " on " + e.name + ": 500 of 1000 tokens weekly used, 0 held\n"
			r := e.begin(t, at(p.nats, p.http, "QUOTA_KEY="+e.name, "QUOTA_CONNECTION="+e.name), "c-used"+e.name, "2026-01-01T00:00:00Z")
			r.mustPrint(printed("c-used"+e.name, strings.TrimSuffix(used, "\n")))
		})
	}
}

// TestExamplesWhoseEngineDies: between the call and the message about what it used. The
// hold is in the log, and is settled when the engine is back.
func TestExamplesWhoseEngineDies(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			natsAddr, httpAddr := brokertest.FreeAddr(t), brokertest.FreeAddr(t)
			p := upAt(t, dir, natsAddr, httpAddr)
			p.awaitReady()
			p.account(e.name, e.name)
			c := layCable(t, e.address(p), "c-"+e.name+"-used", false)
			r := e.begin(t, e.through(c), "c-"+e.name)
			<-c.cut
			p.kill()
			close(c.mended)
			r.stderr.await(deadline(t), t, e.retries)
			upAt(t, dir, natsAddr, httpAddr)
			r.mustEnd()
			// The second call may come while it does not answer yet.
			got := strings.Replace(r.stdout.String(), "-again: allow (fail-open)", "-again: allow (ok)", 1)
			r.compare(got, printed("c-"+e.name, stands(e.name, e.name)))
		})
	}
}

// TestExamplesLetCallsPass: a question that has no answer stops nobody, and what the call
// used counts.
func TestExamplesLetCallsPass(t *testing.T) {
	p := up(t, t.TempDir())
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			p.account(e.name, e.name)
			c := layCable(t, e.address(p), `"reserve"`, false)
			close(c.mended)
			want := strings.Replace(printed("c-"+e.name, stands(e.name, e.name)), "allow (ok)", "allow (fail-open)", 1)
			e.begin(t, e.through(c), "c-"+e.name).mustPrint(want)
		})
	}
}

// TestExamplesDoAsTheyAreTold: the engine has no room, is not ready, or could store a
// part. Examples wait as long as it says, and send all of it again.
func TestExamplesDoAsTheyAreTold(t *testing.T) {
	p := up(t, t.TempDir())
	target, err := url.Parse(p.http)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		if e.nats {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			p.account(e.name, e.name)
			front := httptest.NewServer(unwilling(target))
			defer front.Close()
			r := e.begin(t, at("", front.URL, "QUOTA_KEY="+e.name, "QUOTA_CONNECTION="+e.name), "c-"+e.name)
			r.mustPrint(printed("c-"+e.name, stands(e.name, e.name)))
			for _, said := range []string{"again in 1(\\.0)? s: 429: too much waits", "again in 0\\.2 s: event 2: the log is away", "again in 1(\\.0)? s: 503: not ready"} {
				mustMatch(t, r.stderr.String(), said)
			}
		})
	}
}

// unwilling is an engine that has reasons not to take the first messages.
func unwilling(target *url.URL) http.Handler {
	engine := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: &http.Transport{DisableKeepAlives: true}}
	var asked atomic.Int64
	say := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text)) // the example says what it misses
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			say(w, http.StatusTooManyRequests, `{"error":{"message":"too much waits","type":"rate_limit_error","code":"busy"}}`)
		case 2:
			say(w, http.StatusOK, `{"results":[{"id":"a","seq":1},{"id":"b","error":{"message":"the log is away","type":"server_error","code":"unavailable"}}],"accepted":1,"rejected":1}`)
		case 3:
			say(w, http.StatusServiceUnavailable, `{"error":{"message":"not ready","type":"server_error","code":"not-ready"},"results":[],"accepted":0,"rejected":2}`)
		default:
			engine.ServeHTTP(w, r)
		}
	})
}

// TestExamplesWhoseLogIsFull: an acknowledgement may be an error. It is said, and the
// event sent again.
func TestExamplesWhoseLogIsFull(t *testing.T) {
	p := up(t, t.TempDir())
	nc := brokertest.Connect(t, p.nats)
	js := jetStream(t, nc)
	// A stream without a message has no place for a bound.
	request(t, nc, "quota.consumption", `{"apiKeyId": "k", "connectionId": "c"}`)
	for _, e := range examples {
		if !e.nats {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			stream, err := js.Stream(deadline(t), "QUOTA")
			if err != nil {
				t.Fatal(err)
			}
			set := func(most int64, discard jetstream.DiscardPolicy) {
				t.Helper()
				c := stream.CachedInfo().Config
				c.MaxMsgs, c.Discard = most, discard
				if _, err := js.UpdateStream(deadline(t), c); err != nil {
					t.Fatal(err)
				}
			}
			had := stream.CachedInfo().Config
			set(int64(stream.CachedInfo().State.Msgs), jetstream.DiscardNew)
			r := e.begin(t, at(p.nats, ""), "c-"+e.name)
			r.stderr.await(deadline(t), t, "maximum messages exceeded")
			set(had.MaxMsgs, had.Discard)
			r.mustPrint(free("c-" + e.name))
		})
	}
}
