package whatif

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/quota"
)

// Shift says who would have been served more of a unit, and who less.
type Shift struct {
	Unit quota.Unit
	// Those with the largest difference first, of equal ones by key.
	More, Less []Change
}

// Change is what a key was served, and what it would have been.
type Change struct {
	APIKeyID      string
	Before, After quota.Amount
}

// By is how much more it would have been, below 0 when it would have been less.
func (c *Change) By() quota.Amount { return c.After - c.Before } // both are 0 or more

// Shifts lists the units of which somebody would have been served more or less. What one
// gets less and others more need not be equal: a rule may leave less unused.
func (r *Report) Shifts() (list []Shift) {
	for u := range quota.Unit(quota.NumUnits) {
		if s := r.shift(u); len(s.More)+len(s.Less) > 0 {
			list = append(list, s)
		}
	}
	return list
}

func (r *Report) shift(u quota.Unit) Shift {
	s := Shift{Unit: u}
	for i := range r.Rows {
		x := &r.Rows[i]
		c := Change{APIKeyID: x.APIKeyID, Before: x.Sides[Before].Served[u], After: x.Sides[After].Served[u]}
		switch by := c.By(); {
		case by > 0:
			s.More = append(s.More, c)
		case by < 0:
			s.Less = append(s.Less, c)
		}
	}
	slices.SortFunc(s.More, func(a, b Change) int { return byMost(&a, &b, a.By(), b.By()) })
	slices.SortFunc(s.Less, func(a, b Change) int { return byMost(&a, &b, -a.By(), -b.By()) })
	return s
}

func byMost(a, b *Change, of, than quota.Amount) int {
	return cmp.Or(cmp.Compare(than, of), strings.Compare(a.APIKeyID, b.APIKeyID))
}
