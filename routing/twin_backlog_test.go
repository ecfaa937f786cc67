package routing_test

import (
	"math"
	"slices"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// slowBacklog is a backlog as it is described: it walks the ring, round by round.
type slowBacklog struct {
	ring  []*slowKey // the one whose visit it is first
	given bool
}

type slowKey struct {
	key     routing.Key
	waiters []routing.Waiter
	deficit quota.Amount
}

func (b *slowBacklog) find(k routing.Key) *slowKey {
	for _, x := range b.ring {
		if x.key == k {
			return x
		}
	}
	return nil
}

func (b *slowBacklog) push(w routing.Waiter) {
	x := b.find(w.Key)
	if x == nil {
		x = &slowKey{key: w.Key}
		b.ring = append(b.ring, x)
	}
	x.waiters = append(x.waiters, w)
}

// firsts returns which of a key may be the one that goes: of 64 the first of each want.
func (x *slowKey) firsts() (list []int) {
	for i, w := range x.waiters[:min(64, len(x.waiters))] {
		if !slices.ContainsFunc(x.waiters[:i], func(o routing.Waiter) bool { return o.Want == w.Want }) {
			list = append(list, i)
		}
	}
	return list
}

// candidate returns which of a key may go, -1 when none may.
func (x *slowKey) candidate(r routing.Rules) int {
	for _, i := range x.firsts() {
		if ok, _ := r.Passes(&x.waiters[i]); ok {
			return i
		}
	}
	return -1
}

func (b *slowBacklog) next(r routing.Rules) (routing.Waiter, bool) {
	if !slices.ContainsFunc(b.ring, func(x *slowKey) bool { return x.candidate(r) >= 0 }) {
		return routing.Waiter{}, false
	}
	for {
		x := b.ring[0]
		if i := x.candidate(r); i >= 0 {
			if x.deficit < x.waiters[i].Cost && !b.given {
				x.deficit += r.Quantum(x.key)
				b.given = true
			}
			if x.deficit >= x.waiters[i].Cost {
				x.deficit -= x.waiters[i].Cost
				return b.take(x, i), true
			}
		}
		b.ring, b.given = append(b.ring[1:], x), false
	}
}

func (b *slowBacklog) take(x *slowKey, i int) routing.Waiter {
	w := x.waiters[i]
	x.waiters = slices.Delete(x.waiters, i, i+1)
	if len(x.waiters) == 0 {
		if b.ring[0] == x {
			b.given = false
		}
		b.ring = slices.DeleteFunc(b.ring, func(o *slowKey) bool { return o == x })
	}
	return w
}

// leave takes out a waiter that does not go. When it might have, its key keeps of what
// it saved as much as the dearest costs of those that may.
func (b *slowBacklog) leave(t routing.Ticket) bool {
	for _, x := range b.ring {
		for i := range x.waiters {
			if x.waiters[i].Ticket != t {
				continue
			}
			looked := slices.Contains(x.firsts(), i)
			if b.take(x, i); looked {
				most := quota.Amount(0)
				for _, i := range x.firsts() {
					most = max(most, x.waiters[i].Cost)
				}
				x.deficit = min(x.deficit, most)
			}
			return true
		}
	}
	return false
}

// expire takes out what has waited long enough, of each key from the first on. In
// which order does matter for what is saved, so it is by deadline, then by arrival.
func (b *slowBacklog) expire(now int64) (gone []routing.Ticket) {
	for {
		var first *routing.Waiter
		for _, x := range b.ring {
			for i := range x.waiters {
				if w := &x.waiters[i]; w.Deadline <= now && (first == nil || w.Deadline < first.Deadline) {
					first = w
				}
			}
		}
		if first == nil {
			return gone
		}
		gone = append(gone, first.Ticket)
		b.leave(first.Ticket)
	}
}

func (b *slowBacklog) len() (n int) {
	for _, x := range b.ring {
		n += len(x.waiters)
	}
	return n
}

// due is the first deadline, or the first instant that the rules tell.
func (b *slowBacklog) due(r routing.Rules) int64 {
	due := int64(math.MaxInt64)
	for _, x := range b.ring {
		for _, i := range x.firsts() {
			_, at := r.Passes(&x.waiters[i])
			due = min(due, at)
		}
		for _, w := range x.waiters {
			due = min(due, w.Deadline)
		}
	}
	return due
}

func (b *slowBacklog) save() routing.Saved {
	s := routing.Saved{Given: b.given}
	for _, x := range b.ring {
		s.Turns = append(s.Turns, routing.Turn{Key: x.key, Deficit: x.deficit, Waiting: len(x.waiters)})
		s.Waiters = append(s.Waiters, x.waiters...)
	}
	return s
}

// freeAt plays every millisecond: what ends at it, who goes, and whether there is
// room then.
func (b *slowBacklog) freeAt(now int64, ends []int64, r routing.Rules) int64 {
	places := len(ends)
	for ; ; now++ {
		ends = slices.DeleteFunc(ends, func(end int64) bool { return end <= now })
		b.expire(now)
		for len(ends) < places {
			w, ok := b.next(r)
			if !ok {
				return now
			}
			ends = append(ends, now+w.Lease)
		}
	}
}
