package routing

import (
	"iter"
	"math"
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// firsts yields the waiters of a key that may be the one that goes: the first of each
// want, in their order, of those that came first.
func (b *Backlog) firsts(q *queue) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		var wants [mostLooked]uint32
		n, at := 0, q.first
		for looked := 0; at != 0 && looked < mostLooked; looked++ {
			x := &b.waiters[at]
			if !slices.Contains(wants[:n], x.Want) {
				wants[n] = x.Want
				n++
				if !yield(at) {
					return
				}
			}
			at = x.next
		}
	}
}

// candidate returns the waiter of a key that may pass, 0 when none may, and the
// earliest instant that was told of those before it.
func (b *Backlog) candidate(q *queue, r Rules) (goes uint32, wake int64) {
	wake = Never
	for at := range b.firsts(q) {
		ok, when := r.Passes(&b.waiters[at].Waiter)
		if ok {
			return at, wake
		}
		wake = min(wake, when)
	}
	return 0, wake
}

// looks returns how many of a key Next looks at, at most.
func (b *Backlog) looks(q *queue) (n int) {
	for range b.firsts(q) {
		n++
	}
	return n
}

// looksAt reports whether Next looks at the waiter, if at none of its key before it
// that passes.
func (b *Backlog) looksAt(q *queue, at uint32) bool {
	for first := range b.firsts(q) {
		if first == at {
			return true
		}
	}
	return false
}

// dearest is the most that one costs of those of a key that Next looks at.
func (b *Backlog) dearest(q *queue) (most quota.Amount) {
	for at := range b.firsts(q) {
		most = max(most, b.waiters[at].Cost)
	}
	return most
}

// cheapest is the least.
func (b *Backlog) cheapest(q *queue) quota.Amount {
	least := quota.Amount(math.MaxInt64)
	for at := range b.firsts(q) {
		least = min(least, b.waiters[at].Cost)
	}
	return least
}

// Firsts yields what waits of a key and may be the one that goes: the first of each
// want, first come first, of as many of the key as are looked at.
func (b *Backlog) Firsts(k Key) iter.Seq[Waiter] {
	return func(yield func(Waiter) bool) {
		at := b.byKey[k]
		if at == 0 {
			return
		}
		for i := range b.firsts(&b.queues[at]) {
			if !yield(b.waiters[i].Waiter) {
				return
			}
		}
	}
}
