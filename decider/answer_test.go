package decider

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// TestWhatABlockSays: everything the gateway and the person need, and under
// observe everything but the block.
func TestWhatABlockSays(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	p := team("p", "c")
	p.Connections = append(p.Connections, plans.Connection{ConnectionID: "d", Weight: 100})
	_, err := r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c","cost":{"requests":2000}}`)

	q := aboutAlice
	q.RequestID = "r-1"
	got := r.ask(q)
	if got.Allow || got.Reason != "fair-share" || got.HTTPStatus != 429 || got.Scope != "key" || got.WouldBlock || got.RequestID != "r-1" {
		t.Errorf("the block: %+v", got)
	}
	if got.RetryAfterMs <= 0 || got.RetryAt != got.AsOf.Time+got.RetryAfterMs {
		t.Errorf("retry after %d at %d, asked at %d", got.RetryAfterMs, got.RetryAt, got.AsOf.Time)
	}
	if !got.HasBinding || got.Binding != (questions.Binding{Unit: quota.Requests, Window: quota.Hourly}) {
		t.Errorf("binding %+v", got.Binding)
	}
	if !strings.Contains(got.Message, got.DecisionID) || !strings.HasPrefix(got.Message, "Quota share limit reached for your API key on kimi") {
		t.Errorf("message %q", got.Message)
	}
	q.At = got.RetryAt
	if again := r.ask(q); !again.Allow {
		t.Errorf("at the time to come back: %+v", again)
	}
	q.At--
	if again := r.ask(q); again.Allow {
		t.Errorf("a millisecond before it: %+v", again)
	}

	p.Mode = plans.Observe
	_, err = r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
	got = r.ask(aboutAlice)
	if !got.Allow || !got.WouldBlock || got.Reason != "fair-share" || got.HTTPStatus != 200 || got.RetryAfterMs <= 0 ||
		!got.HasBinding || got.Scope != "key" || got.Message != "" || got.Deprioritize || got.ScoreFactor != quota.RatioOne {
		t.Errorf("observed: %+v", got)
	}
}

// TestAlternatives are named by their ids.
func TestAlternatives(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	p := team("p", "c")
	p.Connections = append(p.Connections, plans.Connection{ConnectionID: "d", Weight: 100})
	_, err := r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
	if got := r.ask(aboutAlice); len(got.Alternatives) != 1 || got.Alternatives[0] != "d" {
		t.Errorf("by connection: %v, want the other one", got.Alternatives)
	}
	if got := r.ask(questions.Question{APIKeyID: "alice", Pool: "p"}); len(got.Alternatives) != 2 || got.Alternatives[0] != "c" {
		t.Errorf("by pool: %v, want both", got.Alternatives)
	}
}

// TestOneStateForAnArray: every answer of an array is as of one sequence, the
// highest that was asked for.
func TestOneStateForAnArray(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	first := r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	low, high := aboutAlice, aboutAlice
	low.MinSeq, high.MinSeq, high.MaxWaitMs = first, first+1, 20_000
	rs := make([]questions.Reply, 2)
	rs[0].Reset()
	rs[1].Reset()
	done := returned(func() { r.Decide(context.Background(), []questions.Question{high, low}, rs) })
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	await(t, done, "the answer to both")
	if rs[0].AsOf.Seq != first+1 || rs[1].AsOf != rs[0].AsOf || len(rs[0].Degraded) != 0 {
		t.Errorf("as of %+v and %+v, want both of %d", rs[0].AsOf, rs[1].AsOf, first+1)
	}
}

// TestTimeIsTheLaterOfClockAndLog: a decider whose clock is behind must not
// read counters in the past.
func TestTimeIsTheLaterOfClockAndLog(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) {
		e.now = func() int64 { return 1_700_000_000_000 }
	})
	seq := r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	_, logTime := r.current.Load().state.At()
	if got := r.ask(aboutAlice); got.AsOf.Seq != seq || got.AsOf.Time != logTime {
		t.Errorf("as of %+v, want log time %d", got.AsOf, logTime)
	}
}

// TestConfigurationIsMarkedAndKept: the headers without which a document is
// none, those that say who and why, and the one that lets it outlive the log's
// age limit.
func TestConfigurationIsMarkedAndKept(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	got, err := r.putPool(r.within(), team("a.b", "c"), httpapi.Meta{Actor: "ops", Reason: "try it"})
	r.must(err)
	js, err := jetstream.New(nc)
	r.must(err)
	s, err := js.Stream(r.within(), events.Stream)
	r.must(err)
	m, err := s.GetMsg(r.within(), got.Revision)
	r.must(err)
	if m.Subject != "quota.config.pool.a%2Eb" {
		t.Errorf("subject %s", m.Subject)
	}
	for name, want := range map[string]string{
		"Quota-Config": "put", "Quota-Actor": "ops", "Quota-Reason": "try it", "Nats-TTL": "never", "Content-Type": "application/json",
	} {
		if have := m.Header.Get(name); have != want {
			t.Errorf("header %s: %q, want %q", name, have, want)
		}
	}
}
