package routing

import (
	"errors"
	"fmt"
	"iter"

	"github.com/quotashare/quotashare/quota"
)

// Turn is a key's place in the ring.
type Turn struct {
	Key     Key
	Deficit quota.Amount // what it saved, of tokens
	Waiting int
}

// Turns yields the keys that have something waiting, in the order in which they are
// visited, that whose visit it is first. With Waiting this is the canonical order of
// a digest, if ids are written for keys and tickets.
func (b *Backlog) Turns() iter.Seq[Turn] {
	return func(yield func(Turn) bool) {
		at := b.front
		for range b.keys {
			q := &b.queues[at]
			if !yield(Turn{q.key, q.deficit, q.n}) {
				return
			}
			at = q.next
		}
	}
}

// Waiting yields what waits of a key, first come first. How long the first has
// waited is how long the key waits.
func (b *Backlog) Waiting(k Key) iter.Seq[Waiter] {
	return func(yield func(Waiter) bool) {
		at := b.byKey[k]
		if at == 0 {
			return
		}
		for i := b.queues[at].first; i != 0; i = b.waiters[i].next {
			if !yield(b.waiters[i].Waiter) {
				return
			}
		}
	}
}

// Saved is all that a backlog is, to be stored and restored. Two backlogs that are
// saved alike go on alike, but for the order of Expire among keys at one instant.
type Saved struct {
	Turns   []Turn   // as Backlog.Turns yields them
	Waiters []Waiter // those of the first key, first come first, then of the next
	Given   bool     // the first key has had its quantum in this visit
	Wake    int64    // the earliest instant that Rules.Passes told, 0 = not asked
}

// Save returns what the backlog is.
func (b *Backlog) Save() Saved {
	s := Saved{Given: b.given, Wake: b.wake}
	for t := range b.Turns() {
		s.Turns = append(s.Turns, t)
		for w := range b.Waiting(t.Key) {
			s.Waiters = append(s.Waiters, w)
		}
	}
	return s
}

// Restore returns the backlog that was saved, or an error that says why it is none.
func Restore(s Saved) (*Backlog, error) {
	b := &Backlog{}
	rest := s.Waiters
	for _, t := range s.Turns {
		if t.Waiting <= 0 || t.Waiting > len(rest) {
			return nil, fmt.Errorf("turns: key %d has %d waiting of %d that are left", t.Key, t.Waiting, len(rest))
		}
		if b.byKey[t.Key] != 0 {
			return nil, fmt.Errorf("turns: key %d is there twice", t.Key)
		}
		for _, w := range rest[:t.Waiting] {
			if err := b.restore(t.Key, w); err != nil {
				return nil, err
			}
		}
		b.queues[b.byKey[t.Key]].deficit = t.Deficit
		rest = rest[t.Waiting:]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("waiters: %d are of no turn", len(rest))
	}
	b.given, b.wake = s.Given, s.Wake
	return b, b.valid()
}

func (b *Backlog) restore(k Key, w Waiter) error {
	switch {
	case w.Key != k:
		return fmt.Errorf("waiters: ticket %d is of key %d in the turn of %d", w.Ticket, w.Key, k)
	case b.byTicket[w.Ticket] != 0:
		return fmt.Errorf("waiters: ticket %d: %w", w.Ticket, ErrWaiting)
	case w.Cost <= 0 || w.Cost > quota.Tokens.Max():
		return fmt.Errorf("waiters: ticket %d: %w", w.Ticket, ErrCost)
	}
	b.push(w)
	return nil
}

// errGiven: somebody must have had the quantum.
var errGiven = errors.New("given: nobody waits")

// valid checks what must hold of a backlog whatever it was made from.
func (b *Backlog) valid() error {
	if b.Len() > MaxWaiting {
		return fmt.Errorf("waiters: %d, more than %d", b.Len(), MaxWaiting)
	}
	if b.given && b.Len() == 0 {
		return errGiven
	}
	if b.wake < 0 {
		return fmt.Errorf("wake: %d is before 1970", b.wake)
	}
	// A key saves less than one request costs, or what is left of one quantum.
	most := quota.Tokens.Max() + Quantum(100*quota.RatioOne)
	for t := range b.Turns() {
		if t.Deficit < 0 || t.Deficit > most {
			return fmt.Errorf("turns: key %d has saved %d", t.Key, t.Deficit)
		}
	}
	return nil
}
