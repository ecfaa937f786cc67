package fairshare

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// TestRetryAmongAgainstEach: of facts that were gathered once for the pool, the wait for
// one of some connections is the shortest of those that each would have alone; whatever
// was asked of the facts before, and with the holds listed once at most.
func TestRetryAmongAgainstEach(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		q, b := drawQuestion(t)
		q.Connection = AnyConnection
		waits := make([]int64, len(b.conns))
		for i := range waits {
			one := *q
			one.Connection = i
			ms, ok := gather(&one, b, rapidNow).RetryAfter(rapidNow)
			if waits[i] = ms; ok == (ms < 0) {
				t.Fatalf("%d ms and %v", ms, ok)
			}
		}
		counted := &counting{book: b}
		var f Facts
		f.Gather(q, counted, rapidNow)
		if rapid.Bool().Draw(t, "decided before") {
			f.Decide(rapidNow)
		}
		conns := rapid.Permutation(spanOf(len(waits)))
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			some := conns.Draw(t, "connections")
			some = some[:rapid.IntRange(1, len(some)).Draw(t, "of them")]
			want := int64(-1)
			for _, conn := range some {
				if w := waits[conn]; w >= 0 && (want < 0 || w < want) {
					want = w
				}
			}
			ms, ok := f.RetryAfterAmong(some, counted, rapidNow)
			if ms != want || ok != (want >= 0) {
				t.Fatalf("among %d of %d: %d ms, %v, want %d", some, waits, ms, ok, want)
			}
			note(seen, waits, want)
		}
		if counted.lists > 1 {
			t.Fatalf("the holds are listed %d times", counted.lists)
		}
		if want := decideSlowly(q, b).RetryMs; f.Decide(rapidNow).RetryMs != want {
			t.Fatalf("and then the pool lets wait another time than %d ms", want)
		}
	})
	for _, what := range []string{"now", "never", "later", "another is sooner"} {
		if seen[what] == 0 {
			t.Errorf("never %s, of %v", what, seen)
		}
	}
}

func spanOf(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// note counts what a wait is an example of.
func note(seen map[string]int, waits []int64, ms int64) {
	switch {
	case ms < 0:
		seen["never"]++
	case ms == 0:
		seen["now"]++
	default:
		seen["later"]++
		if least := slices.Min(waits); least >= 0 && least < ms {
			seen["another is sooner"]++
		}
	}
}

// TestAmongListsTheHoldsWhenItHasTo: a pool of which one connection is free has not listed
// them, and without their ends the wait for the other one would be that for counters.
//
// The provider says for 8 ms that the key used nothing, and that connection 1 is used up.
// Then the key has 45 points by our count and 60 held, of a share of 100, until the hold
// ends.
func TestAmongListsTheHoldsWhenItHasTo(t *testing.T) {
	q, b := oneAbove(2)
	q.Connection, b.holds[0].Amounts[quota.Percent] = AnyConnection, 60e6
	unseen(b, 45e6)
	bucket, _ := windows.Bucket(benchNow, quota.Hourly.Millis())
	b.conns[1].readings[quota.Hourly] = Reading{Current: Level{Used: 100e6, Until: benchNow + 8}, PartUntil: benchNow + 8}
	b.conns[1].total[quota.Percent][quota.Hourly] = windows.Counter{Index: bucket, Curr: 60e6}
	counted := &counting{book: b}
	var f Facts
	f.Gather(q, counted, benchNow)
	if counted.lists != 0 || f.Decide(benchNow).Connection != 0 {
		t.Fatalf("%d lists, and connection %d, want none and the first", counted.lists, f.Decide(benchNow).Connection)
	}
	for range 2 {
		if ms, ok := f.RetryAfterAmong([]int{1}, counted, benchNow); ms != 7_000 || !ok || counted.lists != 1 {
			t.Errorf("a wait of %d ms, %v, and %d lists, want 7000 and one", ms, ok, counted.lists)
		}
	}
}
