package client

import (
	"fmt"

	"github.com/quotashare/quotashare/quota"
)

// USD is money in nano-dollars, as time.Duration is time in nanoseconds: what a
// call cost is tokens times the price of one, in whole numbers and exact.
//
//	perToken := 3 * client.Dollar / 1_000_000 // 3 dollars a million tokens
//	cost := client.USD(tokens) * perToken
type USD int64

// Sums of money.
const (
	NanoDollar  USD = 1
	MicroDollar     = 1000 * NanoDollar
	Cent            = 10_000 * MicroDollar
	Dollar          = 100 * Cent
)

// ParseUSD reads a decimal number of dollars, as in "0.0125", rounded half away
// from zero to a nano-dollar. It is an error when it is no number, or above a
// million dollars.
func ParseUSD(text string) (USD, error) {
	a, err := quota.ParseAmount(text, quota.USD)
	return USD(a), err
}

// String returns the dollars in exact decimal digits.
func (d USD) String() string { return quota.Amount(d).Format(quota.USD) }

// Percent is a part of a provider's limit, in millionths of a percentage point.
type Percent int64

// Point is one percentage point.
const Point Percent = 1_000_000

// ParsePercent reads a decimal number of percentage points, as in "62.5", rounded
// half away from zero to a millionth.
func ParsePercent(text string) (Percent, error) {
	a, err := quota.ParseAmount(text, quota.Percent)
	return Percent(a), err
}

// String returns the points in exact decimal digits.
func (p Percent) String() string { return quota.Amount(p).Format(quota.Percent) }

// Amounts is what a call will use or has used. An amount that is 0 is not said,
// which for all but requests means nothing.
type Amounts struct {
	Requests int64 // 0 = not said: 1 for a whole call and a hold, else none
	Tokens   int64
	USD      USD
	Percent  Percent

	// NoRequests says that it was no request at all, where leaving it out means one.
	NoRequests bool
	// Priced says that USD is the price, also when it is 0. Points that a provider
	// reports are split by price only when every call of its window had one.
	Priced bool
}

// exact returns the amounts in the engine's units, and which of them are said: bit
// 1<<unit. The error names the field that is too large.
func (a *Amounts) exact() (all quota.Amounts, given uint8, err error) {
	wholes := [...]int64{quota.Requests: a.Requests, quota.Tokens: a.Tokens}
	for u, n := range wholes {
		unit := quota.Unit(u)
		if most := int64(unit.Max()) / unit.Scale(); n > most || n < -most {
			return all, 0, fmt.Errorf("%s is beyond %d, the most that one amount may be", unit, most)
		}
		all[u] = quota.Amount(n * unit.Scale())
	}
	all[quota.USD], all[quota.Percent] = quota.Amount(a.USD), quota.Amount(a.Percent)
	for u, n := range all {
		if n != 0 {
			given |= 1 << u
		}
	}
	if a.NoRequests {
		given |= 1 << quota.Requests
	}
	if a.Priced {
		given |= 1 << quota.USD
	}
	return all, given, nil
}
