package e2e

import (
	"testing"
)

func TestALimitHoldsForKeysWithoutAllocation(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/daily 100")
	o.poolOf("team", []string{"c"}, "alice 100")
	o.consume(used("stranger", "c", "tokens", "99.999", soon()))
	o.mustSay("stranger", "c", "allow no-allocation")
	o.consume(used("stranger", "c", "tokens", "0.001", soon()))
	for _, key := range []string{"stranger", "alice", "one never seen"} {
		o.mustSay(key, "c", "block global-saturated")
	}
}

func TestDeletingAnAllocationFreesNoKeyFromTheLimit(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/daily 100")
	o.poolOf("team", []string{"c"}, "alice 50", "bob 50")
	o.consume(used("alice", "c", "tokens", "100", soon()))
	o.mustSay("alice", "c", "block global-saturated")
	o.reallocate("team", "bob 50")
	o.mustSay("alice", "c", "block global-saturated")
	o.mustSay("bob", "c", "block global-saturated")
	o.mustStand("team", "tokens/daily 100 of 100; bob 0 of 50; alice 100 of unknown")
}

func TestUnlistedKeysShareOneShare(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/daily 100")
	o.poolOf("team", []string{"c"}, "alice 50", "* 50")
	o.consume(used("x", "c", "tokens", "20", soon()), used("y", "c", "tokens", "16", soon()), used("z", "c", "tokens", "14", soon()))
	o.mustStand("team", "tokens/daily 50 of 100; alice 0 of 50; * 50 of 50; x 20 of unknown; y 16 of unknown; z 14 of unknown")
	for _, key := range []string{"x", "y", "z", "one never seen"} {
		o.mustSay(key, "c", "allow ok")
	}
	o.consume(used("z", "c", "tokens", "0.001", soon()))
	for _, key := range []string{"x", "y", "z", "one never seen"} {
		o.mustSay(key, "c", "block fair-share")
	}
	o.mustSay("alice", "c", "allow ok")
	d := o.dimension("team")
	if k := d.key(t, "*"); k.Consumed != "50.001" || k.Deficit != "0.001" || !k.Borrowing || k.Consumed != d.Unlisted {
		t.Errorf("together they are %+v, the unlisted ones %s", k, d.Unlisted)
	}
	if k := d.key(t, "x"); k.Consumed != "20" || k.Remaining != "0" {
		t.Errorf("x may use %s more, want what the share of all leaves: %+v", k.Remaining, k)
	}
}

// What is gone says nothing any more, and what it used is still used.
func TestADeletedPoolHasNoInfluenceAndItsUsageStays(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/daily 100")
	o.poolOf("old", []string{"c"}, "alice 10", "bob 90")
	o.consume(used("alice", "c", "tokens", "60", soon()))
	o.mustSay("alice", "c", "block fair-share")
	o.mustCall("DELETE", apiPath("pools", "old"), "")
	o.mustSay("alice", "c", "allow no-pool")
	if status, _ := o.call("GET", apiPath("pools", "old", "usage"), "", ""); status != 404 {
		t.Errorf("the usage of a deleted pool: %d", status)
	}
	o.poolOf("new", []string{"c"}, "carol 100")
	o.mustStand("new", "tokens/daily 60 of 100; carol 0 of 100; alice 60 of unknown")
	o.mustSay("alice", "c", "allow no-allocation")
	o.consume(used("carol", "c", "tokens", "40", soon()))
	o.mustSay("carol", "c", "block global-saturated")
}

// Two keys with a weight of 50 each; one goes, and the other's share does not
// depend on it any more.
func TestADeletedKeyHasNoInfluenceAndItsUsageStays(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/daily 100")
	o.poolOf("team", []string{"c"}, "alice 100", "bob 100")
	o.consume(used("bob", "c", "tokens", "55", soon()), used("alice", "c", "tokens", "5", soon()))
	o.mustStand("team", "tokens/daily 60 of 100; alice 5 of 50; bob 55 of 50")
	o.mustSay("bob", "c", "block fair-share")
	o.reallocate("team", "alice 100")
	o.mustStand("team", "tokens/daily 60 of 100; alice 5 of 100; bob 55 of unknown")
	o.mustSay("bob", "c", "allow no-allocation")
	o.mustSay("alice", "c", "allow ok")
}

// A dry run says who would be blocked and who freed, does nothing, and the
// change itself then does just that.
func TestADryRunSaysWhatTheChangeThenDoes(t *testing.T) {
	o := newOperator(t)
	o.plan("c", "tokens/daily 100")
	o.poolOf("team", []string{"c"}, "alice 10", "bob 90")
	o.consume(used("alice", "c", "tokens", "30", soon()), used("bob", "c", "tokens", "30", soon()))
	o.mustSay("alice", "c", "block fair-share")
	change := object{"allocations": shares(t, "alice 80", "bob 20")}
	before := o.at(0)
	var doc struct {
		DryRun         bool
		Blocked, Freed []struct{ APIKeyID, Reason string }
	}
	decode(t, o.send("PATCH", apiPath("pools", "team")+"?dryRun=true", change), &doc)
	if !doc.DryRun || len(doc.Blocked) != 1 || len(doc.Freed) != 1 ||
		doc.Blocked[0].APIKeyID+doc.Blocked[0].Reason != "bobfair-share" || doc.Freed[0].APIKeyID+doc.Freed[0].Reason != "alicefair-share" {
		t.Errorf("the dry run says %+v", doc)
	}
	if after := o.at(0); after != before {
		t.Errorf("the dry run took the log from %+v to %+v", before, after)
	}
	o.mustSay("alice", "c", "block fair-share")
	o.send("PATCH", apiPath("pools", "team"), change)
	o.mustSay("alice", "c", "allow ok")
	o.mustSay("bob", "c", "block fair-share")
}
