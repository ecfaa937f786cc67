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
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	sdk "github.com/quotashare/quotashare/client"
)

// clusterLoad is gateways of all kinds at a topology.
type clusterLoad struct {
	t    *testing.T
	x    *topology
	ctx  context.Context // over when the load is to end; what has begun is brought to its end
	stop context.CancelFunc
	all  sync.WaitGroup

	// Events acknowledged by front doors, which have them on disk or in the log, and by
	// the log; those of front doors that are on disk alone; answers that hold nothing.
	doors, log, spooled, noHold *pulse
	ways                        []*answers // each way to ask by itself, so that none hides another one

	used       chan usage  // of requests that reserved, on its way to who publishes it
	leaderless atomic.Bool // the log surely has no leader, so that who reserves has to say so

	mu       sync.Mutex
	consumed map[string][2]int64 // requests and tokens by key, of what was acknowledged
	again    int                 // times that something was sent again
	degraded map[string]int      // answers by what they lack
}

func startClusterLoad(x *topology) *clusterLoad {
	l := &clusterLoad{
		t: x.t, x: x, used: make(chan usage, 100_000), consumed: map[string][2]int64{}, degraded: map[string]int{}, ways: newWays(),
		doors: newPulse("events by front doors", doorsWithin), log: newPulse("events by the log", logWithin),
		spooled: newPulse("events kept by front doors", gone), noHold: newPulse("answers without a hold", gone),
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	x.t.Cleanup(func() { l.stop(); l.all.Wait() })
	for i := range 4 {
		l.all.Go(func() { l.callDoors(i) })
	}
	settler := x.connect("gateway")
	l.all.Go(func() { l.settle(settler) })
	for i := range 2 {
		nc := x.connect("gateway")
		l.all.Go(func() { l.publish(nc, fmt.Sprint("nats-", i, "-")) })
	}
	l.startAsking()
	l.all.Go(l.useClient)
	return l
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

// timeless is how the ids of events begin that say no time.
const timeless = "http-0-"

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
	kept := 0
	for _, one := range r.Results {
		if one.Spooled {
			kept++
		}
	}
	if kept > 0 {
		l.spooled.beat(kept)
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
	c, err := sdk.New(sdk.Options{URL: l.x.nodes(), User: l.x.login("gateway"), CA: l.x.ca()})
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
