package quota

import (
	"errors"
	"math"
	"strconv"
)

// Amount is a quantity of some unit, counted in that unit's smallest step
// (Unit.Scale steps are one whole). The unit travels beside it.
type Amount int64

// Amounts holds one amount per unit.
type Amounts [NumUnits]Amount

// Ratio is a share of one in millionths: a threshold, a factor, or a weight
// (then in millionths of a weight point). At most 6 decimals.
type Ratio int64

// RatioDigits and RatioOne are the decimals of a Ratio and its 1.
const (
	RatioDigits = 6
	RatioOne    = Ratio(1e6)
)

// Errors of the number forms. They say what is wrong with the text; the caller
// adds the field's name.
var (
	ErrNotNumber     = errors.New("is not a number")
	ErrNumberLength  = errors.New("has more than 64 characters")
	ErrNumberExp     = errors.New("has an exponent beyond ±30")
	ErrNumberRange   = errors.New("is too large")
	ErrNumberDecimal = errors.New("has too many decimals")
)

const (
	maxNumberLength = 64
	maxExponent     = 30
)

// ParseAmount reads a number in JSON grammar, at most 64 characters with an
// exponent within ±30, rounded half away from zero to the unit's step. An
// amount beyond ±Unit.Max is ErrNumberRange. Time and memory are bounded by
// the text's length, whatever the exponent says.
func ParseAmount(text string, u Unit) (Amount, error) {
	v, _, err := ParseFixed(text, u.Digits())
	if err != nil {
		return 0, err
	}
	if a := Amount(v); a <= u.Max() && a >= -u.Max() {
		return a, nil
	}
	return 0, ErrNumberRange
}

// ParseRatio reads a ratio; more than 6 decimals are ErrNumberDecimal, because
// a silently rounded weight would not be the weight somebody set.
func ParseRatio(text string) (Ratio, error) {
	v, exact, err := ParseFixed(text, RatioDigits)
	if err != nil {
		return 0, err
	}
	if !exact {
		return 0, ErrNumberDecimal
	}
	return Ratio(v), nil
}

// ParseInt reads a whole number; a fraction is ErrNumberDecimal.
func ParseInt(text string) (int64, error) {
	v, exact, err := ParseFixed(text, 0)
	if err != nil {
		return 0, err
	}
	if !exact {
		return 0, ErrNumberDecimal
	}
	return v, nil
}

// ParseFixed reads a number in JSON grammar as an integer count of 10^-digits,
// rounded half away from zero; exact is false when something was rounded off.
//
// The digits d1…dn with a point after p of them stand for 0.d1…dn × 10^p, so
// the result is the first p+exponent+digits of them, padded with zeros, and
// the next one alone decides the rounding. math/big would do the same, but
// builds 10^exponent first.
func ParseFixed(text string, digits int) (v int64, exact bool, err error) {
	if len(text) > maxNumberLength {
		return 0, false, ErrNumberLength
	}
	n, ok := scanNumber(text)
	if !ok {
		return 0, false, ErrNotNumber
	}
	if n.exp > maxExponent || n.exp < -maxExponent {
		return 0, false, ErrNumberExp
	}
	keep := n.point + n.exp + digits
	exact = true
	for i := range n.n {
		d := int64(n.digits[i])
		switch {
		case i < keep:
			if v, ok = shift(v, d); !ok {
				return 0, false, ErrNumberRange
			}
		case d != 0:
			exact = false
		}
	}
	for i := n.n; i < keep && v != 0; i++ {
		if v, ok = shift(v, 0); !ok {
			return 0, false, ErrNumberRange
		}
	}
	if keep >= 0 && keep < n.n && n.digits[keep] >= 5 {
		v++ // shift leaves room for this one
	}
	if n.neg {
		v = -v
	}
	return v, exact, nil
}

// shift appends the decimal digit d to v, as long as one more step still fits.
func shift(v, d int64) (int64, bool) {
	const limit = (1<<63 - 1 - 10) / 10
	if v > limit {
		return 0, false
	}
	return v*10 + d, true
}

// number is a scanned JSON number: ±0.digits × 10^(point+exp).
type number struct {
	digits [maxNumberLength]byte
	n      int
	point  int
	exp    int
	neg    bool
}

// scanNumber reads the JSON number grammar
// -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func scanNumber(s string) (n number, ok bool) {
	i := 0
	if i < len(s) && s[i] == '-' {
		n.neg = true
		i++
	}
	start := i
	i = n.takeDigits(s, i)
	n.point = n.n
	if i == start || (s[start] == '0' && i-start > 1) {
		return n, false
	}
	if i < len(s) && s[i] == '.' {
		start = i + 1
		if i = n.takeDigits(s, start); i == start {
			return n, false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		if n.exp, i, ok = scanExponent(s, i+1); !ok {
			return n, false
		}
	}
	return n, i == len(s)
}

func (n *number) takeDigits(s string, i int) int {
	for ; i < len(s) && isDigit(s[i]); i++ {
		n.digits[n.n] = s[i] - '0'
		n.n++
	}
	return i
}

// scanExponent reads an exponent from its text and stops counting beyond the
// bound, so "1e999999999" costs nine steps and not a gigabyte.
func scanExponent(s string, i int) (exp, end int, ok bool) {
	neg := false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		neg = s[i] == '-'
		i++
	}
	start := i
	for ; i < len(s) && isDigit(s[i]); i++ {
		exp = min(exp*10+int(s[i]-'0'), 1000)
	}
	if neg {
		exp = -exp
	}
	return exp, i, i > start
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Append appends the amount's exact decimal digits in unit u: no exponent, no
// trailing zeros, a leading zero before the point.
func (a Amount) Append(dst []byte, u Unit) []byte {
	return AppendFixed(dst, int64(a), u.Digits())
}

// Format returns what Append appends.
func (a Amount) Format(u Unit) string { return string(a.Append(nil, u)) }

// Whole reports whether the amount has no fraction in unit u, and its wholes.
func (a Amount) Whole(u Unit) (int64, bool) {
	return int64(a) / u.Scale(), int64(a)%u.Scale() == 0
}

// Append appends the ratio's exact decimal digits.
func (r Ratio) Append(dst []byte) []byte { return AppendFixed(dst, int64(r), RatioDigits) }

// String returns what Append appends.
func (r Ratio) String() string { return string(r.Append(nil)) }

// AppendFixed appends v × 10^-digits in exact decimal digits.
func AppendFixed(dst []byte, v int64, digits int) []byte {
	abs := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		abs = -abs // right for the smallest int64 too
	}
	scale := uint64(1)
	for range digits {
		scale *= 10
	}
	dst = strconv.AppendUint(dst, abs/scale, 10)
	frac := abs % scale
	if frac == 0 {
		return dst
	}
	dst = append(dst, '.')
	for frac > 0 {
		scale /= 10
		dst = append(dst, byte('0'+frac/scale))
		frac %= scale
	}
	return dst
}

// AddSat returns a+b, held at the ends of int64. Sums over the connections of
// a pool use it: a sum beyond any limit must read as beyond it, not wrap.
//
// A sum has wrapped when both parts have one sign and it has the other.
func AddSat(a, b Amount) Amount {
	s := a + b
	switch {
	case (a^s)&(b^s) >= 0:
		return s
	case a > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}
