package fairshare

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

// state is a question and what it is asked of.
type state struct {
	q *Question
	b *book
}

// anyState draws states, one in three of them asked by pool.
var anyState = rapid.Custom(func(t *rapid.T) state {
	q, b := drawQuestion(t)
	if rapid.IntRange(0, 2).Draw(t, "by pool") == 0 {
		q.Connection = AnyConnection
	}
	return state{q, b}
})

// TestAskedAgain asks blocked questions again at the instant they were told, and a
// millisecond earlier, of facts gathered anew from the sums of those instants: the
// first is judged allow, the second is not.
func TestAskedAgain(t *testing.T) {
	seen := map[string]int{}
	var f Facts // of one question after the other, as it is used
	const states = 10_000
	for seed, blocked := 0, 0; blocked < states; seed++ {
		s := anyState.Example(seed)
		f.Gather(s.q, s.b, rapidNow)
		a := f.Decide(rapidNow)
		if !a.Reason.Blocks() {
			continue
		}
		blocked++
		at := rapidNow + a.RetryMs
		if a.RetryMs < 0 {
			seen["never"]++
			at = 1 << 50
		}
		f.Gather(s.q, s.b, at)
		if v := f.Judge(at); v.Reason.Blocks() == (a.RetryMs >= 0) {
			t.Fatalf("state %d: %v now, wait %d ms, then %v", seed, a.Reason, a.RetryMs, v.Reason)
		}
		f.Gather(s.q, s.b, at-1)
		if v := f.Judge(at - 1); !v.Reason.Blocks() {
			t.Fatalf("state %d: %v now, wait %d ms, but %v 1 ms earlier", seed, a.Reason, a.RetryMs, v.Reason)
		}
		s.note(seen, a, at)
	}
	for _, what := range []string{
		"never", "fair-share", "global-saturated", "cap-absolute", "model-cap", "capacity", "observed",
		"by pool", "of all others", "ended by room", "ended by a place", "ended by a hold",
	} {
		if seen[what] < states/100 {
			t.Errorf("only %d times %s", seen[what], what)
		}
	}
}

// note counts what the state is an example of.
func (s state) note(seen map[string]int, a Answer, at int64) {
	seen[a.Reason.String()]++
	for what, is := range map[string]bool{
		"observed": a.Observe, "by pool": s.q.Connection == AnyConnection, "ended by room": at == s.q.RoomAt, "ended by a place": slices.Contains(s.q.PlaceAt, at),
		"of all others": s.q.Allocation >= 0 && s.q.Pool.Pool.Allocations[s.q.Allocation].APIKeyID == quota.AllOthers,
	} {
		if is {
			seen[what]++
		}
	}
	for _, h := range s.b.holds {
		if h.End == at {
			seen["ended by a hold"]++
			return
		}
	}
}
