package client

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/events"
)

// TestBrokerGoesAndComes: what is published before, as it goes, while it is away, and
// after, is in the log once, in the order of each publisher, and counted by the engine.
func TestBrokerGoesAndComes(t *testing.T) {
	e := startEngine(t)
	c, said := e.client(nil)
	const publishers, rounds, each = 8, 3, 200
	var sent [publishers]int
	publish := func(p, n int) {
		for range n {
			mustToo(t, c.Publish(used(fmt.Sprintf("%d-%d", p, sent[p]))))
			sent[p]++
		}
	}
	for range rounds {
		var all sync.WaitGroup
		publish(0, 1) // under way, with all others behind it
		for p := range publishers {
			all.Go(func() { publish(p, each) })
		}
		e.Stop()
		all.Wait()
		for p := range publishers {
			publish(p, each)
		}
		e.Start()
	}
	said.await(t, "the connection to the quota engine is lost")
	e.folded(c)
	nc := e.Connect()
	counted, next := 0, map[string]int{}
	for _, body := range messages(t, e.log(nc)) {
		for _, x := range decodeAll(body) {
			counted++
			var p string
			var i int
			if _, err := fmt.Sscanf(x.ID, "%1s-%d", &p, &i); err != nil {
				t.Fatal(err)
			}
			if i != next[p] {
				t.Fatalf("publisher %s: %d in the place of %d", p, i, next[p])
			}
			next[p]++
		}
	}
	const want = rounds * (1 + 2*publishers*each)
	if s := c.Stats(); counted != want || s.Stored != want || s.Published != want || s.Lost+s.TooLarge+s.Full != 0 {
		t.Errorf("%d events in the log, want %d; counted %+v", counted, want, s)
	}
	awaitAnswers(t, c)
	if d := decide(t, c, Question{APIKeyID: "alice", ConnectionID: "c", Explain: true}); d.Dimensions[0].Consumed != want*1000 {
		t.Errorf("the engine counts %d, want %d tokens", d.Dimensions[0].Consumed, want)
	}
}

// decodeAll returns the consumptions of a message; configuration is none.
func decodeAll(body string) (list []events.Event) {
	for _, item := range events.Decode(&events.Message{Subject: events.Consumption.String(), Data: []byte(body)}, nil) {
		if item.Err == nil {
			list = append(list, item.Event)
		}
	}
	return list
}

// TestALogThatIsAway: the broker answers, and has no stream for a while.
func TestALogThatIsAway(t *testing.T) {
	b := startBroker(t)
	c, said := b.client(nil)
	for range 10 {
		must(t, c.Publish(used("")))
	}
	said.await(t, "the log takes no events")
	stream := b.log(b.Connect())
	must(t, c.Flush(within(t)))
	n := 0
	for _, body := range messages(t, stream) {
		n += len(decodeAll(body))
	}
	if n != 10 || c.Stats().Stored != 10 {
		t.Errorf("%d events in the log, want 10", n)
	}
}

// TestABrokerThatComesLater: New does not wait for it.
func TestABrokerThatComesLater(t *testing.T) {
	b := startBroker(t)
	b.log(b.Connect())
	b.Stop()
	c, l := b.client(nil)
	l.await(t, "there is no connection to the quota engine's broker yet")
	must(t, c.Publish(used("")))
	if d := decide(t, c, about("", 1)); len(d.Degraded) != 1 || d.Degraded[0] != string(Disconnected) {
		t.Errorf("before it: %+v", d)
	}
	b.Start()
	must(t, c.Flush(within(t)))
	l.await(t, "connected to the quota engine")
}

// TestAQuestionIsNotAskedLater: what found no connection is not asked when there is
// one again, and holds nothing.
func TestAQuestionIsNotAskedLater(t *testing.T) {
	b := startBroker(t)
	nc := b.Connect()
	c, _ := b.client(func(o *Options) { o.URL, o.Conn, o.Timeout = "", nc, unhurried })
	other := b.Connect()
	var heard atomic.Int64
	_, err := other.Subscribe("quota.decide", func(m *nats.Msg) {
		heard.Add(1)
		_ = m.Respond([]byte(`{"decision":"allow","scoreFactor":1}`))
	})
	must(t, err)
	must(t, other.Flush())
	b.Stop()
	awaitLoss(t, b, c.Connected)
	awaitLoss(t, b, other.IsConnected)
	decide(t, c, about("", 1))
	b.Start()
	must(t, other.FlushWithContext(within(t)))
	awaitAnswers(t, c)
	must(t, other.FlushWithContext(within(t)))
	if s := c.Stats(); uint64(heard.Load()) != s.Allowed {
		t.Errorf("%d questions came for %d answers", heard.Load(), s.Allowed)
	}
}

// TestManyAtOnce: what they hold ends, what they use is counted, and the figures add
// up.
func TestManyAtOnce(t *testing.T) {
	e := startEngine(t)
	c, _ := e.client(func(o *Options) { o.Timeout = 20 * time.Second })
	const callers, each = 64, 20
	var all sync.WaitGroup
	var settled atomic.Int64
	for n := range callers {
		all.Go(func() {
			for i := range each {
				q := about("", 1)
				q.APIKeyID = fmt.Sprintf("key-%d", n) // 1,280 calls for 1,000 tokens
				d, err := c.Decide(within(t), q)
				switch {
				case err != nil || len(d.Degraded) > 0:
					t.Errorf("%+v, %v", d, err)
				case !d.Allow:
				case i%4 == 0:
					mustToo(t, c.Release(d.Hold))
				default:
					mustToo(t, c.Renew(d.Hold))
					mustToo(t, c.Settle(d.Hold, Amounts{Tokens: 1}))
					settled.Add(1)
				}
				_ = c.Stats()
			}
		})
	}
	all.Wait()
	e.folded(c)
	d := decide(t, c, Question{APIKeyID: "alice", ConnectionID: "c", Explain: true})
	if got := d.Dimensions[0]; got.HeldTotal != 0 || int64(got.ConsumedTotal) != settled.Load()*1000 {
		t.Errorf("held %d, consumed %d; want 0 and %d tokens", got.HeldTotal, got.ConsumedTotal, settled.Load())
	}
	s := c.Stats()
	if s.Allowed+s.Blocked != callers*each+1 || s.Stored != s.Published || s.Messages > s.Stored/2 {
		t.Errorf("counted %+v", s)
	}
	sums := map[string]uint64{}
	s.Each(func(name string, value uint64) { sums[name] = value })
	if len(sums) != 35 || sums["stored"] != s.Stored || sums["failures_no_responders"] != 0 {
		t.Errorf("each gives %v", sums)
	}
}
