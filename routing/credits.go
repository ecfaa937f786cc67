package routing

import (
	"errors"
	"fmt"

	"github.com/quotashare/quotashare/plans"
)

// MaxCredit bounds a credit, so that no sum overflows: there are at most 10,000 of
// them. Only a connection that is passed over billions of times comes near; then
// those in play begin anew.
const MaxCredit = 1 << 48

// ErrCredits is what CheckCredits says of credits that do not sum to 0.
var ErrCredits = errors.New("credits: do not sum to 0")

// MoveCredits returns the credits of a pool whose connections change, each list in
// the pool's order. A connection that stays keeps its credit and one that comes
// begins with 0. What one that leaves takes along, those that stay make up for in
// equal parts: whose turn it is depends on differences alone, so nobody's turn
// changes. In proportion to the weights would be fair to the sums and would let
// those that stay jump the queue. What does not divide goes to the first, as ties do.
func MoveCredits(credits []int64, before, after []plans.Connection) []int64 {
	had := make(map[string]int64, len(before))
	for i, c := range before {
		had[c.ConnectionID] = credits[i]
	}
	moved := make([]int64, len(after))
	stay := make([]int, 0, len(after))
	var sum int64
	for i, c := range after {
		if credit, ok := had[c.ConnectionID]; ok {
			moved[i] = credit
			sum += credit
			stay = append(stay, i)
		}
	}
	p := partsOf(-sum, int64(len(stay)))
	beyond := false
	for _, i := range stay {
		moved[i] += p.next()
		beyond = beyond || moved[i] > MaxCredit || moved[i] < -MaxCredit
	}
	if beyond {
		clear(moved)
	}
	return moved
}

// CheckCredits returns an error unless they are the credits of n connections.
func CheckCredits(credits []int64, n int) error {
	if len(credits) != n {
		return fmt.Errorf("credits: %d for %d connections", len(credits), n)
	}
	var sum int64
	for _, c := range credits {
		if c > MaxCredit || c < -MaxCredit {
			return fmt.Errorf("credits: %d is beyond %d", c, int64(MaxCredit))
		}
		sum += c
	}
	if sum != 0 {
		return ErrCredits
	}
	return nil
}

// parts deals out a sum in parts that differ by at most 1, the larger ones first.
type parts struct{ each, larger int64 }

// partsOf divides downwards, so that the rest is never negative; of nothing among
// nobody there are no parts.
func partsOf(sum, n int64) parts {
	if n == 0 {
		return parts{}
	}
	each, rest := sum/n, sum%n
	if rest < 0 {
		each, rest = each-1, rest+n
	}
	return parts{each, rest}
}

func (p *parts) next() int64 {
	if p.larger > 0 {
		p.larger--
		return p.each + 1
	}
	return p.each
}
