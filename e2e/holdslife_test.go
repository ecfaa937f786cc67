package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// one is an engine with a pool of one connection and a limit of that many requests.
func one(t *testing.T, limit int) operator {
	t.Helper()
	o := newOperator(t)
	o.plan("c", fmt.Sprint("requests/monthly ", limit))
	o.poolOf("p", []string{"c"}, "alice 50 burst", "bob 50 burst")
	return o
}

// passTime makes log time pass: it goes on with what is stored, so something is
// stored until it has reached the instant.
func (o operator) passTime(until time.Time) {
	o.t.Helper()
	js := jetStream(o.t, brokertest.Connect(o.t, o.nats))
	for ctx := deadline(o.t); ctx.Err() == nil; {
		seq := publishAll(o.t, js, []object{used("nobody", "elsewhere", "requests", "0", time.Now().UnixMilli())})
		r := o.reply(object{"apiKeyId": "nobody", "connectionId": "elsewhere", "minSeq": seq, "maxWaitMs": ample})
		if !r.AsOf.Time.Before(until) {
			return
		}
	}
	o.t.Fatalf("log time does not get to %v", until)
}

// release gives a request up.
func (o operator) release(key, request string) {
	o.t.Helper()
	var doc struct {
		Results []struct{ Seq uint64 }
	}
	decode(o.t, o.send("POST", apiPath("release"), object{"apiKeyId": key, "requestId": request}), &doc)
	o.at(doc.Results[0].Seq)
}

// A lease that is over gives its place to somebody else, whom the late release of
// the first does not concern; nor does one of another key under the same id.
func TestALateReleaseFreesNobodyElse(t *testing.T) {
	o := one(t, 1)
	r := o.mustReply(hold("alice", "c", "requestId", "r-1", "leaseMs", 1), "allow ok")
	o.passTime(r.AsOf.Time.Add(time.Millisecond))
	o.mustReply(hold("bob", "c", "requestId", "r-1"), "allow ok")
	o.release("alice", "r-1")
	o.release("alice", "r-1")
	o.release("carol", "r-1")
	o.mustReply(hold("alice", "c", "requestId", "r-2"), "block global-saturated of pool")
	o.mustHold("bob", "c", "0+1 of 0+1")
	o.release("bob", "r-1")
	o.mustHold("bob", "c", "0+0 of 0+0")
	o.mustReply(hold("alice", "c", "requestId", "r-2"), "allow ok")
}

// A gateway that asks again under the same id has one hold: that of the last
// question, judged without the one before.
func TestTheSameRequestTwiceIsOneHold(t *testing.T) {
	o := one(t, 5)
	q := hold("alice", "c", "requestId", "r", "estimate", object{"requests": 3})
	for range 2 {
		o.mustReply(q, "allow ok")
		o.mustHold("alice", "c", "0+3 of 0+3")
	}
	nc := connections(t, o.nats, 20)
	if n := len(admitted(askAtOnce(t, nc, times(20, q)))); n != 20 {
		t.Errorf("%d of 20 repetitions are let pass, want all", n)
	}
	o.mustHold("alice", "c", "0+3 of 0+3")
	// Two keys may have the same ids.
	o.mustReply(hold("bob", "c", "requestId", "r", "estimate", object{"requests": 2}), "allow ok")
	o.mustHold("alice", "c", "0+3 of 0+5")
	// It wants more than there is: it is not let pass and holds nothing any more.
	q["estimate"] = object{"requests": 4}
	o.mustReply(q, "block global-saturated of pool")
	o.mustHold("alice", "c", "0+0 of 0+2")
	// Settled, twice, by two gateways; a third one's question comes late.
	use := object{"apiKeyId": "bob", "connectionId": "c", "requestId": "r"}
	o.consume(use, use)
	o.mustHold("bob", "c", "2+0 of 2+0")
	o.mustReply(hold("bob", "c", "requestId", "r"), "allow ok")
	o.mustHold("bob", "c", "2+0 of 2+0")
}

// A request moves to another connection: it is held there, and not here any more.
func TestARequestThatMovesIsHeldOnce(t *testing.T) {
	o := one(t, 5)
	o.plan("d", "requests/monthly 5")
	o.poolOf("q", []string{"d"}, "alice 100 burst")
	o.mustReply(hold("alice", "c", "requestId", "r"), "allow ok")
	o.mustReply(hold("alice", "d", "requestId", "r"), "allow ok")
	o.mustHold("alice", "c", "0+0 of 0+0")
	o.mustHold("alice", "d", "0+1 of 0+1")
	o.consume(object{"apiKeyId": "alice", "connectionId": "c", "requestId": "r"}) // it was c in the end
	o.mustHold("alice", "c", "1+0 of 1+0")
	o.mustHold("alice", "d", "0+0 of 0+0")
}

// A hold is of its connection: without a pool nothing limits it, and the next pool
// of the connection counts it.
func TestAHoldOutlivesItsPool(t *testing.T) {
	o := one(t, 2)
	o.mustReply(hold("alice", "c", "requestId", "r-1"), "allow ok")
	o.mustCall("DELETE", apiPath("pools", "p"), "")
	o.mustReply(hold("alice", "c", "requestId", "r-2"), "allow no-pool")
	o.mustReply(hold("alice", "c", "requestId", "r-3"), "allow no-pool")
	o.poolOf("next", []string{"c"}, "bob 100 burst")
	o.mustHold("alice", "c", "0+3 of 0+3")
	o.mustReply(hold("bob", "c", "requestId", "r-4"), "block global-saturated of pool")
	o.consume(object{"apiKeyId": "alice", "connectionId": "c", "requestId": "r-1", "cost": object{"requests": 0}})
	o.release("alice", "r-2")
	o.release("alice", "r-3")
	o.mustReply(hold("bob", "c", "requestId", "r-4"), "allow ok")
	o.mustHold("bob", "c", "0+1 of 0+1")
}

// A stream says from time to time what it used. That is taken off its hold, whose
// lease begins anew each time.
func TestPartsOfAStreamAreTakenOffItsHold(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/monthly 1000")
	o.poolOf("p", []string{"c"}, "alice 100 burst")
	o.mustReply(hold("alice", "c", "requestId", "r", "estimate", object{"tokens": 900}), "allow ok")
	part := func(tokens int, partial bool) object {
		return object{"apiKeyId": "alice", "connectionId": "c", "requestId": "r", "partial": partial, "cost": object{"tokens": tokens}}
	}
	o.consume(part(300, true), part(100, true))
	o.mustHold("alice", "c", "400+500 of 400+500")
	o.mustReply(hold("alice", "c", "requestId", "s", "estimate", object{"tokens": 101}), "block global-saturated of pool")
	o.consume(part(550, true)) // more than was held for it
	o.mustHold("alice", "c", "950+0 of 950+0")
	o.consume(part(10, false))
	o.mustHold("alice", "c", "960+0 of 960+0")
}
