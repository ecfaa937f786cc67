package client

import (
	"testing"

	"pgregory.net/rapid"
)

func TestMoneyIsExact(t *testing.T) {
	perToken := 3 * Dollar / 1_000_000
	if cost := USD(12_345) * perToken; cost.String() != "0.037035" {
		t.Errorf("12,345 tokens at 3 dollars a million cost %s", cost)
	}
	if Dollar.String() != "1" || Cent.String() != "0.01" || MicroDollar.String() != "0.000001" || NanoDollar.String() != "0.000000001" || Point.String() != "1" {
		t.Errorf("a dollar is %s, a cent %s, and so on", Dollar, Cent)
	}
	if _, err := ParseUSD("1000001"); err == nil {
		t.Error("a million and one dollars are one amount")
	}
	if p, err := ParsePercent("62.5"); err != nil || p != 62*Point+Point/2 {
		t.Errorf("62.5 is %s, %v", p, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := USD(rapid.Int64Range(-int64(1_000_000*Dollar), int64(1_000_000*Dollar)).Draw(t, "sum"))
		if back, err := ParseUSD(d.String()); err != nil || back != d {
			t.Fatalf("%d is %s is %d, %v", d, d, back, err)
		}
	})
}
