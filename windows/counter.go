// Package windows is the two-bucket sliding counter: pure, pointer-free,
// integers only.
package windows

import (
	"math/bits"

	"github.com/quotashare/quotashare/quota"
)

// Counter is one sliding window of one amount. The bucket with index
// floor(t/W) holds what happened in [index·W, (index+1)·W).
//
// The zero Counter is empty: its bucket lies in 1970, before every instant that
// is let in, so the first amount simply rotates it forward. It is a value
// without pointers: millions of them lie in plain slices that the garbage
// collector never looks into.
type Counter struct {
	Index int64        // bucket of Curr; Prev is bucket Index-1
	Curr  quota.Amount // signed: corrections may exceed what they correct
	Prev  quota.Amount
}

// Limit bounds a bucket on both sides, so that curr + prev always fits an
// int64. What would pass it is refused before it is added.
const Limit quota.Amount = 1 << 62

// Bucket returns the index of the bucket that instant t lies in, and the
// milliseconds elapsed in it: floor division, for instants before 1970 too.
func Bucket(t, width int64) (index, elapsed int64) {
	index, elapsed = t/width, t%width
	if elapsed < 0 {
		index, elapsed = index-1, elapsed+width
	}
	return index, elapsed
}

// Outcome says what Add did or Check would do.
type Outcome uint8

// An amount is Added, or too Late for both buckets, or would Overflow one.
const (
	Added Outcome = iota
	Late
	Overflow
)

// Check tells what Add of the amount into bucket index would do, without
// doing it.
func (c Counter) Check(index int64, amount quota.Amount) Outcome {
	var have quota.Amount
	switch {
	case index == c.Index:
		have = c.Curr
	case index > c.Index:
	case index == c.Index-1:
		have = c.Prev
	default:
		return Late
	}
	if s := have + amount; s >= Limit || s <= -Limit {
		return Overflow
	}
	return Added
}

// Add puts the amount into bucket index. The result does not depend on the
// order of arrival: the counter keeps the newest bucket seen and the one
// before it, and what is older than both would have been rotated out anyway.
func (c *Counter) Add(index int64, amount quota.Amount) Outcome {
	if o := c.Check(index, amount); o != Added {
		return o
	}
	*c = c.Rotate(index)
	if index == c.Index {
		c.Curr += amount
	} else {
		c.Prev += amount
	}
	return Added
}

// Empty reports whether both buckets are zero.
func (c Counter) Empty() bool { return c.Curr == 0 && c.Prev == 0 }

// Rotate returns the counter as seen from bucket index: one bucket later curr
// has become prev, two or more later both are gone. A counter that is already
// later is returned as it is, because time never runs backwards in it.
func (c Counter) Rotate(index int64) Counter {
	switch {
	case index <= c.Index:
		return c
	case index == c.Index+1:
		return Counter{Index: index, Prev: c.Curr}
	default:
		return Counter{Index: index}
	}
}

// Effective is the sliding value at instant now, width W = width ms:
//
//	curr + floor(prev × (W − elapsed) / W)
//
// A negative prev counts as 0 and a negative result reads as 0, so without new
// events the value only falls. A counter whose current bucket starts after now
// is read at that bucket's start.
func (c Counter) Effective(now, width int64) quota.Amount {
	index, elapsed := Bucket(now, width)
	return c.EffectiveAt(index, elapsed, width)
}

// EffectiveAt is Effective for the instant elapsed ms into bucket index, for a
// caller that reads many counters of one window at one instant.
//
// prev × (W − elapsed) needs up to 62+32 bits, hence the 128-bit product; its
// quotient is at most prev.
func (c Counter) EffectiveAt(index, elapsed, width int64) quota.Amount {
	if index < c.Index {
		index, elapsed = c.Index, 0
	}
	c = c.Rotate(index)
	v := c.Curr
	if c.Prev > 0 {
		hi, lo := bits.Mul64(uint64(c.Prev), uint64(width-elapsed))
		q, _ := bits.Div64(hi, lo, uint64(width))
		v += quota.Amount(q)
	}
	return max(v, 0)
}

// End returns the first instant at which the counter reads 0 for good.
func (c Counter) End(width int64) int64 {
	if c.Empty() {
		return 0
	}
	return (c.Index + 2) * width
}

// Others returns what is left of total without the listed counters, bucket by
// bucket, all seen from the newest bucket among them, each bucket not below 0.
// It is the counter of all keys that have none of their own in a pool.
//
// Subtracting buckets and then taking one effective value keeps the rounding
// of one counter. Since rotation only moves buckets, what Others returns may be
// read at any later instant.
func Others(total Counter, listed ...Counter) Counter {
	index := total.Index
	for _, c := range listed {
		index = max(index, c.Index)
	}
	total = total.Rotate(index)
	for _, c := range listed {
		c = c.Rotate(index)
		total.Curr = quota.AddSat(total.Curr, -c.Curr)
		total.Prev = quota.AddSat(total.Prev, -c.Prev)
	}
	total.Curr = min(max(total.Curr, 0), Limit)
	total.Prev = min(max(total.Prev, 0), Limit)
	return total
}
