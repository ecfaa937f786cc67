package dialect

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTokens has the forms of a number, and what is none.
func TestTokens(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": -1, "7": 7, "7.0": 7, "7.000": 7, "1e2": 100, "1E+2": 100, "100e-2": 1, "0.5e1": 5, "12.50e1": 125,
		"0e9": 0, "0.0e-9": 0, "1e0": 1, "0e99999": 0, "0e-99999": 0,
		"200000.5": -1, "0.1": -1, "1e-1": -1, "15e-1": -1, "1e-99999": -1, "-1": -1, "-1e2": -1,
		"999999999999": most - 1, "1e12": most, "1000000000001": most, "1e13": most, "1e999": most, "1e99999": most,
		"99999999999999999999": most, "0.9e400": most, "10000000000000000000000.5": -1,
		"": -1, `"7"`: -1, `"100"`: -1, "true": -1, "null": -1, "{}": -1, "[7]": -1, "+7": -1, ".5": -1, ".5e1": -1, ".": -1, "e5": -1,
		"1e": -1, "1e+": -1, "1ee2": -1, "1e2.0": -1, "1-2": -1, "1.-": -1,
	} {
		got, ok := tokens([]byte(text))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s is %d, not %d", text, got, want)
		}
	}
}

// TestTokensTwin holds numbers to what math/big makes of them.
func TestTokensTwin(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,4}0{0,4})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		text := number.Draw(t, "number")
		twin, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%s is no number", text)
		}
		want := int64(most)
		if twin.Cmp(big.NewRat(most, 1)) < 0 {
			want = twin.Num().Int64()
		}
		whole := twin.IsInt() && !strings.HasPrefix(text, "-")
		if got, ok := tokens([]byte(text)); ok != whole || ok && got != want {
			t.Fatalf("%s is %d, %v, not %d, %v", text, got, ok, want, whole)
		}
	})
}

// TestChargeIsWithinAnEvent: no charge is larger than what an event may state.
func TestChargeIsWithinAnEvent(t *testing.T) {
	for _, tt := range []struct {
		text, prompt, want int64
	}{
		{4, most - 2, most - 1},
		{4, most - 1, most},
		{4, most, most},
		{8, most - 1, most},
		{4, math.MaxInt64, most},
		{math.MaxInt64 - 3, math.MaxInt64, most},
	} {
		r := Report{api: Chat, begun: true, Text: tt.text}
		if got, _ := r.Charge(tt.prompt); got != tt.want {
			t.Errorf("%d bytes of text after a prompt of %d are charged %d, not %d", tt.text, tt.prompt, got, tt.want)
		}
	}
	r := Report{api: Messages, begun: true, Whole: true, Usage: Usage{Total: most + 1}}
	if got, _ := r.Charge(0); got != most {
		t.Errorf("a total of %d is charged %d", r.Usage.Total, got)
	}
}
