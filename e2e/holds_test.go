package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// rushes is how often a limit is rushed.
func rushes() int {
	if long() {
		return 200
	}
	return 20
}

// A limit of 100 requests, 256 clients at once, two deciders: whatever the order,
// 100 pass, of one key or of ten. What passed is then consumed, and nothing is
// held any more.
func TestALimitOf100Admits100(t *testing.T) {
	d := newDeciders(t)
	clients := connections(t, d.nats, 256)
	by := map[string]int{} // answers by process
	for run := range rushes() {
		c := fmt.Sprint("c-", run)
		keys := make([]string, []int{1, 10}[run%2])
		var allocations []string
		for i := range keys {
			keys[i] = fmt.Sprint("key-", i)
			allocations = append(allocations, keys[i]+" "+fmt.Sprint(100/len(keys)))
		}
		d.plan(c, "requests/monthly 100")
		d.poolOf(fmt.Sprint("p-", run), []string{c}, allocations...)
		qs := make([]object, len(clients))
		for i := range qs {
			qs[i] = hold(keys[i%len(keys)], c)
		}
		rs := askAtOnce(t, clients, qs)
		var uses []object
		for i, r := range rs {
			process, _, _ := strings.Cut(r.DecisionID, "-")
			by[process]++
			if r.Decision == "allow" {
				uses = append(uses, settlement(keys[i%len(keys)], c, r, object{"requests": 1}))
			}
		}
		if len(uses) != 100 {
			t.Fatalf("run %d, keys %d: %d of %d are admitted, want 100", run, len(keys), len(uses), len(rs))
		}
		d.mustHold("nobody", c, "0+0 of 0+100")
		d.mustHold("nobody", c, "0+0 of 100+0", publishAll(t, d.js, uses))
	}
	if len(by) != 2 {
		t.Errorf("answers by process: %v, want two that share the questions", by)
	}
}

// The rule of a share is c > share: with 499 of 500 consumed, one request more
// makes 500 and the next is let pass too.
func TestAHardShareAdmitsTwoAtOneBelow(t *testing.T) {
	d := newDeciders(t)
	d.plan("c", "requests/monthly 1000")
	d.poolOf("p", []string{"c"}, "alice 50 hard", "bob 50 hard")
	d.consume(used("alice", "c", "requests", "499", soon()), used("bob", "c", "requests", "1", soon()))
	d.mustAdmit(2, connections(t, d.nats, 20), hold("alice", "c", "estimate", object{"requests": 1}))
	d.mustHold("alice", "c", "499+2 of 500+2")
	d.mustReply(hold("alice", "c"), "block fair-share of key")
	d.mustReply(hold("bob", "c"), "allow ok")
}

// What was estimated is given back when less was used, to whoever asks for a state
// that knows of it.
func TestTokensThatWereNotUsedAreGivenBack(t *testing.T) {
	d := newDeciders(t)
	d.plan("c", "tokens/monthly 1000000")
	d.poolOf("p", []string{"c"}, "alice 100 burst")
	d.consume(used("alice", "c", "tokens", "940000", soon()))
	clients := connections(t, d.nats, 20)
	q := hold("alice", "c", "estimate", object{"tokens": 30_000})
	var uses []object
	for _, r := range d.mustAdmit(2, clients, q) {
		uses = append(uses, settlement("alice", "c", r, object{"tokens": 12_000}))
	}
	d.mustAdmit(0, clients, q)
	d.mustHold("alice", "c", "940000+60000 of 940000+60000")
	q["minSeq"] = publishAll(t, d.js, uses)
	d.mustAdmit(1, clients, q)
	d.mustHold("alice", "c", "964000+30000 of 964000+30000")
}

// Who estimates nothing holds one request.
func TestOneBelowTheLimitAdmitsOne(t *testing.T) {
	d := newDeciders(t)
	d.plan("c", "requests/monthly 100")
	d.poolOf("p", []string{"c"}, "alice 100 burst")
	d.consume(used("alice", "c", "requests", "99", soon()))
	d.mustAdmit(1, connections(t, d.nats, 20), hold("alice", "c"))
	d.mustHold("alice", "c", "99+1 of 99+1")
}
