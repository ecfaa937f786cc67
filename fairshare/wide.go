package fairshare

import "math/bits"

// wide is an unsigned 128-bit integer that stays at its largest value instead
// of wrapping: what passes it is beyond every threshold we compare with
// (threshold × limit × 1e8 < 2^20 × 2^63 × 2^27 = 2^110).
type wide struct{ hi, lo uint64 }

// product returns a × b; negative factors count as 0.
func product(a, b int64) wide {
	hi, lo := bits.Mul64(uint64(max(a, 0)), uint64(max(b, 0)))
	return wide{hi, lo}
}

// plus returns w + v.
func (w wide) plus(v wide) wide {
	lo, carry := bits.Add64(w.lo, v.lo, 0)
	hi, carry := bits.Add64(w.hi, v.hi, carry)
	if carry != 0 {
		return wide{^uint64(0), ^uint64(0)}
	}
	return wide{hi, lo}
}

// times returns w × k.
func (w wide) times(k uint64) wide {
	over, hi := bits.Mul64(w.hi, k)
	mid, lo := bits.Mul64(w.lo, k)
	hi, carry := bits.Add64(hi, mid, 0)
	if over != 0 || carry != 0 {
		return wide{^uint64(0), ^uint64(0)}
	}
	return wide{hi, lo}
}

// less reports whether w < v.
func (w wide) less(v wide) bool { return w.hi < v.hi || w.hi == v.hi && w.lo < v.lo }
