package usage

import (
	"math"

	"github.com/quotashare/quotashare/quota"
)

// Minutes is how many complete minutes before an instant a burn rate looks at.
const Minutes = 60

// MinuteMs is the length of a minute row in milliseconds.
const MinuteMs = 60_000

// Rate is an amount per second in thousandths of its unit's step. It is never
// negative.
type Rate int64

// rateDigits are the decimals of a rate beyond those of its unit.
const rateDigits = 3

// maxMinute bounds what one minute counts for, so that no step below passes
// int64: 1.8e16 steps are 18 million usd in one minute.
const maxMinute = math.MaxInt64 / 500

// EMA returns the exponential moving average, alpha 0.3, of the amounts of
// complete minutes, the oldest first. The first minute with consumption is the
// first sample; from there on every minute is one, with consumption or without,
// because the rate of an account that fell silent must fall. Fewer than two
// samples give no rate: 0 and false.
//
// With x the sample, in thousandths of a step per second, and all values ≥ 0
//
//	x    = floor(amount × 1000 / 60) = floor(amount × 50 / 3)
//	next = floor((7 × old + 3 × x) / 10)   = old + floor(3 × (x − old) / 10)
//
// Floored, a rate without consumption reaches 0; rounded toward the old value it
// would stay at 3 for ever. Each floor loses less than 1 and what was lost before
// counts 7/10, so the sum of all is less than 1 + 1/(1 − 0.7) < 5 thousandths of
// a step.
func EMA(minutes []quota.Amount) (r Rate, ok bool) {
	for len(minutes) > 0 && minutes[0] <= 0 {
		minutes = minutes[1:]
	}
	if len(minutes) < 2 {
		return 0, false
	}
	r = sample(minutes[0])
	for _, m := range minutes[1:] {
		r = (7*r + 3*sample(m)) / 10
	}
	return r, true
}

func sample(amount quota.Amount) Rate { return Rate(min(max(amount, 0), maxMinute) * 50 / 3) }

// Burn is how fast something is used and how long it will last.
type Burn struct {
	Rate          Rate
	ExhaustionMs  int64 // the wait until nothing remains at this rate
	HasExhaustion bool  // false = unknown: no rate, or no limit
}

// maxExhaustion is the longest wait shown, 285 thousand years: the largest
// integer that every reader of JSON holds exactly.
const maxExhaustion = 1<<53 - 1

// exhaust sets the first whole millisecond after which nothing of what remains
// is left at the rate:
//
//	ceil(remaining steps × 1e6 / thousandths of a step per second)
//
// Without a rate it is unknown, even when nothing remains: that is not the rate's
// doing. A reset that comes earlier ends the wait: from then on there is a new
// quota to use. untilReset < 0 means none.
func (b *Burn) exhaust(remaining quota.Amount, untilReset int64) {
	b.ExhaustionMs, b.HasExhaustion = 0, b.Rate > 0
	if !b.HasExhaustion || remaining <= 0 {
		return
	}
	b.ExhaustionMs = min(mulDivUp(int64(remaining), 1e6, int64(b.Rate)), maxExhaustion)
	if untilReset >= 0 {
		b.ExhaustionMs = min(b.ExhaustionMs, untilReset)
	}
}
