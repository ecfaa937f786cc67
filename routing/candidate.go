package routing

import "github.com/quotashare/quotashare/quota"

// Candidate is a connection that a request may be sent to, as it is at the moment of
// the choice.
type Candidate struct {
	// Pool numbers the pools among the candidates, from 1. Those of one pool take
	// turns in the places that they have in the list; one in no pool, 0, keeps its own.
	Pool          int
	Weight        int64 // 1..1,000
	Credit        int64 // of its pool's credits; Choice.Pay changes it
	InFlight      int64 // open holds on the connection, of whatever pool and key
	MaxConcurrent int64 // 0 = none
	Blocked       bool  // the request may not use it
	Saturated     bool  // its provider says that 5h, weekly or rate is used up
}

// Gate is how far a candidate comes, the foremost first.
type Gate uint8

// The gates, in the order in which candidates are listed. None is the gate of an
// empty list. One that is saturated and at its maxConcurrent is at Capacity: that is
// why it is not taken.
const (
	Free Gate = iota
	Saturated
	Capacity
	Blocked
	None
)

var gates = [...]string{Free: "", Saturated: "saturated", Capacity: "capacity", Blocked: "blocked", None: "none"}

// String returns the gate's name on the wire; Free has none.
func (g Gate) String() string { return gates[g] }

// Gate returns how far the candidate comes.
func (c *Candidate) Gate() Gate {
	switch {
	case c.Blocked:
		return Blocked
	case c.MaxConcurrent > 0 && c.InFlight >= c.MaxConcurrent:
		return Capacity
	case c.Saturated:
		return Saturated
	}
	return Free
}

// Score returns the score that a caller gave to a candidate after the factor of a
// verdict, rounded half up: the factor comes last, after all of the caller's own.
// Scores are 0 to a million and factors 0 to 1, so the product fits.
func Score(given, factor quota.Ratio) quota.Ratio {
	return (given*factor + quota.RatioOne/2) / quota.RatioOne
}
