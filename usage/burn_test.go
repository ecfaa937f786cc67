package usage

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

func TestEMA(t *testing.T) {
	for _, c := range []struct {
		name    string
		minutes []quota.Amount
		want    Rate
		ok      bool
	}{
		{"nothing", nil, 0, false},
		{"silence", make([]quota.Amount, Minutes), 0, false},
		{"one sample", []quota.Amount{0, 0, 6000}, 0, false},
		{"two samples", []quota.Amount{6000, 6000}, 100_000, true},
		{"silence before the first is no sample", []quota.Amount{0, 0, 6000, 6000}, 100_000, true},
		{"silence after it is", []quota.Amount{6000, 0}, 70_000, true},
		{"silence between is", []quota.Amount{6000, 0, 6000}, 79_000, true},
		{"the newer count more", []quota.Amount{0, 6000, 12_000}, 130_000, true},
		{"one step", []quota.Amount{1, 1}, 16, true},
		{"what falls reaches nothing", append([]quota.Amount{1}, make([]quota.Amount, 20)...), 0, true},
		{"a correction is no sample", []quota.Amount{-5, 6000, -6000}, 70_000, true},
		{"more than anybody uses", []quota.Amount{math.MaxInt64, math.MaxInt64}, maxMinute * 50 / 3, true},
	} {
		if got, ok := EMA(c.minutes); got != c.want || ok != c.ok {
			t.Errorf("%s: %d %v, want %d %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// TestEMAAgainstFractions: what is rounded off is less than 5 thousandths of a
// step in all, and never too much is shown.
func TestEMAAgainstFractions(t *testing.T) {
	amount := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 20), rapid.Int64Range(0, maxMinute))
	rapid.Check(t, func(t *rapid.T) {
		var minutes []quota.Amount
		var exact *big.Rat
		samples := 0
		for range rapid.IntRange(0, Minutes).Draw(t, "minutes") {
			n := amount.Draw(t, "amount")
			minutes = append(minutes, quota.Amount(n))
			x := new(big.Rat).Mul(big.NewRat(n, 60), big.NewRat(1000, 1))
			switch {
			case exact != nil:
				exact.Add(exact, x.Mul(x.Sub(x, exact), big.NewRat(3, 10)))
				samples++
			case n > 0:
				exact = x
				samples++
			}
		}
		got, ok := EMA(minutes)
		if ok != (samples >= 2) {
			t.Fatalf("%d samples: %v", samples, ok)
		}
		if !ok {
			exact = new(big.Rat)
		}
		lost := exact.Sub(exact, new(big.Rat).SetInt64(int64(got)))
		if lost.Sign() < 0 || lost.Cmp(big.NewRat(5, 1)) >= 0 {
			t.Fatalf("%d is %s thousandths of a step too little", got, lost.FloatString(3))
		}
	})
}

func TestExhaustion(t *testing.T) {
	for _, c := range []struct {
		name       string
		remaining  quota.Amount
		rate       Rate
		untilReset int64
		want       int64
		known      bool
	}{
		{"ten a second of a thousand", 1_000_000, 10_000_000, -1, 100_000, true},
		{"rounded up", 1_000_001, 10_000_000, -1, 100_001, true},
		{"nothing remains", 0, 10, -1, 0, true},
		{"less than nothing remains", -5, 10, 7, 0, true},
		{"nothing remains and nobody uses it", 0, 0, 7, 0, false},
		{"nobody uses it", 5, 0, 7, 0, false},
		{"a reset comes first", 1_000_000, 10_000_000, 99_999, 99_999, true},
		{"a reset comes later", 1_000_000, 10_000_000, 100_001, 100_000, true},
		{"it is reset now", 1_000_000, 10_000_000, 0, 0, true},
		{"for ever", math.MaxInt64, 1, -1, maxExhaustion, true},
	} {
		b := Burn{Rate: c.rate}
		if b.exhaust(c.remaining, c.untilReset); b.ExhaustionMs != c.want || b.HasExhaustion != c.known {
			t.Errorf("%s: %d %v, want %d %v", c.name, b.ExhaustionMs, b.HasExhaustion, c.want, c.known)
		}
	}
}

// TestExhaustionIsTheFirst: at that millisecond nothing remains, and one before
// it something does.
func TestExhaustionIsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		remaining, rate := rapid.Int64Range(1, 9e9).Draw(t, "remaining"), rapid.Int64Range(1, 1e12).Draw(t, "rate")
		b := Burn{Rate: Rate(rate)}
		b.exhaust(quota.Amount(remaining), -1)
		// used × 1e6, in steps
		used := func(ms int64) *big.Int { return new(big.Int).Mul(big.NewInt(ms), big.NewInt(rate)) }
		all := new(big.Int).Mul(big.NewInt(remaining), big.NewInt(1e6))
		if used(b.ExhaustionMs).Cmp(all) < 0 || used(b.ExhaustionMs-1).Cmp(all) >= 0 {
			t.Fatalf("%d ms for %d at %d", b.ExhaustionMs, remaining, rate)
		}
	})
}
