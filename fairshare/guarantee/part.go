package guarantee

import (
	"math/bits"

	"github.com/quotashare/quotashare/quota"
)

// part is a part of a whole, num / den ≤ 1, of which many amounts are taken: each costs
// multiplications alone, because the division by den is done once (Möller and Granlund,
// Improved division by invariant integers, 2011).
type part struct {
	num   uint64
	shift uint
	den   uint64 // shifted, so that its highest bit is set
	inv   uint64 // ⌊(2^128 − 1) / den⌋ − 2^64
}

// newPart returns min(num / den, 1); den is above 0 and num not below.
func newPart(num, den int64) part {
	p := part{num: uint64(min(num, den)), shift: uint(bits.LeadingZeros64(uint64(den)))}
	p.den = uint64(den) << p.shift
	p.inv, _ = bits.Div64(^p.den, ^uint64(0), p.den)
	return p
}

// of returns ⌊a × num / den⌋ for a ≥ 0.
func (p *part) of(a quota.Amount) quota.Amount {
	hi, lo := bits.Mul64(uint64(a), p.num<<p.shift) // a × num / den ≤ a, so hi < den
	q, low := bits.Mul64(p.inv, hi)
	low, carry := bits.Add64(low, lo, 0)
	q += hi + carry + 1
	rest := lo - q*p.den
	if rest > low {
		q--
		rest += p.den
	}
	if rest >= p.den {
		q++
	}
	return quota.Amount(q)
}

// reaches reports whether ⌊a × num / den⌋ ≥ least, without a division.
func (p *part) reaches(a, least quota.Amount) bool {
	return !less(product(uint64(a), p.num<<p.shift), product(uint64(least), p.den))
}

// wide is an unsigned number of 128 bits.
type wide struct{ hi, lo uint64 }

func product(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	return wide{hi, lo}
}

// minus returns a − b, which is not below 0.
func minus(a, b wide) wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	return wide{a.hi - b.hi - borrow, lo}
}

func less(a, b wide) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }
