package e2e

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// outage is a log in a program of its own that is killed and comes back, and two
// deciders that go on without it and are asked over HTTP.
type outage struct {
	t        *testing.T
	args     []string // of the log
	front    *process
	deciders []*process

	mu     sync.Mutex
	passed []object // consumption of the requests that were let pass
}

func newOutage(t *testing.T) *outage {
	t.Helper()
	o := &outage{t: t, args: []string{"--data-dir", t.TempDir(), "--nats-addr", brokertest.FreeAddr(t), "--http-addr", "127.0.0.1:0", "--sync", "100ms"}}
	o.front = start(t, "ingest", o.args...)
	for range 2 {
		p := startWith(t, []string{"QUOTA_MAX_LAG=3s"}, "decider",
			"--data-dir", t.TempDir(), "--store-nats-url", o.front.nats, "--http-addr", "127.0.0.1:0")
		p.awaitReady()
		o.deciders = append(o.deciders, p)
	}
	op := operator{o.deciders[0]}
	for _, c := range []string{"open", "closed"} {
		op.plan(c, "requests/monthly 1000000")
		op.poolOf(c, []string{c}, "alice 50 hard", "bob 50 hard")
	}
	op.send("PATCH", apiPath("pools", "closed"), object{"onDegraded": "closed"})
	o.deciders[1].at(lastSeq(t, o.front.nats))
	return o
}

// rush asks for n holds on the connection, four at a time and at both deciders,
// each waiting that long for the verdict, and returns what was said, without
// repetition.
func (o *outage) rush(prefix, connection string, n int, waitMs int) (said []string) {
	o.t.Helper()
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := w; i < n; i += 4 {
				id := fmt.Sprint(prefix, connection, i)
				r := o.deciders[w%2].reply(hold("alice", connection, "requestId", id, "maxWaitMs", waitMs))
				o.note(r, connection, &said)
			}
		})
	}
	all.Wait()
	return said
}

func (o *outage) note(r reply, connection string, said *[]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Contains(*said, r.said()) {
		*said = append(*said, r.said())
	}
	if r.Decision == "allow" {
		o.passed = append(o.passed, settlement("alice", connection, r, object{"requests": 1}))
	}
}

// mustSay compares what was said with all that may be.
func (o *outage) mustSay(got []string, may ...string) {
	o.t.Helper()
	for _, said := range got {
		if !slices.Contains(may, said) {
			o.t.Errorf("the answers are %q, want %q", got, may)
		}
	}
}

// awaitLag asks until the decider says that it hears nothing of the log.
func (o *outage) awaitLag(p *process) {
	o.t.Helper()
	for ctx := deadline(o.t); ; {
		r := p.reply(object{"apiKeyId": "bob", "connectionId": "open"})
		if slices.Contains(r.Degraded, "lag") {
			return
		}
		if ctx.Err() != nil {
			o.t.Fatalf("the log is gone, and the answer is %+v", r)
		}
	}
}

// The log's process is killed. Every answer says what it lacks; in the closed pool
// none is let pass. When the log is back, what was let pass counts, and what was not
// does not.
func TestTheLogIsGoneAndComesBack(t *testing.T) {
	o := newOutage(t)
	o.mustSay(o.rush("before-", "open", 40, ample), "allow ok")
	o.mustSay(o.rush("before-", "closed", 4, ample), "allow ok")

	o.front.kill()
	// Who is slow to ask is told of the lag too, and blocked at once.
	o.mustSay(o.rush("during-", "closed", 4, 20), "block degraded, degraded [no-hold]", "block degraded, degraded [lag no-hold]", "block degraded, degraded [lag]")
	o.mustSay(o.rush("during-", "open", 40, 20), "allow ok, degraded [no-hold]", "allow ok, degraded [lag no-hold]")
	for _, p := range o.deciders {
		o.awaitLag(p)
		p.mustReply(object{"apiKeyId": "bob", "connectionId": "closed"}, "block degraded, degraded [lag]")
		_, figures := p.call("GET", "/metrics", "", "")
		for _, of := range []string{`decision="allow",kind="lag"`, `decision="allow",kind="no-hold"`, `decision="block",kind="lag"`} {
			if !regexp.MustCompile("quotashare_degraded_total{" + of + "} [1-9]").MatchString(figures) {
				t.Errorf("nobody counted the answers that are degraded, %s", of)
			}
		}
	}
	o.mustSay(o.rush("later-", "open", 8, 20), "allow ok, degraded [lag no-hold]")
	o.mustSay(o.rush("later-", "closed", 4, 20), "block degraded, degraded [lag]")

	o.front = start(t, "ingest", o.args...)
	o.mustRecover()
}

// mustRecover settles all but the last ten of the requests that were let pass, and
// compares what counts.
func (o *outage) mustRecover() {
	o.t.Helper()
	// A decider writes its holds in their order. When the verdict on a later one
	// is there, so are all.
	for i, p := range o.deciders {
		for ctx := deadline(o.t); ; {
			r := p.reply(hold("bob", "open", "requestId", "last"))
			if len(r.Degraded) == 0 {
				break
			}
			if ctx.Err() != nil {
				o.t.Fatalf("the log is back, and decider %d answers %+v", i, r)
			}
		}
	}
	js := jetStream(o.t, brokertest.Connect(o.t, o.front.nats))
	settled := len(o.passed) - 10
	closed := 0
	for _, use := range o.passed[:settled] {
		if use["connectionId"] == "closed" {
			closed++
		}
	}
	last := publishAll(o.t, js, o.passed[:settled])
	publishAll(o.t, js, o.passed[:settled]) // whoever had no acknowledgement
	fresh := start(o.t, "decider", "--data-dir", o.t.TempDir(), "--store-nats-url", o.front.nats, "--http-addr", "127.0.0.1:0")
	fresh.awaitReady()
	last = max(last, lastSeq(o.t, o.front.nats))
	want := fresh.at(last)
	for _, p := range append(o.deciders, fresh) {
		if got := p.at(last); got.Digest != want.Digest || got.AppliedSeq != want.AppliedSeq {
			o.t.Errorf("a decider is at\n%+v, one from scratch at\n%+v", got, want)
		}
		p.mustHold("alice", "open", fmt.Sprintf("%[1]d+10 of %[1]d+11", settled-closed)) // and bob's
		p.mustHold("alice", "closed", fmt.Sprintf("%[1]d+0 of %[1]d+0", closed))
	}
}

// A log that takes no writes while the network is well: deciders tell each other
// what they let pass, and pass no more than the limit together.
func TestDecidersCountTogetherWhatTheLogDoesNotTake(t *testing.T) {
	d := newDeciders(t)
	d.plan("c", "requests/monthly 10")
	d.poolOf("p", []string{"c"}, "alice 100 burst")
	right := &process{t: t, http: d.right.url}
	right.at(lastSeq(t, d.nats))

	refuseWrites(t, d.js, true)
	for i := range 10 {
		p, other := d.process, right
		if i%2 == 1 {
			p, other = right, d.process
		}
		p.mustReply(hold("alice", "c", "requestId", fmt.Sprint("r-", i), "maxWaitMs", 5), "allow ok, degraded [no-hold]")
		want := fmt.Sprintf("0+%[1]d of 0+%[1]d", i+1)
		p.mustHold("alice", "c", want)
		other.awaitHolding("alice", "c", want)
	}
	for _, p := range []*process{d.process, right} {
		// A block needs no hold, but this one counts some that the log has not.
		p.mustReply(hold("alice", "c", "maxWaitMs", 5), "block global-saturated of pool, degraded [no-hold]")
	}

	refuseWrites(t, d.js, false)
	for _, p := range []*process{d.process, right} {
		// The same request again: its verdict comes after those of all that waited.
		p.awaitReply(hold("alice", "c", "requestId", "r-0"), "allow ok")
	}
	d.mustAdmit(0, connections(t, d.nats, 20), hold("alice", "c"))
	last := lastSeq(t, d.nats)
	a, z := d.left.at(last), d.right.at(last)
	if a.Digest != z.Digest || a.AppliedSeq != last || z.AppliedSeq != last {
		t.Errorf("the deciders are at\n%+v, and\n%+v", a, z)
	}
	d.mustHold("alice", "c", "0+10 of 0+10")
	mustEqualFreshFold(t, brokertest.Connect(t, d.nats), a)
}

// refuseWrites lets the log take nothing more, or what it took before.
func refuseWrites(t *testing.T, js jetstream.JetStream, refuse bool) {
	t.Helper()
	s, err := js.Stream(deadline(t), "QUOTA")
	if err != nil {
		t.Fatal(err)
	}
	c := s.CachedInfo().Config
	c.MaxMsgs, c.Discard = -1, jetstream.DiscardOld
	if refuse {
		c.MaxMsgs, c.Discard = int64(s.CachedInfo().State.Msgs), jetstream.DiscardNew
	}
	if _, err := js.UpdateStream(deadline(t), c); err != nil {
		t.Fatal(err)
	}
	var api *jetstream.APIError
	_, err = js.Publish(deadline(t), "quota.consumption", []byte(`{"apiKeyId":"bob","connectionId":"elsewhere"}`))
	if refused := errors.As(err, &api); refused != refuse {
		t.Fatalf("the log says %v to a write", err)
	}
}

// awaitHolding asks until the decider has heard of what another one told it.
func (p *process) awaitHolding(key, connection, want string) {
	p.t.Helper()
	got := ""
	for ctx := deadline(p.t); ctx.Err() == nil; {
		if got = p.holding(key, connection, 0); got == want {
			return
		}
	}
	p.t.Fatalf("%s on %s has %s, want %s", key, connection, got, want)
}

// awaitReply asks until the answer is so.
func (p *process) awaitReply(q object, want string) {
	p.t.Helper()
	got := ""
	for ctx := deadline(p.t); ctx.Err() == nil; {
		if got = p.reply(q).said(); got == want {
			return
		}
	}
	p.t.Fatalf("%v: %s, want %s", q, got, want)
}
