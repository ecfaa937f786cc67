package routing

import (
	"cmp"
	"slices"
)

// Choice is what came of a list of candidates.
type Choice struct {
	// Winner is the index of the one that is chosen, -1 when nobody is.
	Winner int
	// Gate is that of the foremost candidate, and says why it is not Free: with Free
	// or Saturated there is a winner; with Capacity the request may wait, with Blocked
	// it may go nowhere, and with None there was nowhere to go.
	Gate Gate
}

// Choose makes the choice, and changes nothing: see Choice.Pay.
func Choose(list []Candidate) Choice {
	c := Choice{Winner: -1, Gate: None}
	for i := range list {
		if g := list[i].Gate(); g < c.Gate {
			c.Winner, c.Gate = i, g
		}
	}
	switch {
	case c.Gate > Saturated:
		c.Winner = -1
	case list[c.Winner].Pool != 0:
		c.Winner = c.winner(list, c.Winner)
	}
	return c
}

// winner returns who of the pool of the first in play is next.
func (c Choice) winner(list []Candidate, first int) int {
	best, second := first, -1
	for i := first + 1; i < len(list); i++ {
		switch x := &list[i]; {
		case x.Pool != list[first].Pool || x.Gate() != c.Gate:
		case x.due() > list[best].due():
			best, second = i, best
		case second < 0 || x.due() > list[second].due():
			second = i
		}
	}
	if second >= 0 && list[second].lighter(&list[best]) {
		return second
	}
	return best
}

// due is the credit that the candidate has in a round that it takes part in.
func (c *Candidate) due() int64 { return c.Credit + c.Weight }

// lighter reports whether c has fewer holds for its weight than o:
//
//	h_c / w_c < h_o / w_o, multiplied out
func (c *Candidate) lighter(o *Candidate) bool { return c.InFlight*o.Weight < o.InFlight*c.Weight }

// Pay settles the round: everybody of the winner's pool who was in play gains its
// weight, and the winner pays the sum. The caller then stores their credits. A
// choice without a winner, or of a connection in no pool, costs nothing.
func (c Choice) Pay(list []Candidate) {
	if c.Winner < 0 || list[c.Winner].Pool == 0 {
		return
	}
	var sum int64
	beyond := false
	for i := range list {
		if x := &list[i]; c.inPlay(list, x) {
			sum += x.Weight
			x.Credit += x.Weight
			beyond = beyond || x.Credit > MaxCredit
		}
	}
	list[c.Winner].Credit -= sum
	if beyond || list[c.Winner].Credit < -MaxCredit {
		c.level(list)
	}
}

// inPlay reports whether x takes part in the winner's round.
func (c Choice) inPlay(list []Candidate, x *Candidate) bool {
	return x.Pool == list[c.Winner].Pool && x.Gate() == c.Gate
}

// level lets those in play begin anew, without changing the sum of their credits.
func (c Choice) level(list []Candidate) {
	var sum, n int64
	for i := range list {
		if x := &list[i]; c.inPlay(list, x) {
			sum, n = sum+x.Credit, n+1
		}
	}
	p := partsOf(sum, n)
	for i := range list {
		if x := &list[i]; c.inPlay(list, x) {
			x.Credit = p.next()
		}
	}
}

// Order appends the indices of all candidates to dst in the order in which they are
// to be tried, the winner first. It is for the reply; ask before Pay. Those in play
// are ordered by whose turn is nearest, pool by pool within the places that the pool
// has in the list; all others keep the order given.
func (c Choice) Order(dst []int, list []Candidate) []int {
	start := len(dst)
	for i := range list {
		dst = append(dst, i)
	}
	order := dst[start:]
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[a].Gate(), list[b].Gate()) })
	if c.Winner < 0 {
		return dst
	}
	n := 0
	for n < len(order) && list[order[n]].Gate() == c.Gate {
		n++
	}
	c.takeTurns(order[:n], list)
	return dst
}

// takeTurns puts each pool's candidates into their turns, in the places they have.
// Both lists below are in order of pools, so the k-th place is for the k-th turn.
func (c Choice) takeTurns(order []int, list []Candidate) {
	turns := slices.Clone(order)
	slices.SortStableFunc(turns, func(a, b int) int {
		x, y := &list[a], &list[b]
		if d := cmp.Compare(x.Pool, y.Pool); d != 0 || x.Pool == 0 {
			return d
		}
		return cmp.Or(compareBool(b == c.Winner, a == c.Winner), cmp.Compare(y.due(), x.due()))
	})
	places := make([]int, len(order))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(list[order[a]].Pool, list[order[b]].Pool) })
	for k, place := range places {
		order[place] = turns[k]
	}
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
