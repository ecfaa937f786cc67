package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// routed is what tests of routes read of an answer.
type routed struct {
	reply
	ConnectionID string
	Candidates   []struct {
		ConnectionID, Gate string
		Order              int
		InFlight           int64
	}
	InFlight *int64  // with explain, as Backlog
	Backlog  *object // when anybody waits
}

// toRoute makes a question for any connection of the pool that waits for long.
func toRoute(key, pool, request string) object {
	return object{"apiKeyId": key, "pool": pool, "requestId": request, "maxWaitMs": ample}
}

func (o operator) route(q object) routed {
	o.t.Helper()
	var r routed
	decode(o.t, o.mustCall("POST", apiPath("route"), text(o.t, q)), &r)
	return r
}

// narrow is a pool of these connections, each of which takes so many at a time.
func (o operator) narrow(id string, most int, connections ...string) {
	o.t.Helper()
	var list []object
	for _, c := range connections {
		list = append(list, object{"connectionId": c, "maxConcurrent": most})
	}
	o.pool(object{"id": id, "connections": list, "allocations": shares(o.t, "alice 50", "bob 50")})
}

// A call takes the account that it is told, and leaves it to the next one that waits.
// One that dies frees it when its lease ends, without anybody doing anything.
func TestRoutesTakeTurnsAndWait(t *testing.T) {
	o := newOperator(t)
	o.narrow("p", 1, "a", "b")
	for i, want := range []string{"a", "b"} {
		q := toRoute("alice", "p", fmt.Sprint("r-", i))
		if want == "b" {
			delete(q, "pool")
			q["route"], q["leaseMs"] = "qtSd/p/custom/large", 4000 // nobody will end it
		}
		if r := o.route(q); r.said() != "allow ok" || r.ConnectionID != want || len(r.Candidates) != 2 || r.Candidates[0].ConnectionID != want {
			t.Errorf("answer %d is %+v, want %s", i, r, want)
		}
	}
	full := toRoute("bob", "p", "too late")
	full["maxWaitMs"] = 0
	r := o.route(full)
	if r.said() != "block capacity of connection" || r.ConnectionID != "" || r.Candidates[0].Gate != "capacity" || r.RetryAt == nil {
		t.Errorf("there is room: %+v", r)
	}
	var waits sync.WaitGroup
	got := make([]routed, 2)
	for i := range got {
		waits.Go(func() { got[i] = o.route(toRoute("bob", "p", fmt.Sprint("w-", i))) })
	}
	waits.Go(func() {
		o.consume(object{"apiKeyId": "alice", "connectionId": "a", "requestId": "r-0"})
	})
	waits.Wait()
	for i, r := range got {
		if r.said() != "allow ok" || r.ConnectionID == got[1-i].ConnectionID {
			t.Errorf("who waited is answered %+v", r)
		}
	}
	if r := o.route(full); r.Decision != "block" {
		t.Errorf("a third is let in: %+v", r)
	}
}

// routers are callers who route, and look how many of them are in flight.
type routers struct {
	*rush
	inFlight, most atomic.Int64
	slowest        atomic.Int64 // ms, of an answer
	killed         atomic.Int64 // when a decider was, epoch ms
}

// isLost reports whether a question that was asked then may have gone to the decider
// that was killed: until the broker knows, it is given questions that nobody answers.
func (c *routers) isLost(asked time.Time) bool {
	killed := c.killed.Load()
	return killed != 0 && asked.UnixMilli() < killed+1_000
}

// routeWait is how long a question of the routers waits for room.
const routeWait = 10 * time.Second

// call has one request let in, and ends it. Whoever is not answered asks again.
func (c *routers) call(nc *nats.Conn, request string) {
	over := deadline(c.t)
	q := toRoute("alice", "p", request)
	q["maxWaitMs"], q["leaseMs"] = routeWait.Milliseconds(), 3_600_000
	for over.Err() == nil {
		c.mu.Lock()
		ctx, cancel := context.WithTimeout(c.round, routeWait+5*time.Second)
		c.mu.Unlock()
		began := time.Now()
		m, err := nc.RequestWithContext(ctx, "quota.route", []byte(text(c.t, q)))
		cancel()
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && c.isLost(began):
			c.mu.Lock()
			c.again++
			c.mu.Unlock()
			continue
		case err != nil:
			c.t.Errorf("%s: %v", request, err)
			return
		}
		var r routed
		decode(c.t, string(m.Data), &r)
		c.slowest.Store(max(c.slowest.Load(), time.Since(began).Milliseconds()))
		if r.said() != "allow ok" || r.ConnectionID != "c" || r.Candidates[0].InFlight > 2 {
			c.t.Errorf("%s is answered %+v", request, r)
		}
		n := c.inFlight.Add(1)
		c.most.Store(max(c.most.Load(), n))
		if n > 3 {
			c.t.Errorf("%d are in flight, and the account takes 3", n)
		}
		c.tell(over, nc, "quota.consumption", object{"apiKeyId": "alice", "connectionId": "c", "requestId": request, "partial": true})
		c.inFlight.Add(-1)
		c.tell(over, nc, "quota.release", object{"apiKeyId": "alice", "requestId": request})
		return
	}
	c.t.Errorf("%s is not answered", request)
}

// tell publishes what the log has to acknowledge.
func (c *routers) tell(ctx context.Context, nc *nats.Conn, subject string, doc object) {
	if _, err := nc.RequestWithContext(ctx, subject, []byte(text(c.t, doc))); err != nil {
		c.t.Errorf("%s %v: %v", subject, doc, err)
	}
}

// Of two deciders one is killed while 64 callers want an account that takes three at
// a time. There are never more, all are let in, and nobody waits longer than he said.
func TestAKilledDeciderLosesNoWaiter(t *testing.T) {
	front := start(t, "ingest", "--data-dir", t.TempDir(), "--nats-addr", brokertest.FreeAddr(t), "--http-addr", "127.0.0.1:0", "--sync", "100ms")
	decider := func() *process {
		p := start(t, "decider", "--data-dir", t.TempDir(), "--store-nats-url", front.nats, "--http-addr", "127.0.0.1:0")
		p.awaitReady()
		return p
	}
	dies, stays := decider(), decider()
	o := operator{stays}
	o.narrow("p", 3, "c")
	dies.at(lastSeq(t, front.nats))

	const callers, calls = 64, 6
	c := &routers{rush: &rush{t: t, answered: make(chan struct{}, callers*calls)}}
	c.next()
	for i, nc := range connections(t, front.nats, callers) {
		c.done.Go(func() {
			for j := range calls {
				c.call(nc, fmt.Sprintf("r-%d-%d", i, j))
				c.answered <- struct{}{}
			}
		})
	}
	c.await(callers)
	dies.kill()
	c.killed.Store(time.Now().UnixMilli())
	c.next()
	c.done.Wait()
	c.lost()
	t.Logf("%d asked again, at most %d were in flight, the slowest answer took %d ms", c.again, c.most.Load(), c.slowest.Load())
	if c.most.Load() != 3 {
		t.Error("the account was never full")
	}
	if ms := c.slowest.Load(); ms > routeWait.Milliseconds()+1000 {
		t.Errorf("an answer took %d ms", ms)
	}
	// All were given up: what the dead one was asked for was let in under the same name.
	stays.at(lastSeq(t, front.nats))
	if n := (&victim{process: stays}).metric(t, "quotashare_holds_open"); n != 0 {
		t.Errorf("%d holds are open at the end", n)
	}
}
