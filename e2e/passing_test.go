package e2e

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/fakeprovider"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/keyfile"
)

// passing is a gateway, as a program, between clients and a provider, with an engine
// that it asks. The connections are openai-1 and claude-1, on a plan of tokens a
// month: no window turns while a test runs.
type passing struct {
	operator
	gateway  *process
	provider *fakeprovider.Provider
	token    string // alice's
	log      jetstream.Consumer
	ends     []string // of calls, read ahead
	seq      uint64   // of the last that was read
	seen     int      // lines of the ledger that were compared
}

// ownCredential is the provider's, which no client has.
const ownCredential = "sk-of-the-provider"

func startPassing(t *testing.T, limit int, o fakeprovider.Options) *passing {
	t.Helper()
	o.Credentials = []string{ownCredential}
	p := &passing{operator: newOperator(t), provider: fakeprovider.New(o)}
	upstream := httptest.NewServer(p.provider)
	t.Cleanup(upstream.Close)
	for _, c := range []string{"openai-1", "claude-1"} {
		p.plan(c, fmt.Sprintf("tokens/monthly %d", limit))
		p.poolOf("pool of "+c, []string{c}, "alice 50", "bob 50")
	}
	data := t.TempDir()
	keys := filepath.Join(data, "keys.json")
	var err error
	if p.token, err = keyfile.Issue(keys, "alice", time.Now()); err != nil {
		t.Fatal(err)
	}
	p.gateway = launch(t, []string{"PROVIDER_KEY=" + ownCredential}, "gateway",
		"--store-nats-url", p.nats, "--http-addr", "127.0.0.1:0", "--data-dir", data,
		"--decide-timeout", fmt.Sprintf("%dms", ample), // a busy machine is no outage
		"--gateway-connections", text(t, []object{
			{"id": "openai-1", "provider": "openai", "url": upstream.URL + "/v1", "credential": "${PROVIDER_KEY}"},
			{"id": "claude-1", "provider": "anthropic", "url": upstream.URL + "/v1", "credential": "${PROVIDER_KEY}"},
		}))
	p.gateway.awaitListening(&p.gateway.http)
	p.log = p.follow()
	return p
}

// follow reads from the log how calls end.
func (p *passing) follow() jetstream.Consumer {
	p.t.Helper()
	js := jetStream(p.t, brokertest.Connect(p.t, p.nats))
	c, err := js.CreateConsumer(deadline(p.t), "QUOTA", jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, FilterSubjects: []string{"quota.consumption", "quota.release"},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// end returns how the next of alice's calls ended: "openai-1 44 tokens", "claude-1
// about 30 tokens", "released".
func (p *passing) end() string {
	p.t.Helper()
	for len(p.ends) == 0 {
		m, err := p.log.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			p.t.Fatalf("a call does not end: %v\n%s", err, p.gateway.stderr)
		}
		meta, err := m.Metadata()
		if err != nil {
			p.t.Fatal(err)
		}
		p.seq = meta.Sequence.Stream
		p.ends = endings(p.t, string(m.Data()))
	}
	first := p.ends[0]
	p.ends = p.ends[1:]
	return first
}

func endings(t *testing.T, body string) (list []string) {
	t.Helper()
	var all []struct {
		APIKeyID, ConnectionID string
		Estimated              bool
		Cost                   *struct{ Requests, Tokens int64 }
	}
	decode(t, body, &all)
	for _, e := range all {
		switch {
		case e.APIKeyID != "alice":
		case e.Cost == nil:
			list = append(list, "released")
		case e.Cost.Requests != 1:
			t.Errorf("a call is charged as %d: %s", e.Cost.Requests, body)
		default:
			list = append(list, charged(e.ConnectionID, e.Cost.Tokens, e.Estimated))
		}
	}
	return list
}

func charged(connection string, tokens int64, estimated bool) string {
	about := ""
	if estimated {
		about = "about "
	}
	return fmt.Sprintf("%s %s%d tokens", connection, about, tokens)
}

// connectionOf is where the gateway sends the calls of an API.
func connectionOf(api dialect.API) string {
	if api == dialect.Messages {
		return "claude-1"
	}
	return "openai-1"
}

// mustBeCharged compares what the calls since the last time cost with the provider's
// ledger, and what the engine counts with all of it. It returns the lines that are
// new.
func (p *passing) mustBeCharged() []fakeprovider.Charge {
	p.t.Helper()
	all := p.provider.Charges()
	fresh := all[p.seen:]
	p.seen = len(all)
	var want, got []string
	for _, c := range fresh {
		switch {
		case !c.API.Metered():
			continue
		case c.Total == 0:
			want = append(want, "released")
		default:
			want = append(want, charged(connectionOf(c.API), c.Total, !c.Whole))
		}
		got = append(got, p.end())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("the ledger (-) and the calls' ends (+):\n%s", diff)
	}
	p.mustCount(all)
	return slices.Clip(fresh)
}

// mustCount compares the engine with the ledger: all is counted, nothing is held, and
// no credential but the provider's own came to it.
func (p *passing) mustCount(all []fakeprovider.Charge) {
	p.t.Helper()
	sums := map[string]int64{"openai-1": 0, "claude-1": 0}
	for _, c := range all {
		sums[connectionOf(c.API)] += c.Total
		if c.Key != ownCredential {
			p.t.Errorf("the provider was called with %q: %+v", c.Key, c)
		}
	}
	for connection, sum := range sums {
		p.mustHold("alice", connection, fmt.Sprintf("%d+0 of %d+0", sum, sum), p.seq)
	}
}

// close stops the gateway, which publishes what it still has, and compares once more:
// nothing came late.
func (p *passing) close() {
	p.t.Helper()
	p.gateway.stop()
	info, err := p.log.Info(deadline(p.t))
	if err != nil {
		p.t.Fatal(err)
	}
	if len(p.ends) > 0 || info.NumPending > 0 {
		p.t.Errorf("%d messages and %v more say that calls ended than calls were made", info.NumPending, p.ends)
	}
	p.mustBeCharged()
}
