package e2e

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// pool creates a pool over HTTP from what is written of it.
func (o operator) pool(doc object) {
	o.t.Helper()
	doc["name"], doc["provider"] = doc["id"], "custom"
	o.send("POST", apiPath("pools"), doc)
}

// mustBind compares what an answer says decided.
func (r reply) mustBind(t *testing.T, want string) {
	t.Helper()
	got := "nothing"
	if b := r.Binding; b != nil {
		got = b.Unit + "/" + b.Window
		if b.Model != "" {
			got += " of " + b.Model
		}
	}
	if got != want {
		t.Errorf("bound by %s, want %s: %+v", got, want, r)
	}
}

// A key may have two requests to a model in an hour, whatever the plan says: held
// ones count, of that model and key only.
func TestHoldsFillAModelCap(t *testing.T) {
	o := newOperator(t)
	o.pool(object{
		"id": "p", "connectionIds": []string{"c"}, "allocations": shares(t, "alice 50"),
		"modelCaps": []object{{"apiKeyId": "alice", "model": "large", "capUnit": "requests", "capValue": 2}},
	})
	large := hold("alice", "c", "model", "large")
	o.mustReply(large, "allow ok")
	o.mustReply(hold("alice", "c", "model", "large", "requestId", "r"), "allow ok")
	o.mustReply(large, "block model-cap of model").mustBind(t, "requests/hourly of large")
	o.mustReply(hold("alice", "c", "model", "small"), "allow ok")
	o.mustReply(hold("bob", "c", "model", "large"), "allow no-allocation")
	o.consume(object{"apiKeyId": "alice", "connectionId": "c", "model": "small", "requestId": "r"}) // it fell back
	o.mustReply(large, "allow ok")
}

// A cap has a window and a unit of its own, that the plan need not have.
func TestHoldsFillACapWithItsOwnWindow(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "requests/monthly 1000")
	o.pool(object{"id": "p", "connectionIds": []string{"c"}, "allocations": []object{
		{"apiKeyId": "alice", "weight": 100, "caps": []object{{"unit": "tokens", "window": "5h", "value": 100}}},
	}})
	q := hold("alice", "c", "requestId", "r", "estimate", object{"tokens": 60})
	o.mustReply(q, "allow ok")
	o.mustReply(q, "allow ok")
	q["requestId"] = "s"
	r := o.mustReply(q, "block cap-absolute of key")
	r.mustBind(t, "tokens/5h")
	if r.RetryAt == nil {
		t.Errorf("the lease of the other one ends, and the answer has no retryAt: %+v", r)
	}
	q["estimate"] = object{"tokens": 40}
	o.mustReply(q, "allow ok")
	o.mustReply(hold("alice", "c"), "block cap-absolute of key")
}

// Keys without an allocation share that of *, and what each of them holds is held
// of it.
func TestUnlistedKeysHoldOneShare(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "requests/monthly 10")
	o.poolOf("p", []string{"c"}, "alice 50 hard", "* 50 hard")
	for i := range 6 {
		o.mustReply(hold(fmt.Sprint("stranger-", i%3), "c"), "allow ok")
	}
	for _, key := range []string{"stranger-1", "one never seen"} {
		o.mustReply(hold(key, "c"), "block fair-share of key")
	}
	o.mustReply(hold("alice", "c"), "allow ok")
	o.mustHold("stranger-0", "c", "0+6 of 0+7")
}

// Who is suspended holds nothing, and what it held before stands.
func TestASuspendedKeyHoldsNothing(t *testing.T) {
	o := one(t, 10)
	o.mustReply(hold("alice", "c", "requestId", "r-1"), "allow ok")
	o.mustReply(hold("alice", "c", "requestId", "r-2"), "allow ok")
	o.send("PATCH", apiPath("pools", "p"), object{"allocations": []object{
		{"apiKeyId": "alice", "weight": 50, "suspended": true}, {"apiKeyId": "bob", "weight": 50},
	}})
	o.mustReply(hold("alice", "c", "requestId", "r-3"), "block suspended of key")
	o.mustHold("bob", "c", "0+0 of 0+2")
	// Asked again, a request that has its hold loses it.
	o.mustReply(hold("alice", "c", "requestId", "r-1"), "block suspended of key")
	o.mustHold("bob", "c", "0+0 of 0+1")
}

// A pool that only observes lets everything pass, says what it would have done,
// and holds all.
func TestAPoolThatObservesHolds(t *testing.T) {
	o := one(t, 2)
	o.send("PATCH", apiPath("pools", "p"), object{"mode": "observe"})
	for range 2 {
		o.mustReply(hold("alice", "c"), "allow ok")
	}
	r := o.mustReply(hold("bob", "c"), "allow global-saturated of pool, would block")
	r.mustBind(t, "requests/monthly")
	if r.HTTPStatus != 200 || r.Deprioritize {
		t.Errorf("it is let pass, and the answer is %+v", r)
	}
	o.mustHold("bob", "c", "0+1 of 0+3")
	o.send("PATCH", apiPath("pools", "p"), object{"mode": "enforce"})
	o.mustReply(hold("bob", "c"), "block global-saturated of pool")
}

// Asked for a pool, the answer names every connection that would do; a hold needs
// one of them.
func TestAPoolIsAskedForItsConnections(t *testing.T) {
	o := newOperator(t)
	for _, c := range []string{"c", "d", "e"} {
		o.plan(c, "requests/monthly 10")
	}
	o.poolOf("p", []string{"c", "d", "e"}, "alice 100 burst")
	byPool := object{"apiKeyId": "alice", "pool": "p"}
	mustOffer := func(q object, want string, connections ...string) {
		t.Helper()
		if r := o.mustReply(q, want); !slices.Equal(r.Alternatives, connections) {
			t.Errorf("%v: the alternatives are %v, want %v", q, r.Alternatives, connections)
		}
	}
	mustOffer(byPool, "allow ok", "c", "d", "e")
	o.send("POST", apiPath("events"), object{
		"type": "quota.saturation", "connectionId": "d", "readings": []object{{"window": "monthly", "usedPercent": 100}},
	})
	mustOffer(byPool, "allow ok", "c", "e")
	mustOffer(hold("alice", "d"), "block global-saturated of connection", "c", "e")
	mustOffer(hold("alice", "c", "estimate", object{"requests": 29}), "allow ok", "e")
	mustOffer(hold("alice", "e"), "allow ok", "c")
	// The limits of all, and the holds on all, are one sum.
	mustOffer(byPool, "block global-saturated of pool")
	mustOffer(hold("alice", "c"), "block global-saturated of pool")
	var refused answer
	status, body := o.call("POST", apiPath("decide"), "application/json", `{"apiKeyId":"alice","pool":"p","reserve":true}`)
	if decode(t, body, &refused); refused.Error == nil || status/100 != 4 {
		t.Errorf("a hold without a connection: %d %s", status, body)
	}
}

// preview asks the question without leaving a trace.
func (o operator) preview(q object) reply {
	o.t.Helper()
	values := url.Values{}
	for name, v := range q {
		values.Set(name, fmt.Sprint(v))
	}
	return parseReply(o.t, []byte(o.mustCall("GET", apiPath("preview")+"?"+values.Encode(), "")))
}

// A preview of a question that reserves says what its answer would be: of a
// request that has a hold, without that hold.
func TestAPreviewHoldsNothing(t *testing.T) {
	o := one(t, 2)
	q := hold("alice", "c", "requestId", "r")
	before := o.at(0)
	for range 3 {
		if r := o.preview(q); r.said() != "allow ok" {
			t.Errorf("the preview says %s", r.said())
		}
	}
	if after := o.at(0); after != before {
		t.Errorf("previews took the log from %+v to %+v", before, after)
	}
	o.mustHold("alice", "c", "0+0 of 0+0")
	o.mustReply(q, "allow ok")
	o.mustReply(hold("bob", "c"), "allow ok")
	if r := o.preview(q); r.said() != "allow ok" {
		t.Errorf("the preview of a request that has its hold says %s", r.said())
	}
	if r := o.preview(hold("bob", "c", "requestId", "s")); r.said() != "block global-saturated of pool" {
		t.Errorf("the preview of one more request says %s", r.said())
	}
	o.mustHold("alice", "c", "0+1 of 0+2")
	const blocks = "/api/quota/decisions?decision=block&apiKeyId=bob"
	if log := o.mustCall("GET", blocks, ""); strings.Count(log, `"count":`) != 0 {
		t.Errorf("bob was not blocked, and the decision log has %s", log)
	}
	r := o.mustReply(hold("bob", "c", "requestId", "s"), "block global-saturated of pool")
	if log := o.mustCall("GET", blocks, ""); strings.Count(log, `"count":`) != 1 || !strings.Contains(log, r.DecisionID) {
		t.Errorf("bob was blocked by %s, and the decision log has %s", r.DecisionID, log)
	}
}
