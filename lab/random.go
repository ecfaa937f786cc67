package lab

import (
	"math/rand/v2"

	"github.com/quotashare/quotashare/quota"
)

// Random draws a pool of 2 to 12 keys that want more than there is.
func Random(r *rand.Rand) *Scenario {
	n := 2 + r.IntN(11)
	s := story("random", "a pool by chance", equal(n))
	s.Windows = 5
	for i := range s.Keys {
		size := onePercent / 10
		s.Keys[i].Requests = later(s, r.Int64N(80), 100, quota.Amount(1+r.Int64N(int64(Whole))), size)
	}
	return s
}
