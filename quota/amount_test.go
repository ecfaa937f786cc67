package quota

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseAmount(t *testing.T) {
	for _, c := range []struct {
		text string
		unit Unit
		want Amount
		err  error
	}{
		{"0", Tokens, 0, nil},
		{"-0", Tokens, 0, nil},
		{"-0.0", Tokens, 0, nil},
		{"1", Tokens, 1_000, nil},
		{"1.5", Requests, 1_500, nil},
		{"-1.5", Requests, -1_500, nil},
		{"1e3", Tokens, 1_000_000, nil},
		{"1E+3", Tokens, 1_000_000, nil},
		{"12e-1", Tokens, 1_200, nil},
		{"0.0004999999999999999999999999999999999999999", Tokens, 0, nil},
		{"0.0005", Tokens, 1, nil}, // half away from zero
		{"-0.0005", Tokens, -1, nil},
		{"-0.00049", Tokens, 0, nil},
		{"0.9995", Tokens, 1_000, nil},
		{"0.1234567894", USD, 123_456_789, nil},
		{"0.1234567895", USD, 123_456_790, nil},
		{"99.9999995", Percent, 100_000_000, nil},
		{"1e-30", Tokens, 0, nil},
		{"0e30", Tokens, 0, nil},
		{"0.0000000000000000000000000001e30", Tokens, 100_000, nil},
		{"1000000000000", Tokens, 1e15, nil},
		{"1e12", Requests, 1e15, nil},
		{"-1e12", Requests, -1e15, nil},
		{"1000000000000.001", Tokens, 0, ErrNumberRange},
		{"-1000000000000.001", Tokens, 0, ErrNumberRange},
		{"1000000", USD, 1e15, nil},
		{"1000000.000000001", USD, 0, ErrNumberRange},
		{"1e12", Percent, 1e18, nil},
		{"1e30", Tokens, 0, ErrNumberRange},
		{strings.Repeat("9", 40), Tokens, 0, ErrNumberRange},
		{"1." + strings.Repeat("0", 40), Tokens, 1_000, nil},
		{"1e31", Tokens, 0, ErrNumberExp},
		{"1e-31", Tokens, 0, ErrNumberExp},
		{"1e400", Tokens, 0, ErrNumberExp},
		{"0e400", Tokens, 0, ErrNumberExp},
		{"1e999999999", Tokens, 0, ErrNumberExp},
		{"1e-99999999999999999999", Tokens, 0, ErrNumberExp},
		{strings.Repeat("1", 64), Tokens, 0, ErrNumberRange},
		{strings.Repeat("1", 65), Tokens, 0, ErrNumberLength},
	} {
		got, err := ParseAmount(c.text, c.unit)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("ParseAmount(%q, %v) = %d, %v; want %d, %v", c.text, c.unit, got, err, c.want, c.err)
		}
	}
}

func TestParseFixedRefuses(t *testing.T) {
	for _, text := range []string{
		"", "-", "+1", "01", "-01", "00", ".5", "5.", "1.e3", "1e", "1e+", "e3", "--1", "1-", " 1", "1 ", "1,5",
		"0x10", "1_000", "NaN", "Infinity", "-Infinity", "null", "١", "1.2.3", "1e3.0", "1e3e3", "\x001",
	} {
		if v, _, err := ParseFixed(text, 3); !errors.Is(err, ErrNotNumber) {
			t.Errorf("ParseFixed(%q) = %d, %v", text, v, err)
		}
	}
}

func TestParseRatioAndInt(t *testing.T) {
	if r, err := ParseRatio("33.333333"); r != 33_333_333 || err != nil {
		t.Errorf("%d, %v", r, err)
	}
	if _, err := ParseRatio("33.3333333"); !errors.Is(err, ErrNumberDecimal) {
		t.Errorf("seven decimals: %v", err)
	}
	if r, err := ParseRatio("0.50000000000"); r != RatioOne/2 || err != nil {
		t.Errorf("zeros are no decimals: %d, %v", r, err)
	}
	if n, err := ParseInt("1e3"); n != 1000 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := ParseInt("1.0"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := ParseInt("1.5"); !errors.Is(err, ErrNumberDecimal) {
		t.Errorf("a fraction: %v", err)
	}
	if _, err := ParseInt("x"); !errors.Is(err, ErrNotNumber) {
		t.Errorf("no number: %v", err)
	}
}

func TestAppendFixed(t *testing.T) {
	for _, c := range []struct {
		v      int64
		digits int
		want   string
	}{
		{0, 3, "0"},
		{1, 3, "0.001"},
		{-1, 3, "-0.001"},
		{1000, 3, "1"},
		{1500, 3, "1.5"},
		{1050, 3, "1.05"},
		{-1_000_000_001, 9, "-1.000000001"},
		{42, 0, "42"},
		{math.MaxInt64, 9, "9223372036.854775807"},
		{math.MinInt64, 3, "-9223372036854775.808"},
	} {
		if got := string(AppendFixed([]byte("x"), c.v, c.digits)); got != "x"+c.want {
			t.Errorf("AppendFixed(%d, %d) = %s", c.v, c.digits, got)
		}
	}
	if got := Ratio(700_000).String(); got != "0.7" {
		t.Errorf("ratio %s", got)
	}
	if n, whole := Amount(1_500).Whole(Tokens); n != 1 || whole {
		t.Errorf("1.5 tokens: %d, %v", n, whole)
	}
	if n, whole := Amount(-2_000).Whole(Tokens); n != -2 || !whole {
		t.Errorf("-2 tokens: %d, %v", n, whole)
	}
}

// roundedTwin is text × 10^digits, rounded half away from zero, by math/big.
func roundedTwin(text string, digits int) (*big.Int, bool, bool) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, false, false
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)))
	exact := r.IsInt()
	neg := r.Sign() < 0
	r.Abs(r)
	r.Add(r, big.NewRat(1, 2))
	v := new(big.Int).Quo(r.Num(), r.Denom())
	if neg {
		v.Neg(v)
	}
	return v, exact, true
}

// checkAgainstTwin compares ParseFixed with the twin for a text in the grammar
// and within the bounds of length and exponent.
func checkAgainstTwin(t interface{ Fatalf(string, ...any) }, text string, digits int) {
	v, exact, err := ParseFixed(text, digits)
	want, wantExact, ok := roundedTwin(text, digits)
	if !ok {
		t.Fatalf("%q is a number to us, to big.Rat it is none", text)
	}
	room := new(big.Int).Abs(want).Cmp(big.NewInt(math.MaxInt64-20)) < 0
	switch {
	case errors.Is(err, ErrNumberRange) && !room:
	case err != nil || !want.IsInt64() || v != want.Int64() || exact != wantExact:
		t.Fatalf("ParseFixed(%q, %d) = %d, %v, %v; want %v, %v", text, digits, v, exact, err, want, wantExact)
	}
}

func TestParseFixedAgainstTwin(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,24})?([eE][+-]?[0-2]?[0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		checkAgainstTwin(t, number.Draw(t, "number"), rapid.SampledFrom([]int{0, 3, 6, 9}).Draw(t, "digits"))
	})
}

func TestAmountRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := Unit(rapid.IntRange(0, NumUnits-1).Draw(t, "unit"))
		a := Amount(rapid.Int64Range(-int64(u.Max()), int64(u.Max())).Draw(t, "amount"))
		text := a.Format(u)
		if back, err := ParseAmount(text, u); back != a || err != nil {
			t.Fatalf("%d → %s → %d, %v", a, text, back, err)
		}
		if strings.Contains(text, ".") && strings.HasSuffix(text, "0") {
			t.Fatalf("trailing zero in %s", text)
		}
	})
}

func TestAddSat(t *testing.T) {
	edge := rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1})
	any64 := rapid.OneOf(edge, rapid.Int64())
	rapid.Check(t, func(t *rapid.T) {
		a, b := any64.Draw(t, "a"), any64.Draw(t, "b")
		want := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		if want.Cmp(big.NewInt(math.MaxInt64)) > 0 {
			want.SetInt64(math.MaxInt64)
		}
		if want.Cmp(big.NewInt(math.MinInt64)) < 0 {
			want.SetInt64(math.MinInt64)
		}
		if got := AddSat(Amount(a), Amount(b)); int64(got) != want.Int64() {
			t.Fatalf("AddSat(%d, %d) = %d, want %v", a, b, got, want)
		}
	})
}

// FuzzParseFixed: whatever the text, no panic and no wrong number; what we take
// is JSON's number grammar, and its value is that of math/big.
func FuzzParseFixed(f *testing.F) {
	for _, seed := range []string{"0", "-0", "1.5", "0.0005", "1e30", "-12.5e-3", "1e999999999", strings.Repeat("9", 40), "01", "NaN", ""} {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, digits uint8) {
		d := int(digits % 10)
		_, _, err := ParseFixed(text, d)
		if err == nil || errors.Is(err, ErrNumberRange) {
			checkAgainstTwin(t, text, d)
		}
	})
}
