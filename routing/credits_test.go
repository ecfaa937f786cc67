package routing_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/routing"
)

func connections(ids ...string) []plans.Connection {
	list := make([]plans.Connection, len(ids))
	for i, id := range ids {
		list[i] = plans.Connection{ConnectionID: id, Weight: 1}
	}
	return list
}

func TestConnectionsComeAndGo(t *testing.T) {
	before := connections("a", "b", "c")
	for _, c := range []struct {
		what    string
		credits []int64
		after   []plans.Connection
		want    []int64
	}{
		{"nothing changes", []int64{3, -1, -2}, connections("a", "b", "c"), []int64{3, -1, -2}},
		{"the order does", []int64{3, -1, -2}, connections("c", "a", "b"), []int64{-2, 3, -1}},
		{"one comes", []int64{3, -1, -2}, connections("d", "a", "b", "c"), []int64{0, 3, -1, -2}},
		{"one leaves that was owed 4", []int64{-3, -1, 4}, connections("a", "b"), []int64{-1, 1}},
		{"one leaves that owed 3", []int64{1, 2, -3}, connections("a", "b"), []int64{0, 0}},
		{"one leaves for another", []int64{5, -2, -3}, connections("d", "b", "c"), []int64{0, 1, -1}},
		{"two leave", []int64{5, -2, -3}, connections("b"), []int64{0}},
		{"all leave", []int64{5, -2, -3}, connections("d", "e"), []int64{0, 0}},
		{"a large debt", []int64{routing.MaxCredit, -2, 2 - routing.MaxCredit}, connections("a", "b"), []int64{routing.MaxCredit/2 + 1, -routing.MaxCredit/2 - 1}},
	} {
		got := routing.MoveCredits(c.credits, before, c.after)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, d)
		}
	}
}

// TestTooLargeADebt cannot be carried on: then those that stay begin anew.
func TestTooLargeADebt(t *testing.T) {
	const most = routing.MaxCredit
	before, after := connections("a", "b", "c", "d"), connections("e", "b", "c", "d")
	for _, credits := range [][]int64{{most, most, -most, -most}, {-most, -most, most, most}} {
		if d := cmp.Diff([]int64{0, 0, 0, 0}, routing.MoveCredits(credits, before, after)); d != "" {
			t.Errorf("%v (-want +got):\n%s", credits, d)
		}
	}
}

func TestCheckCredits(t *testing.T) {
	for _, c := range []struct {
		credits []int64
		n       int
		want    string
	}{
		{nil, 0, ""},
		{[]int64{2, -2}, 2, ""},
		{[]int64{routing.MaxCredit, -routing.MaxCredit}, 2, ""},
		{[]int64{0}, 2, "credits: 1 for 2 connections"},
		{[]int64{2, -1}, 2, "credits: do not sum to 0"},
		{[]int64{1, -2}, 2, "credits: do not sum to 0"},
		{[]int64{routing.MaxCredit + 1, -1}, 2, "credits: 281474976710657 is beyond 281474976710656"},
		{[]int64{1, -routing.MaxCredit - 1}, 2, "credits: -281474976710657 is beyond 281474976710656"},
	} {
		got := ""
		if err := routing.CheckCredits(c.credits, c.n); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.credits, got, c.want)
		}
	}
	if !errors.Is(routing.CheckCredits([]int64{1}, 1), routing.ErrCredits) {
		t.Error("not ErrCredits")
	}
}

// TestOldDebtsAreForgiven: at the bound all in play begin anew, and the sum stays.
func TestOldDebtsAreForgiven(t *testing.T) {
	for _, c := range []struct{ credits, want []int64 }{
		{[]int64{routing.MaxCredit, -routing.MaxCredit, 0}, []int64{0, 0, 0}},
		{[]int64{routing.MaxCredit - 1, 3 - routing.MaxCredit, -2}, []int64{1, 1, -2}},
		{[]int64{routing.MaxCredit - 2, 1 - routing.MaxCredit, 1}, []int64{0, -1, 1}},
		{[]int64{routing.MaxCredit - 2, 2 - routing.MaxCredit, 0}, []int64{routing.MaxCredit, -routing.MaxCredit, 0}},
	} {
		list := pool(2, 2, 2)
		for i := range list {
			list[i].Credit = c.credits[i]
		}
		list[0].InFlight, list[2].Blocked = 1, true
		routing.Choose(list).Pay(list)
		if d := cmp.Diff(c.want, []int64{list[0].Credit, list[1].Credit, list[2].Credit}); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.credits, d)
		}
	}
}

// TestCreditsSumToNothing: whatever is chosen and whoever comes and goes. Who comes
// has 0, and between those that stay at most the rest of a division changes.
func TestCreditsSumToNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 7), 0, 6, rapid.ID[int])
		draw := func() (list []plans.Connection) {
			for _, id := range ids.Draw(t, "connections") {
				weight := rapid.SampledFrom([]int64{1, 2, 3, 100, 1000}).Draw(t, "weight")
				list = append(list, plans.Connection{ConnectionID: fmt.Sprint("c", id), Weight: weight})
			}
			return list
		}
		members := draw()
		credits := make([]int64, len(members))
		t.Repeat(map[string]func(*rapid.T){
			"choose": func(t *rapid.T) { choose(t, members, credits) },
			"change": func(t *rapid.T) {
				after := draw()
				moved := routing.MoveCredits(credits, members, after)
				checkMoved(t, members, after, credits, moved)
				members, credits = after, moved
			},
			"": func(t *rapid.T) {
				if err := routing.CheckCredits(credits, len(members)); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// choose makes one choice among the connections, in any condition.
func choose(t *rapid.T, members []plans.Connection, credits []int64) {
	list := make([]routing.Candidate, len(members))
	for i, m := range members {
		list[i] = routing.Candidate{
			Pool: 1, Weight: m.Weight, Credit: credits[i], InFlight: rapid.Int64Range(0, 3).Draw(t, "in flight"), MaxConcurrent: 3,
			Blocked: rapid.IntRange(0, 4).Draw(t, "blocked") == 4, Saturated: rapid.IntRange(0, 3).Draw(t, "saturated") == 3,
		}
	}
	routing.Choose(list).Pay(list)
	for i := range list {
		credits[i] = list[i].Credit
	}
}

func checkMoved(t *rapid.T, before, after []plans.Connection, had, got []int64) {
	changed := map[int64]bool{}
	var least, most int64
	for i, c := range after {
		was := -1
		for j := range before {
			if before[j].ConnectionID == c.ConnectionID {
				was = j
			}
		}
		if was < 0 {
			if got[i] != 0 {
				t.Fatalf("%s comes with %d", c.ConnectionID, got[i])
			}
			continue
		}
		by := got[i] - had[was]
		if len(changed) == 0 {
			least, most = by, by
		}
		changed[by] = true
		least, most = min(least, by), max(most, by)
	}
	if most-least > 1 {
		t.Fatalf("those that stay made up %v", changed)
	}
}
