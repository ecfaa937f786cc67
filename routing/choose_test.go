package routing_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// pool makes candidates of one pool with nothing in flight.
func pool(weights ...int64) []routing.Candidate {
	list := make([]routing.Candidate, len(weights))
	for i, w := range weights {
		list[i] = routing.Candidate{Pool: 1, Weight: w}
	}
	return list
}

// ask makes n choices one after the other and names the winners A, B, C. What they
// take is released at once, unless it is kept.
func ask(list []routing.Candidate, n int, keep bool) string {
	var b strings.Builder
	for range n {
		c := routing.Choose(list)
		if c.Winner < 0 {
			b.WriteByte('-')
			continue
		}
		c.Pay(list)
		if keep {
			list[c.Winner].InFlight++
		}
		b.WriteByte('A' + byte(c.Winner))
	}
	return b.String()
}

func TestTurnsWithNothingInFlight(t *testing.T) {
	for _, c := range []struct {
		weights []int64
		want    string
	}{
		{[]int64{1, 1}, "ABABABAB"},
		{[]int64{100, 100}, "ABABABAB"},
		{[]int64{2, 1}, "ABAABAABA"},
		{[]int64{3, 1}, "AABAAABA"},
		{[]int64{5, 1, 1}, "AABACAAAABACAA"},
		{[]int64{1, 2, 3}, "CBACBCCBACBC"},
		{[]int64{7}, "AAA"},
		{[]int64{1, 1, 1}, "ABCABC"},
	} {
		if got := ask(pool(c.weights...), len(c.want), false); got != c.want {
			t.Errorf("weights %v: %s, want %s", c.weights, got, c.want)
		}
	}
}

// counts returns how often each was chosen.
func counts(sequence string, n int) []int64 {
	served := make([]int64, n)
	for i := range served {
		served[i] = int64(strings.Count(sequence, string(rune('A'+i))))
	}
	return served
}

func TestSharesWithNothingInFlight(t *testing.T) {
	if d := cmp.Diff([]int64{50, 10, 10}, counts(ask(pool(5, 1, 1), 70, false), 3)); d != "" {
		t.Errorf("5:1:1 (-want +got):\n%s", d)
	}
	weights, list := []int64{1, 2, 3}, pool(1, 2, 3)
	var sequence string
	for n := int64(1); n <= 600; n++ {
		sequence += ask(list, 1, false)
		for i, served := range counts(sequence, 3) {
			if off := served*6 - n*weights[i]; off <= -6 || off >= 6 {
				t.Fatalf("after %d: %d of %c, which is a whole request off", n, served, 'A'+i)
			}
		}
	}
}

// TestSharesWithNothingReleased: who has fewer holds for its weight is preferred, and
// the shares stay near the weights.
func TestSharesWithNothingReleased(t *testing.T) {
	for _, c := range []struct {
		weights []int64
		want    []int64
		within  int64
	}{
		{[]int64{2, 1}, []int64{200, 100}, 1},
		{[]int64{5, 1, 1}, []int64{500, 100, 100}, 2},
		{[]int64{1, 2, 3}, []int64{100, 200, 300}, 3},
		{[]int64{7, 3, 2, 1}, []int64{700, 300, 200, 100}, 3},
		{[]int64{1000, 1}, []int64{2000, 2}, 1},
	} {
		var n int64
		for _, w := range c.want {
			n += w
		}
		got := counts(ask(pool(c.weights...), int(n), true), len(c.weights))
		for i := range got {
			if off := got[i] - c.want[i]; off < -c.within || off > c.within || got[i] == 0 {
				t.Errorf("weights %v: %v of %v, want within %d", c.weights, got, c.want, c.within)
			}
		}
	}
}

// gated describes candidates in one word each: free, saturated, full, both, blocked.
func gated(words ...string) []routing.Candidate {
	list := pool(make([]int64, len(words))...)
	for i, w := range words {
		list[i].Weight = 1
		list[i].Saturated = w == "saturated" || w == "both"
		list[i].Blocked = w == "blocked"
		if w == "full" || w == "both" {
			list[i].InFlight, list[i].MaxConcurrent = 2, 2
		}
	}
	return list
}

func TestGates(t *testing.T) {
	for _, c := range []struct {
		words  string
		winner int
		gate   string
		order  []int
	}{
		{"free free", 0, "", []int{0, 1}},
		{"saturated free", 1, "", []int{1, 0}},
		{"full free", 1, "", []int{1, 0}},
		{"blocked free", 1, "", []int{1, 0}},
		{"blocked full saturated free both", 3, "", []int{3, 2, 1, 4, 0}},
		{"saturated saturated", 0, "saturated", []int{0, 1}},
		{"blocked full saturated", 2, "saturated", []int{2, 1, 0}},
		{"full full", -1, "capacity", []int{0, 1}},
		{"both full", -1, "capacity", []int{0, 1}},
		{"blocked full", -1, "capacity", []int{1, 0}},
		{"blocked blocked", -1, "blocked", []int{0, 1}},
		{"", -1, "none", nil},
	} {
		list := gated(strings.Fields(c.words)...)
		got := routing.Choose(list)
		if got.Winner != c.winner || got.Gate.String() != c.gate {
			t.Errorf("%s: %d by %q, want %d by %q", c.words, got.Winner, got.Gate, c.winner, c.gate)
		}
		if d := cmp.Diff(c.order, got.Order(nil, list)); d != "" {
			t.Errorf("%s: order (-want +got):\n%s", c.words, d)
		}
	}
}

// TestMaxConcurrent: up to it, and not one more.
func TestMaxConcurrent(t *testing.T) {
	list := pool(1, 1)
	list[0].MaxConcurrent, list[1].MaxConcurrent = 1, 3
	if got := ask(list, 6, true); got != "ABBB--" {
		t.Errorf("%s, want ABBB--", got)
	}
	list[0].InFlight--
	if got := ask(list, 2, true); got != "A-" {
		t.Errorf("after one ended: %s, want A-", got)
	}
}

// TestTheSaturatedTakeTurns: when there is nobody else, the choice is as always.
func TestTheSaturatedTakeTurns(t *testing.T) {
	if got := ask(gated("saturated", "full", "saturated"), 5, false); got != "ACACA" {
		t.Errorf("%s, want ACACA", got)
	}
}

// TestWhoIsGatedEarnsNothing: its credit is as before when it comes back.
func TestWhoIsGatedEarnsNothing(t *testing.T) {
	list := gated("free", "saturated", "free")
	if got := ask(list, 8, false); got != "ACACACAC" {
		t.Errorf("%s, want ACACACAC", got)
	}
	list[1].Saturated = false
	if got := ask(list, 6, false); got != "ABCABC" {
		t.Errorf("when it is back: %s, want ABCABC", got)
	}
}

// TestTwoChoices: only the second best may take the turn of the best, and only with
// fewer holds for its weight.
func TestTwoChoices(t *testing.T) {
	for _, c := range []struct {
		weights, flying []int64
		want            string
	}{
		{[]int64{1, 1, 1}, []int64{1, 1, 0}, "A"}, // C is third
		{[]int64{1, 1, 1}, []int64{1, 0, 0}, "B"},
		{[]int64{2, 1}, []int64{2, 1}, "A"}, // even for their weights
		{[]int64{2, 1}, []int64{3, 1}, "B"},
		{[]int64{1, 2}, []int64{0, 1}, "A"},
		{[]int64{1000, 999}, []int64{1_000_000, 999_000}, "A"},
		{[]int64{1000, 999}, []int64{1_000_000, 998_999}, "B"},
	} {
		list := pool(c.weights...)
		for i := range list {
			list[i].InFlight = c.flying[i]
		}
		if got := ask(list, 1, false); got != c.want {
			t.Errorf("weights %v with %v in flight: %s, want %s", c.weights, c.flying, got, c.want)
		}
	}
}

// TestTheWinnerPays, not the one whose turn it was.
func TestTheWinnerPays(t *testing.T) {
	list := pool(3, 2)
	list[0].InFlight = 5
	ask(list, 1, false)
	if list[0].Credit != 3 || list[1].Credit != -3 {
		t.Errorf("credits %d and %d, want 3 and -3", list[0].Credit, list[1].Credit)
	}
}

// TestSeveralPools: each takes turns in its own places, and who is in none stays.
func TestSeveralPools(t *testing.T) {
	list := []routing.Candidate{
		{Pool: 2, Weight: 1},
		{Pool: 0, Weight: 1000, InFlight: 7},
		{Pool: 1, Weight: 1},
		{Pool: 2, Weight: 3},
		{Pool: 1, Weight: 9},
	}
	c := routing.Choose(list)
	if d := cmp.Diff([]int{3, 1, 4, 0, 2}, c.Order(nil, list)); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	c.Pay(list)
	var credits []int64
	for i := range list {
		credits = append(credits, list[i].Credit)
	}
	if d := cmp.Diff([]int64{1, 0, 0, -1, 0}, credits); d != "" {
		t.Errorf("credits (-want +got):\n%s", d)
	}
	list[0], list[1] = list[1], list[0]
	if c = routing.Choose(list); c.Winner != 0 {
		t.Errorf("the first is in no pool and free, and %d was chosen", c.Winner)
	}
	c.Pay(list)
	if list[0].Credit != 0 {
		t.Error("who is in no pool paid")
	}
}

// TestOrderGoesByTurns: the winner, then who is nearest, though the winner was second.
func TestOrderGoesByTurns(t *testing.T) {
	list := pool(1, 2, 3, 3)
	list[2].InFlight = 1
	c := routing.Choose(list)
	if d := cmp.Diff([]int{9, 3, 2, 1, 0}, c.Order([]int{9}, list)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestScore(t *testing.T) {
	for _, c := range []struct{ given, factor, want int64 }{
		{1e6, 7e5, 7e5}, {1e6, 1e6, 1e6}, {0, 7e5, 0}, {1, 5e5, 1}, {1, 499_999, 0}, {1e12, 999_999, 999_999e6},
	} {
		if got := int64(routing.Score(quota.Ratio(c.given), quota.Ratio(c.factor))); got != c.want {
			t.Errorf("%d × %d: %d, want %d", c.given, c.factor, got, c.want)
		}
	}
}
