package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// storedAt is the log's time of a message, and its subject.
func storedAt(t *testing.T, js jetstream.JetStream, seq uint64) (time.Time, string) {
	t.Helper()
	s, err := js.Stream(deadline(t), "QUOTA")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetMsg(deadline(t), seq)
	if err != nil {
		t.Fatalf("message %d: %v", seq, err)
	}
	return m.Time.Truncate(time.Millisecond), m.Subject
}

// A caller dies that was told an account, which takes one call at a time, while others
// make calls all the time. The first message of the log after its lease has ended gives
// the place to the one that waits: nobody who comes just then gets it, and nothing is
// left of the dead one.
func TestAnOrphanIsGoneAfterItsLease(t *testing.T) {
	d := newDeciders(t)
	d.narrow("p", 1, "c")
	d.pool(object{"id": "busy", "connections": []object{{"connectionId": "other"}}, "allocations": shares(t, "carol 100")})
	orphan := toRoute("alice", "p", "orphan")
	orphan["leaseMs"] = 3000
	dies := brokertest.Connect(t, d.nats)
	var first routed
	decode(t, string(request(t, dies, "quota.route", text(t, orphan))), &first)
	dies.Close()
	if first.said() != "allow ok" || first.ConnectionID != "c" {
		t.Fatalf("the first is answered %+v", first)
	}
	over := first.AsOf.Time.Add(3 * time.Second)

	answer := make(chan routed, 1)
	go func() { answer <- operator{&process{t: t, http: d.right.url}}.route(toRoute("bob", "p", "waits")) }()
	var got routed
	for n := 0; got.Decision == ""; n++ {
		select {
		case got = <-answer:
		default:
			d.traffic(n)
		}
	}
	if got.said() != "allow ok" || got.ConnectionID != "c" || got.Candidates[0].InFlight != 0 {
		t.Errorf("who waited is answered %+v", got)
	}
	if at, subject := storedAt(t, d.js, got.AsOf.Seq); at.Before(over) {
		t.Errorf("it passes with %s at %v, before the lease ends at %v", subject, at, over)
	}
	if at, subject := storedAt(t, d.js, got.AsOf.Seq-1); !at.Before(over) {
		t.Errorf("it does not pass with %s at %v, though the lease ended at %v", subject, at, over)
	}
	if r := d.route(object{"apiKeyId": "carol", "pool": "p", "maxWaitMs": 0, "minSeq": got.AsOf.Seq}); r.said() != "block capacity of connection" {
		t.Errorf("the place is given twice: %+v", r)
	}
	d.release("bob", "waits")
	if r := d.route(toRoute("alice", "p", "last")); r.said() != "allow ok" || r.Candidates[0].InFlight != 0 {
		t.Errorf("something is left: %+v", r)
	}
}

// traffic is a call of carol's from the question to the settlement, and one that would
// take the place that others wait for.
func (d *deciders) traffic(n int) {
	d.t.Helper()
	name := fmt.Sprint("t-", n)
	if r := d.route(toRoute("carol", "busy", name)); r.said() != "allow ok" {
		d.t.Fatalf("carol is answered %+v", r)
	}
	if r := d.route(object{"apiKeyId": "carol", "pool": "p", "maxWaitMs": 0}); r.said() != "block capacity of connection" {
		d.t.Fatalf("carol passes by who waits: %+v", r)
	}
	d.consume(object{"apiKeyId": "carol", "connectionId": "other", "requestId": name})
}

// awaitHolds returns when the log has so many messages of holds, and their deciders
// have folded the last, whose sequence it returns.
func awaitHolds(t *testing.T, js jetstream.JetStream, n int, running ...*process) (last uint64) {
	t.Helper()
	c, err := js.OrderedConsumer(deadline(t), "QUOTA", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"quota.hold"}})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		m, err := c.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatalf("the log has no %d holds: %v", n, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		last = meta.Sequence.Stream
	}
	for _, p := range running {
		p.at(last)
	}
	return last
}

// dues are the times of the messages that say that time has gone by.
func dues(t *testing.T, js jetstream.JetStream, last uint64) (list []time.Time) {
	t.Helper()
	for seq := uint64(1); seq <= last; seq++ {
		if at, subject := storedAt(t, js, seq); subject == "quota.due" {
			list = append(list, at)
		}
	}
	return list
}

// A decider is killed while callers of two keys wait at it, and nobody asks again. The
// other one, where somebody waits for another pool, sees to it that each is let in or
// refused when it is time; nothing is left of them, and the next one passes at once.
func TestWaitersOfAKilledDeciderEnd(t *testing.T) {
	front := start(t, "ingest", "--data-dir", t.TempDir(), "--nats-addr", brokertest.FreeAddr(t), "--http-addr", "127.0.0.1:0", "--sync", "100ms")
	decider := func() *process {
		p := start(t, "decider", "--data-dir", t.TempDir(), "--store-nats-url", front.nats, "--http-addr", "127.0.0.1:0")
		p.awaitReady()
		return p
	}
	dies, stays := decider(), decider()
	js := jetStream(t, brokertest.Connect(t, front.nats))
	o := operator{stays}
	o.narrow("p", 1, "c")
	o.narrow("q", 1, "d")
	o.route(toRoute("alice", "p", "holder"))
	o.route(toRoute("carol", "q", "holds d"))
	dies.at(lastSeq(t, front.nats))

	last := killedWithWaiters(t, js, dies, stays)
	// Only now, that all wait, the lease of the holder becomes one that ends before their
	// waits do. That of the one who is let in then ends after them.
	renewed, err := js.Publish(deadline(t), "quota.hold", []byte(
		`{"id":"soon","decisionId":"soon","apiKeyId":"alice","connectionId":"c","requestId":"holder","estimate":{"requests":1},"leaseMs":500}`))
	if err != nil {
		t.Fatal(err)
	}
	began, _ := storedAt(t, js, last)
	lease, _ := storedAt(t, js, renewed.Sequence)
	lease = lease.Add(500 * time.Millisecond)
	let := make(chan routed, 1)
	go func() { let <- o.route(toRoute("carol", "q", "outlasts them")) }()
	v := &victim{process: stays}
	outcomes := func(of string) int { return v.metric(t, fmt.Sprintf("quotashare_holds_total{outcome=%q}", of)) }
	for ctx := deadline(t); outcomes("timed-out") < 3; {
		if ctx.Err() != nil {
			t.Fatalf("%d waits are over, want 3", outcomes("timed-out"))
		}
	}
	for ctx := deadline(t); outcomes("expired") < 2 && ctx.Err() == nil; {
		o.passTime(lease) // nobody waits for the lease of who was let in: the next message ends it
	}
	o.release("carol", "holds d")
	if r := <-let; r.said() != "allow no-allocation" || r.ConnectionID != "d" {
		t.Errorf("who waits for another pool is answered %+v", r)
	}

	ends := began.Add(5 * time.Second)
	list := dues(t, js, lastSeq(t, front.nats))
	saidWithin(t, "the lease", list, lease, ends)
	saidWithin(t, "the last wait", list, ends, lease.Add(patience))
	for outcome, want := range map[string]int{"waited": 5, "granted": 2, "timed-out": 3, "left": 0, "expired": 2} {
		if n := outcomes(outcome); n != want {
			t.Errorf("%d %s, want %d", n, outcome, want)
		}
	}
	if n := v.metric(t, "quotashare_holds_open"); n != 1 {
		t.Errorf("%d are held, want the one of the other pool", n)
	}
	o.passesAtOnce("bob", "p", "c")
	if n := outcomes("waited"); n != 5 {
		t.Errorf("%d waited, and the next one had no need to", n)
	}
}

// killedWithWaiters has four callers of two keys wait at the decider that dies, and kills
// it; last is where the last of them is in the log.
func killedWithWaiters(t *testing.T, js jetstream.JetStream, dies, stays *process) (last uint64) {
	t.Helper()
	var gone sync.WaitGroup
	for i, key := range []string{"alice", "alice", "bob", "bob"} {
		q := toRoute(key, "p", fmt.Sprint("w-", i))
		q["maxWaitMs"], q["leaseMs"] = 5000, 5000
		gone.Go(func() {
			if resp, err := http.Post(dies.http+apiPath("route"), "application/json", strings.NewReader(text(t, q))); err == nil {
				resp.Body.Close()
			}
		})
		last = awaitHolds(t, js, 3+i, dies, stays)
	}
	dies.kill()
	gone.Wait()
	return last
}

// saidWithin looks for a message, from one instant on and before another, that something
// is over.
func saidWithin(t *testing.T, what string, list []time.Time, from, until time.Time) {
	t.Helper()
	if !slices.ContainsFunc(list, func(at time.Time) bool { return !at.Before(from) && at.Before(until) }) {
		t.Errorf("nobody says that %s is over, from %v to %v", what, from, until)
	}
}

// passesAtOnce has a key call in a pool of which nothing is in flight, and nobody waits.
func (o operator) passesAtOnce(key, pool, conn string) {
	o.t.Helper()
	next := toRoute(key, pool, "next")
	next["explain"] = true
	r := o.route(next)
	if r.said() != "allow ok" || r.ConnectionID != conn || r.Backlog != nil || r.InFlight == nil || *r.InFlight != 0 {
		o.t.Errorf("the next one is answered %+v", r)
	}
}
