package routing_test

import (
	"testing"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

func TestCost(t *testing.T) {
	const token = 1_000 // steps
	for _, c := range []struct{ requests, tokens, want quota.Amount }{
		{1 * token, 0, 1_000 * token},
		{1 * token, 1, 1},
		{9 * token, 7 * token, 7 * token},
		{500, 0, 500 * token},
		{1, 0, 1 * token},
		{0, 0, 1_000 * token},
		{quota.Requests.Max(), 0, quota.Tokens.Max()},
		{0, quota.Tokens.Max(), quota.Tokens.Max()},
	} {
		estimate := quota.Amounts{quota.Requests: c.requests, quota.Tokens: c.tokens, quota.USD: 5}
		if got := routing.Cost(&estimate); got != c.want {
			t.Errorf("%d requests and %d tokens cost %d, want %d", c.requests, c.tokens, got, c.want)
		}
	}
}

func TestQuantum(t *testing.T) {
	for _, c := range []struct {
		weight quota.Ratio
		tokens quota.Amount
	}{
		{0, 1_000},
		{1, 1_000},
		{1e6, 1_000},
		{1_000_999, 1_000},
		{1_001_000, 1_001},
		{2_500_000, 2_500},
		{50e6, 50_000},
		{100e6, 100_000},
	} {
		if got := routing.Quantum(c.weight); got != c.tokens*1_000 {
			t.Errorf("weight %d has %d, want %d tokens", c.weight, got, c.tokens)
		}
	}
}
