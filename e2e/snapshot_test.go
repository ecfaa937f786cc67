package e2e

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestThePlansOfAllConnectionsAddUp(t *testing.T) {
	o := newOperator(t)
	var connections []string
	var events []object
	for i := range 27 {
		id := fmt.Sprintf("account-%d", i+1)
		connections = append(connections, id)
		o.plan(id, "usd/daily 66.67")
		amount := "2"
		if i == 26 {
			amount = "2.09"
		}
		events = append(events, used("alice", id, "usd", amount, soon()))
	}
	o.consume(events...)
	o.poolOf("team", connections, "alice 100")
	o.mustStand("team", "usd/daily 54.09 of 1800.09; alice 54.09 of 1800.09")
	d := o.dimension("team")
	if d.UsedPercent != "3.004849" {
		t.Errorf("%s %% are used, want 3.004849", d.UsedPercent)
	}
	if len(d.PerConnection) != 27 || d.PerConnection[26] != (standingConnection{"account-27", "66.67", "2.09"}) {
		t.Errorf("the connections are %+v", d.PerConnection)
	}
}

func TestZeroWeightsAreEqualShares(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/daily 1000")
	o.poolOf("team", []string{"c"}, "alice 0", "bob 0")
	o.consume(used("alice", "c", "tokens", "100", soon()))
	o.mustStand("team", "tokens/daily 100 of 1000; alice 100 of 500; bob 0 of 500")
	got := o.dimension("team").key(t, "alice")
	if got.Deficit != "-400" || got.Borrowing {
		t.Errorf("alice has deficit %s, borrowing %v; want -400, false", got.Deficit, got.Borrowing)
	}
}

// The pool's dimensions are those of its first connection, and the other counts
// with the first one's limit.
func TestAPlanOnTheFirstConnectionShowsUsageOfTheSecond(t *testing.T) {
	o := newOperator(t)
	o.plan("first", "tokens/daily 1000")
	o.poolOf("team", []string{"first", "second"}, "alice 100")
	o.consume(used("alice", "second", "tokens", "700", soon()))
	o.mustStand("team", "tokens/daily 700 of 2000; alice 700 of 2000")
	want := []standingConnection{{"first", "1000", "0"}, {"second", "1000", "700"}}
	if diff := cmp.Diff(want, o.dimension("team").PerConnection); diff != "" {
		t.Errorf("the connections (- want, + got):\n%s", diff)
	}
}

func TestSharesAreFlooredAndNeverBeyondTheLimit(t *testing.T) {
	o := newOperator(t)
	for _, c := range []struct{ dimension, alice, bob string }{
		{"usd/daily 100", "42.857142857", "57.142857142"},
		{"tokens/daily 100", "42.857", "57.142"},
		{"percent/5h 100", "42.857142", "57.142857"},
		{"requests/hourly 0.001", "0", "0"},
	} {
		id := c.dimension
		o.plan(id, c.dimension)
		o.poolOf(id, []string{id}, "alice 60", "bob 80")
		d := o.dimension(id)
		a, b := d.key(t, "alice").FairShare, d.key(t, "bob").FairShare
		if a.String() != c.alice || b.String() != c.bob {
			t.Errorf("of %s the shares are %s and %s, want %s and %s", c.dimension, a, b, c.alice, c.bob)
		}
		if sum := new(big.Rat).Add(exact(t, a), exact(t, b)); sum.Cmp(exact(t, d.Limit)) > 0 {
			t.Errorf("of %s the shares sum to %s", c.dimension, sum)
		}
	}
}

func exact(t *testing.T, n json.Number) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		t.Fatalf("%q is no number", n)
	}
	return r
}

func TestAPoolSeesTheUsageThatWasBeforeIt(t *testing.T) {
	o := newOperator(t)
	o.consume(used("alice", "c", "tokens", "100", soon()), used("bob", "c", "tokens", "20", soon()))
	o.plan("c", "tokens/daily 1000")
	o.poolOf("team", []string{"c"}, "alice 50")
	o.mustStand("team", "tokens/daily 120 of 1000; alice 100 of 500; bob 20 of unknown")
}

func TestALimitBelowItsUseLeavesNothingAndShowsHowFarItIs(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/daily 1000")
	o.poolOf("team", []string{"c"}, "alice 100")
	o.consume(used("alice", "c", "tokens", "160", soon()))
	o.mustSay("alice", "c", "allow ok")
	o.plan("c", "tokens/daily 100")
	o.mustStand("team", "tokens/daily 160 of 100; alice 160 of 100")
	d := o.dimension("team")
	if left := d.key(t, "alice").Remaining; left != "0" || d.UsedPercent != "160" {
		t.Errorf("%s are left, %s %% used; want 0, 160", left, d.UsedPercent)
	}
	o.mustSay("alice", "c", "block global-saturated")
}

func TestNoChangeOfTheRulesResetsUsage(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/daily 1000")
	o.poolOf("team", []string{"c"}, "alice 60 hard", "bob 40 hard")
	o.consume(used("alice", "c", "tokens", "160", soon()), used("bob", "c", "tokens", "40", soon()))
	pool := apiPath("pools", "team")
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() { o.plan("c", "tokens/daily 5000") }, "200 of 5000; alice 160 of 3000; bob 40 of 2000"},
		{func() { o.plan("c", "tokens/daily 0") }, "200 of unknown; alice 160 of unknown; bob 40 of unknown"},
		{func() { o.mustCall("DELETE", apiPath("plans", "c"), "") }, ""},
		{func() { o.plan("c", "tokens/daily 500") }, "200 of 500; alice 160 of 300; bob 40 of 200"},
		{func() { o.reallocate("team", "alice 10", "bob 20") }, "200 of 500; alice 160 of 50; bob 40 of 100"},
		{func() { o.reallocate("team", "bob 20 burst", "alice 10 soft") }, "200 of 500; bob 40 of 100; alice 160 of 50"},
		{func() { o.reallocate("team") }, "200 of 500; alice 160 of unknown; bob 40 of unknown"},
		{func() { o.reallocate("team", "alice 100") }, "200 of 500; alice 160 of 500; bob 40 of unknown"},
		{func() { o.mustCall("PATCH", pool, `{"mode":"off"}`) }, "200 of 500; alice 160 of 500; bob 40 of unknown"},
		{func() { o.mustCall("PATCH", pool, `{"connectionIds":["other","c"]}`) }, ""},
		{func() { o.mustCall("PATCH", pool, `{"connectionIds":["c"],"mode":null}`) }, "200 of 500; alice 160 of 500; bob 40 of unknown"},
		{func() { o.mustCall("PUT", "/api/quota/settings", `{"saturationThreshold":1}`) }, "200 of 500; alice 160 of 500; bob 40 of unknown"},
	} {
		step.change()
		if step.want != "" {
			o.mustStand("team", "tokens/daily "+step.want)
		}
	}
}

// What the hour before used fades by the millisecond: a question before and one
// after the snapshot have it between them.
func TestTheSnapshotIsOfNow(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/hourly 1000000000000")
	o.poolOf("team", []string{"c"}, "alice 100")
	o.consume(used("alice", "c", "tokens", "900000000000", time.Now().Add(-time.Hour).UnixMilli()))
	before := o.ask("alice", "c").Dimensions[0].ConsumedTotal
	now := o.dimension("team").ConsumedTotal
	after := o.ask("alice", "c").Dimensions[0].ConsumedTotal
	if exact(t, before).Cmp(exact(t, now)) < 0 || exact(t, now).Cmp(exact(t, after)) < 0 {
		t.Errorf("the snapshot shows %s, a question before it %s, one after it %s", now, before, after)
	}
}

// shown are the fields of an explained dimension that a snapshot has too, of the
// dimension and of the key.
var shown = map[bool][]string{
	false: {"unit", "window", "limit", "consumedTotal", "heldTotal", "mode"},
	true:  {"consumed", "held", "fairShare", "deficit", "borrowing", "remaining"},
}

func pick(from object, key bool, into object) {
	for _, name := range shown[key] {
		into[name] = from[name]
	}
}

// Whatever is asked at the snapshot's instant, the numbers are those that the
// snapshot shows. Keys below "*" are judged by the row of "*", and have what they
// consumed themselves in rows of their own.
func TestTheSnapshotHasTheNumbersOfTheDecision(t *testing.T) {
	o := newOperator(t)
	dims := []string{"requests/monthly 500", "tokens/monthly 1000", "usd/monthly 0"}
	o.plan("c-1", dims...)
	o.plan("d-1", dims...)
	o.poolOf("shared", []string{"c-1", "c-2"}, "alice 60 hard", "bob 1 soft", "carol 3 burst", "* 20 hard")
	o.poolOf("open", []string{"d-1", "d-2"}, "alice 40 hard", "bob 1 burst")
	d := dice(t)
	for range 10 {
		var events []object
		for range 16 {
			key := []string{"alice", "bob", "carol", "dave", "erin"}[d.IntN(5)]
			e := used(key, []string{"c-1", "c-2", "d-1", "d-2"}[d.IntN(4)], "tokens", fmt.Sprint(d.IntN(40)), month)
			e["cost"].(object)["requests"] = json.Number(fmt.Sprintf("%d.%03d", d.IntN(15), d.IntN(1000)))
			e["cost"].(object)["usd"] = json.Number(fmt.Sprintf("0.%09d", d.IntN(1_000_000_000)))
			events = append(events, e)
		}
		o.consume(events...)
		o.mustAgree("shared", "c-1")
		o.mustAgree("open", "d-1")
	}
}

// mustAgree compares every row of the snapshot with an explained decision.
func (o operator) mustAgree(pool, connection string) {
	o.t.Helper()
	var doc struct{ Usage object }
	decode(o.t, o.mustCall("GET", apiPath("pools", pool, "usage"), ""), &doc)
	at, err := time.Parse(time.RFC3339, doc.Usage["asOf"].(object)["time"].(string))
	if err != nil {
		o.t.Fatal(err)
	}
	for _, row := range doc.Usage["keys"].([]any) {
		key := row.(object)["apiKeyId"].(string)
		judged, allocated := row.(object)["allocation"].(string)
		if !allocated {
			judged = key
		}
		if key == "*" {
			continue // nobody asks as everybody
		}
		var said object
		decode(o.t, o.send("POST", apiPath("decide"), object{
			"apiKeyId": key, "connectionId": connection, "explain": true, "at": at.UnixMilli(),
		}), &said)
		if said["decision"] != row.(object)["decision"] || said["reason"] != row.(object)["reason"] {
			o.t.Errorf("%s: asked %v %v, the snapshot %v", key, said["decision"], said["reason"], row)
		}
		if diff := cmp.Diff(explained(said), ofKey(doc.Usage, judged)); diff != "" {
			o.t.Errorf("%s (- decision, + snapshot):\n%s", key, diff)
		}
	}
}

func explained(said object) (list []object) {
	for _, d := range said["dimensions"].([]any) {
		one := object{}
		pick(d.(object), false, one)
		pick(d.(object), true, one)
		list = append(list, one)
	}
	return list
}

func ofKey(usage object, key string) (list []object) {
	for _, d := range usage["dimensions"].([]any) {
		one := object{}
		pick(d.(object), false, one)
		rows := d.(object)["perKey"].([]any)
		at := slices.IndexFunc(rows, func(row any) bool { return row.(object)["apiKeyId"] == key })
		pick(rows[at].(object), true, one)
		list = append(list, one)
	}
	return list
}
