package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	sdk "github.com/quotashare/quotashare/client"
)

// pulse notes how often something happens, and the longest time in which it did not.
type pulse struct {
	mu      sync.Mutex
	n       int
	last    time.Time
	longest time.Duration
	bell    chan struct{} // one for each, as far as anybody takes them
}

func newPulse() *pulse { return &pulse{last: time.Now(), bell: make(chan struct{})} }

func (p *pulse) beat(n int) {
	p.mu.Lock()
	p.n += n
	p.longest = max(p.longest, time.Since(p.last))
	p.last = time.Now()
	p.mu.Unlock()
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

// await returns after n further beats, and says how long the first one took.
func (p *pulse) await(t *testing.T, n int) (first time.Duration) {
	t.Helper()
	began := time.Now()
	over := time.After(upWithin)
	for i := range n {
		select {
		case <-p.bell:
		case <-over:
			t.Fatal("nothing goes on any more")
		}
		if i == 0 {
			first = time.Since(began)
		}
	}
	return first
}

func (p *pulse) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d, longest gap %.2f s", p.n, p.longest.Seconds())
}

// clusterLoad is gateways of all kinds at a topology.
type clusterLoad struct {
	t    *testing.T
	x    *topology
	ctx  context.Context // over when the load is to end; what has begun is brought to its end
	stop context.CancelFunc
	all  sync.WaitGroup

	// Events acknowledged by front doors, which have them on disk or in the log, and by
	// the log; questions answered, and those that reserve.
	doors, log, answers, holds *pulse

	used chan usage // of requests that reserved, on its way to who publishes it

	mu       sync.Mutex
	consumed map[string][2]int64 // requests and tokens by key, of what was acknowledged
	spooled  int
	again    int            // times that something was sent again
	degraded map[string]int // answers by what they lack
}

func startClusterLoad(x *topology) *clusterLoad {
	l := &clusterLoad{
		t: x.t, x: x, used: make(chan usage, 100_000), consumed: map[string][2]int64{}, degraded: map[string]int{},
		doors: newPulse(), log: newPulse(), answers: newPulse(), holds: newPulse(),
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	x.t.Cleanup(func() { l.stop(); l.all.Wait() })
	for i := range 4 {
		l.all.Go(func() { l.callDoors(i) })
	}
	settler := x.connect()
	l.all.Go(func() { l.settle(settler) })
	for i := range 2 {
		nc := x.connect()
		l.all.Go(func() { l.publish(nc, fmt.Sprint("nats-", i, "-")) })
		asker := x.connect()
		l.all.Go(func() { l.ask(asker, fmt.Sprint("asker-", i, "-"), false) })
		holder := x.connect()
		l.all.Go(func() { l.ask(holder, fmt.Sprint("holder-", i, "-"), true) })
		l.all.Go(func() { l.askOverHTTP(i) })
	}
	l.all.Go(l.useClient)
	return l
}

// end stops the load. All that was sent is acknowledged then.
func (l *clusterLoad) end() {
	l.stop()
	l.all.Wait()
}

// acked counts events that were acknowledged.
func (l *clusterLoad) acked(list []usage, by *pulse) {
	l.mu.Lock()
	for i := range list {
		c := l.consumed[list[i].APIKeyID]
		l.consumed[list[i].APIKeyID] = [2]int64{c[0] + 1, c[1] + list[i].Cost.Tokens}
	}
	l.mu.Unlock()
	by.beat(len(list))
}

// pauseOfGateways is how long one that was refused waits, so that the machine is left to
// those who have to agree on a leader.
const pauseOfGateways = 20 * time.Millisecond

// insist tries until it succeeds. Nothing is given up, so that what is acknowledged in
// the end is what was sent.
func (l *clusterLoad) insist(what string, try func() bool) bool {
	for end := time.Now().Add(upWithin); time.Now().Before(end); {
		if try() {
			return true
		}
		l.mu.Lock()
		l.again++
		l.mu.Unlock()
		<-time.After(pauseOfGateways)
	}
	l.t.Errorf("%s is not acknowledged", what)
	return false
}

// callDoors sends events over HTTP, each array until one of the front doors has it. One
// of the callers says no times: those events count when they come.
func (l *clusterLoad) callDoors(caller int) {
	d := rand.New(rand.NewPCG(uint64(caller), 0))
	for k := 0; l.ctx.Err() == nil; k++ {
		list := traffic(d, fmt.Sprintf("http-%d-%d-", caller, k), 1+d.IntN(20))
		body := encode(l.t, list)
		if caller == 0 {
			body = withoutTimes(l.t, body)
		}
		door := caller
		if !l.insist("an array", func() bool { door++; return l.post(door%2+1, body, len(list)) }) {
			return
		}
		l.acked(list, l.doors)
	}
}

// withoutTimes takes the times out of events.
func withoutTimes(t *testing.T, body []byte) []byte {
	var list []object
	if body[0] != '[' {
		body = append(append([]byte{'['}, body...), ']')
	}
	decode(t, string(body), &list)
	for _, e := range list {
		delete(e, "time")
	}
	return []byte(text(t, list))
}

// gives up after as long as a front door may take to say that it has kept something.
var doorClient = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// post reports whether a front door has taken all of it.
func (l *clusterLoad) post(door int, body []byte, n int) bool {
	answer, err := doorClient.Post(l.x.url(fmt.Sprint("front-", door), "http")+"/api/quota/events", "application/json", bytes.NewReader(body))
	if err != nil {
		return false // it is dead, or was killed before it answered
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	var r struct {
		Accepted int
		Results  []struct{ Spooled bool }
	}
	if err != nil || json.Unmarshal(said, &r) != nil || r.Accepted != n {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range r.Results {
		if one.Spooled {
			l.spooled++
		}
	}
	return true
}

// publish sends events over NATS.
func (l *clusterLoad) publish(nc *nats.Conn, prefix string) {
	d := rand.New(rand.NewPCG(uint64(prefix[5]), 0))
	for k := 0; l.ctx.Err() == nil; k++ {
		list := traffic(d, fmt.Sprint(prefix, k, "-"), 1+d.IntN(20))
		if !l.store(nc, list) {
			return
		}
	}
}

// store publishes events until the log has them.
func (l *clusterLoad) store(nc *nats.Conn, list []usage) bool {
	data := encode(l.t, list)
	if !l.insist("a message", func() bool {
		m, err := nc.Request("quota.consumption", data, ackWithin)
		return err == nil && strings.Contains(string(m.Data), `"seq":`)
	}) {
		return false
	}
	l.acked(list, l.log)
	return true
}

// useClient publishes as gateways in Go do, which keep events until the log has them.
func (l *clusterLoad) useClient() {
	c, err := sdk.New(sdk.Options{URL: l.x.nodes()})
	if err != nil {
		l.t.Error(err)
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), upWithin)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			l.t.Errorf("the client is closed: %v", err)
		}
	}()
	d := rand.New(rand.NewPCG(1, 2))
	for k := 0; l.ctx.Err() == nil; k++ {
		list := traffic(d, fmt.Sprint("client-", k, "-"), 1+d.IntN(20))
		for _, u := range list {
			e := sdk.Consumption{ID: u.ID, Time: time.UnixMilli(u.Time), APIKeyID: u.APIKeyID, ConnectionID: u.ConnectionID, Model: u.Model, Cost: sdk.Amounts{Tokens: u.Cost.Tokens}}
			if err := c.Publish(e); err != nil {
				l.t.Errorf("the client: %v", err)
				return
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), upWithin)
		err := c.Flush(ctx)
		cancel()
		if err != nil {
			l.t.Errorf("the client: %v", err)
			return
		}
		l.acked(list, l.log)
	}
}

// settle publishes what requests used that reserved. They do not wait for it.
func (l *clusterLoad) settle(nc *nats.Conn) {
	for {
		select {
		case use := <-l.used:
			if !l.store(nc, []usage{use}) {
				return
			}
		case <-l.ctx.Done():
			return // the leases of the others end
		}
	}
}

// ask asks over NATS. What reserves is settled with what it used.
func (l *clusterLoad) ask(nc *nats.Conn, prefix string, reserve bool) {
	d := rand.New(rand.NewPCG(uint64(prefix[0]), uint64(prefix[len(prefix)-2])))
	for k := 0; l.ctx.Err() == nil; k++ {
		use := traffic(d, fmt.Sprint(prefix, k, "-"), 1)[0]
		use.RequestID = use.ID
		q := object{"apiKeyId": use.APIKeyID, "connectionId": use.ConnectionID, "requestId": use.ID}
		if reserve {
			q["reserve"] = true
		}
		m, err := nc.Request("quota.decide", []byte(text(l.t, q)), gatewayWaits)
		if err != nil {
			continue // a gateway lets the call pass
		}
		l.answered(string(m.Data), reserve)
		if reserve {
			l.used <- use
		}
	}
}

// askOverHTTP asks the deciders by turns.
func (l *clusterLoad) askOverHTTP(asker int) {
	for k := asker; l.ctx.Err() == nil; k++ {
		body := fmt.Sprintf(`{"apiKeyId":%q,"connectionId":%q}`, keyName(k%numKeys), connectionName(k%numConnections))
		answer, err := doorClient.Post(l.x.decider(k%2+1).http+"/api/quota/decide", "application/json", strings.NewReader(body))
		if err != nil {
			continue
		}
		said, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err == nil && answer.StatusCode == http.StatusOK {
			l.answered(string(said), false)
		}
	}
}

func (l *clusterLoad) answered(said string, reserve bool) {
	var r reply
	if err := json.Unmarshal([]byte(said), &r); err != nil || r.Decision != "allow" && len(r.Degraded) == 0 {
		l.t.Errorf("the answer is %s", said)
	}
	l.mu.Lock()
	if len(r.Degraded) > 0 {
		l.degraded[strings.Join(r.Degraded, "+")]++
	}
	l.mu.Unlock()
	if reserve {
		l.holds.beat(1)
	} else {
		l.answers.beat(1)
	}
}
