package fairshare

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// TestBriefIsTheSame: what is answered without a look at the other keys is what is
// answered with one, and it often is without.
func TestBriefIsTheSame(t *testing.T) {
	seed := rand.Uint64()
	var whole, brief Facts
	allowed, blocked, looked := 0, 0, 0
	for n := range uint64(20_000) {
		q, c := drawCensus(rand.New(rand.NewPCG(seed, n)))
		whole.Gather(q, c, rapidNow)
		want := whole.Decide(rapidNow)
		want.Alternatives = slices.Clone(want.Alternatives)
		q.Brief = true
		brief.Gather(q, c, rapidNow)
		if diff := cmp.Diff(want, brief.Decide(rapidNow)); diff != "" {
			t.Fatalf("seed %d, state %d: %s", seed, n, diff)
		}
		switch {
		case want.Reason.Blocks():
			blocked++
		case brief.peers.known:
			looked++
		default:
			allowed++
		}
	}
	if allowed < 1000 || blocked < 1000 || looked < 1000 {
		t.Errorf("%d were allowed without a look, %d with one, %d blocked", allowed, looked, blocked)
	}
}

// TestAllThatThereIs is asked for in every window at once: until they all end together
// some of it is kept for the others somewhere.
func TestAllThatThereIs(t *testing.T) {
	const limit = 1e12 // in which a millisecond of a share is something
	var dims []plans.Dimension
	for _, w := range []quota.Window{quota.Monthly, quota.Hourly, quota.Weekly, quota.FiveHour, quota.Daily} {
		dims = append(dims, plans.Dimension{Unit: quota.Tokens, Window: w, Limit: limit})
	}
	q, c := crowded(plans.Guarantee, 10, 1, 90, dims...)
	q.Estimate[quota.Tokens] = limit
	var f Facts
	f.Gather(q, c, benchNow)
	got := f.Decide(benchNow).RetryMs
	const together = 5_040 * 3_600_000
	bucket, _ := windows.Bucket(benchNow, together)
	if want := (bucket+1)*together - 1 - benchNow; got != want {
		t.Errorf("%d ms, want %d", got, want)
	}
}

// TestABriefAskerHasItsHolds: with what it holds it is over its share, by what all used
// together already.
func TestABriefAskerHasItsHolds(t *testing.T) {
	q, c := crowded(plans.Guarantee, 10, 1, 1, crowdDims[0])
	h := Hold{Allocation: q.Allocation, End: benchNow + 1}
	h.Amounts[quota.Tokens] = q.Pool.Dimensions[0].Shares[q.Allocation]
	c.all = append(c.all, h)
	q.Brief = true
	var f Facts
	f.Gather(q, c, benchNow)
	if v := f.Judge(benchNow); v.Detail != "borrowed" || f.peers.known {
		t.Errorf("%v %s, looked at the keys: %v", v.Reason, v.Detail, f.peers.known)
	}
}
