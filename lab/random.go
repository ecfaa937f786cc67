package lab

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// The numbers of keys that a pool by chance has.
const (
	fewestKeys = 2
	mostKeys   = 12
)

// Random draws a pool, the nth of a series in which the number of keys goes round from 2 to
// 12. Weights are from 1 to 100 before they are scaled to 100 together. Sizes of requests
// are a small part of the limit, in one pool within a factor of eight: 0.05 to 1.6 points.
//
// What a key does is drawn for every window anew. One of them, another each time, asks for
// a little more than all there is, evenly, so that there is never less asked for than the
// limit. Of the others, in eighteen windows
//
//	1 is spent in the same way
//	1 asks evenly for about its share, half of it to one and a half
//	1 has up to three bursts, each a whole to three times its share in a millisecond
//	2 begin late, at 0.60 to 0.97, with one and a half to three and a half times its share
//
// and 13 nothing happens. There is nothing natural in that mix: it is one in which shares
// matter, as is seen from first come, first served. Measured are all windows but the first.
func Random(nth int, r *rand.Rand) *Scenario {
	n := fewestKeys + nth%(mostKeys-fewestKeys+1)
	s := story(fmt.Sprintf("random %d", nth+1), fmt.Sprintf("%d keys, by chance", n), anyWeights(n, r))
	s.Windows, s.Retry = 8, 12_000
	base := onePercent / 20 << r.IntN(4)
	chances := make([]chance, n)
	for i := range s.Keys {
		chances[i] = chance{
			Rand: r, width: s.Window.Millis(), size: base << r.IntN(3),
			share: Whole * quota.Amount(s.Keys[i].Weight) / quota.Amount(100*quota.RatioOne),
		}
	}
	for w := range s.Windows {
		flood := r.IntN(n)
		for i := range s.Keys {
			s.Keys[i].Requests = chances[i].window(s.Keys[i].Requests, int64(w)*s.Window.Millis(), i == flood)
		}
	}
	return s
}

// anyWeights draws weights that come to 100 together, or a little less.
func anyWeights(n int, r *rand.Rand) []quota.Ratio {
	weights, sum := make([]quota.Ratio, n), quota.Ratio(0)
	for i := range weights {
		weights[i] = quota.Ratio(1 + r.Int64N(100))
		sum += weights[i]
	}
	for i := range weights {
		weights[i] = weights[i] * 100 * quota.RatioOne / sum
	}
	return weights
}

// chance is what a key's windows are drawn by.
type chance struct {
	*rand.Rand
	width       int64
	size, share quota.Amount
}

// window adds what the key asks for in a window.
func (c *chance) window(dst []Request, from int64, floods bool) []Request {
	end, kind := from+c.width, c.IntN(18)
	switch {
	case floods || kind == 0:
		return pour(dst, from, end, c.points(100, 120), c.size)
	case kind == 1:
		return pour(dst, from, end, c.shares(50, 150), c.size)
	case kind == 2:
		return c.bursts(dst, from)
	case kind <= 4:
		return pour(dst, from+c.width*(60+c.Int64N(38))/100, end, c.shares(150, 350), c.size)
	}
	return dst
}

// bursts adds one to three of them.
func (c *chance) bursts(dst []Request, from int64) []Request {
	at := make([]int64, 1+c.IntN(3))
	for i := range at {
		at[i] = from + c.Int64N(c.width)
	}
	slices.Sort(at)
	for _, t := range at {
		dst = pour(dst, t, t+1, c.shares(100, 300), c.size)
	}
	return dst
}

// points draws so many of the limit.
func (c *chance) points(low, high int64) quota.Amount {
	return onePercent * quota.Amount(low+c.Int64N(high-low+1))
}

// shares draws so many hundredths of the key's share.
func (c *chance) shares(low, high int64) quota.Amount {
	return c.share * quota.Amount(low+c.Int64N(high-low+1)) / 100
}
