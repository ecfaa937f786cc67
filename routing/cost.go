package routing

import "github.com/quotashare/quotashare/quota"

// What a request without tokens costs, and the least that a round gives a key, in
// whole tokens.
const perRequest, leastQuantum = 1000, 1000

// Cost returns what a request costs its key in the backlog, in tokens: those of the
// estimate, else 1,000 for each request, at most what one amount can be. An estimate
// of nothing at all costs as one request: what costs nothing would never leave its
// turn to anybody.
func Cost(estimate *quota.Amounts) quota.Amount {
	if tokens := estimate[quota.Tokens]; tokens > 0 {
		return tokens
	}
	// A request and a token have the same scale.
	if requests := estimate[quota.Requests]; requests > 0 {
		return min(perRequest*requests, quota.Tokens.Max())
	}
	return perRequest * quota.Amount(quota.Tokens.Scale())
}

// Quantum returns what a round gives a key of that weight, in tokens:
//
//	max(1,000, floor(1,000 × weight))
//
// A key without an allocation has weight 0.
func Quantum(weight quota.Ratio) quota.Amount {
	tokens := max(leastQuantum, 1000*int64(weight)/int64(quota.RatioOne))
	return quota.Amount(tokens * quota.Tokens.Scale())
}
