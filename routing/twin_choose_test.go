package routing_test

import (
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/routing"
)

// slowChoice makes a choice as it is described: sort, compare fractions, pay. It
// returns the order, the winner or -1, and the credits afterwards.
func slowChoice(list []routing.Candidate) (order []int, winner int, credits []int64) {
	gates := [4][]int{}
	for i, c := range list {
		g := 0
		switch full := c.MaxConcurrent > 0 && c.InFlight >= c.MaxConcurrent; {
		case c.Blocked:
			g = 3
		case full:
			g = 2
		case c.Saturated:
			g = 1
		}
		gates[g] = append(gates[g], i)
		credits = append(credits, c.Credit)
	}
	play := gates[0]
	if len(play) == 0 {
		play = gates[1]
	}
	winner = -1
	pools := map[int][]int{}
	for _, i := range play {
		pools[list[i].Pool] = append(pools[list[i].Pool], i)
	}
	for pool, turns := range pools {
		if pool == 0 {
			continue
		}
		slices.SortStableFunc(turns, func(a, b int) int {
			return int(list[b].Credit + list[b].Weight - list[a].Credit - list[a].Weight)
		})
		if pool == list[play[0]].Pool && len(turns) > 1 {
			a, b := list[turns[0]], list[turns[1]]
			if big.NewRat(b.InFlight, b.Weight).Cmp(big.NewRat(a.InFlight, a.Weight)) < 0 {
				turns[0], turns[1] = turns[1], turns[0]
			}
		}
	}
	next := map[int]int{}
	for k, i := range play {
		pool := list[i].Pool
		chosen := pools[pool][next[pool]]
		next[pool]++
		order = append(order, chosen)
		if k == 0 {
			winner = chosen
		}
	}
	if winner >= 0 && list[winner].Pool != 0 {
		for _, i := range pools[list[winner].Pool] {
			credits[i] += list[i].Weight
			credits[winner] -= list[i].Weight
		}
	}
	if len(gates[0]) > 0 {
		order = append(order, gates[1]...)
	}
	return append(append(order, gates[2]...), gates[3]...), winner, credits
}

func TestChoiceAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := make([]routing.Candidate, rapid.IntRange(0, 7).Draw(t, "candidates"))
		pools := rapid.IntRange(0, 2).Draw(t, "pools")
		for i := range list {
			list[i] = routing.Candidate{
				Pool:          rapid.IntRange(min(pools, 1), pools).Draw(t, "pool"),
				Weight:        rapid.Int64Range(1, 4).Draw(t, "weight"),
				Credit:        rapid.Int64Range(-5, 5).Draw(t, "credit"),
				MaxConcurrent: rapid.SampledFrom([]int64{0, 0, 0, 4, 6}).Draw(t, "maxConcurrent"),
				Saturated:     rapid.IntRange(0, 3).Draw(t, "saturated") == 3,
				Blocked:       rapid.IntRange(0, 5).Draw(t, "blocked") == 5,
			}
			if pools == 2 && rapid.IntRange(0, 3).Draw(t, "in no pool") == 3 {
				list[i].Pool = 0
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "choices") {
			order, winner, credits := slowChoice(list)
			c := routing.Choose(list)
			if c.Winner != winner {
				t.Fatalf("%d is chosen, the twin says %d: %+v", c.Winner, winner, list)
			}
			if d := cmp.Diff(order, c.Order(nil, list)); d != "" {
				t.Fatalf("order (-twin +got):\n%s", d)
			}
			c.Pay(list)
			for i := range list {
				if list[i].Credit != credits[i] {
					t.Fatalf("%d has credit %d, the twin says %d", i, list[i].Credit, credits[i])
				}
				if c.Winner == i || rapid.IntRange(0, 5).Draw(t, "more") == 5 {
					list[i].InFlight++
				} else if list[i].InFlight > 0 && rapid.IntRange(0, 3).Draw(t, "less") == 3 {
					list[i].InFlight--
				}
			}
		}
	})
}

// TestSharesWithinBounds: with nothing in flight everybody has what its weight says,
// within a few requests however long it goes on, and the credits return.
func TestSharesWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int64Range(1, 9), 1, 6).Draw(t, "weights")
		keep := rapid.Bool().Draw(t, "nothing is released")
		var sum int64
		for _, w := range weights {
			sum += w
		}
		list := pool(weights...)
		served := make([]int64, len(weights))
		for n := int64(1); n <= 20*sum; n++ {
			served[ask(list, 1, keep)[0]-'A']++
			for i, w := range weights {
				if off := served[i]*sum - n*w; off <= -3*sum || off >= 3*sum {
					t.Fatalf("after %d: %d of %d with weights %v", n, served[i], i, weights)
				}
				if !keep && list[i].Credit != n*w-served[i]*sum {
					t.Fatalf("credit %d of %d, want %d", list[i].Credit, i, n*w-served[i]*sum)
				}
			}
			if !keep && n%sum == 0 {
				for i := range list {
					if list[i].Credit != 0 {
						t.Fatalf("after %d rounds credit %d of %d", n/sum, list[i].Credit, i)
					}
				}
			}
		}
	})
}
