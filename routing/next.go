package routing

import "github.com/quotashare/quotashare/quota"

// Next takes out the waiter that goes next, and reports whether there is one. The
// caller asks again until there is none, for one that goes changes who may pass.
//
// What is wanted is this, beginning where the last visit was:
//
//	for each key in turn whose first waiter may pass
//	    if its savings do not pay for it: a quantum, once in a visit
//	    if they do: it goes, and the visit goes on
//
// A costly request may need a billion rounds of it. So the rounds are counted for
// each key instead, rounds × quantum ≥ what is missing; the key with the fewest goes,
// the first in the ring when several have, and the others get what they would have
// got until then. As long as quanta pay for requests, no more keys are looked at
// than it would take in turn.
func (b *Backlog) Next(r Rules) (Waiter, bool) {
	if b.Len() == 0 {
		return Waiter{}, false
	}
	if w, ok := b.goOn(r); ok {
		return w, true
	}
	t := b.find(r)
	if t.at == 0 {
		return Waiter{}, false
	}
	b.save(t)
	return b.serve(t), true
}

// turn is a visit in which somebody goes.
type turn struct {
	at       uint32 // the key's place
	position int    // in the round, which begins at start
	rounds   int64  // that are over before
}

// goOn serves the key whose visit it is from what it has left.
func (b *Backlog) goOn(r Rules) (Waiter, bool) {
	q := &b.queues[b.front]
	head := &b.waiters[q.first].Waiter
	if q.deficit < head.Cost {
		return Waiter{}, false
	}
	if ok, _ := r.Passes(head); !ok {
		return Waiter{}, false
	}
	q.deficit -= head.Cost
	return b.served(q), true
}

// start is the key that is visited next: a visit in which the quantum is spent is
// over, and its key the last of the round.
func (b *Backlog) start() uint32 {
	if b.given {
		return b.queues[b.front].next
	}
	return b.front
}

// find returns the earliest turn, with place 0 when nobody may pass. Until it finds
// one in the first round it looks at all keys, and learns when somebody may pass.
func (b *Backlog) find(r Rules) (best turn) {
	wake := Never
	at := b.start()
	for position := range b.keys {
		q := &b.queues[at]
		head := &b.waiters[q.first].Waiter
		ok, when := r.Passes(head)
		if q.quantum = 0; ok {
			q.quantum = r.Quantum(q.key)
			if rounds := q.rounds(head.Cost); best.at == 0 || rounds < best.rounds {
				best = turn{at, position, rounds}
			}
			if best.rounds == 0 {
				return best
			}
		} else {
			wake = min(wake, when)
		}
		at = q.next
	}
	if best.at == 0 {
		b.wake = wake
	}
	return best
}

// rounds is how many are over before the one in which the key's savings pay. In each
// it gets a quantum, in that one too unless it has enough as it is.
//
//	max(0, ceil((cost − deficit) / quantum) − 1)
func (q *queue) rounds(cost quota.Amount) int64 {
	return max(0, int64((cost-q.deficit-1)/q.quantum))
}

// save gives the keys that are visited before the turn what they get until then: those
// that come before it in the round have one visit more.
func (b *Backlog) save(t turn) {
	at := b.start()
	n := b.keys
	if t.rounds == 0 {
		n = t.position
	}
	for position := range n {
		q := &b.queues[at]
		visits := t.rounds
		if position < t.position {
			visits++
		}
		if at != t.at {
			q.deficit += quota.Amount(visits) * q.quantum
		}
		at = q.next
	}
}

// serve makes the visit: the key's first waiter is paid and goes.
func (b *Backlog) serve(t turn) Waiter {
	q := &b.queues[t.at]
	cost := b.waiters[q.first].Cost
	b.front, b.given = t.at, q.deficit < cost
	if b.given {
		q.deficit += quota.Amount(t.rounds+1) * q.quantum
	}
	q.deficit -= cost
	return b.served(q)
}

// served takes the first of a key out, who was paid for.
func (b *Backlog) served(q *queue) Waiter {
	b.wake = 0
	return b.take(q.first)
}
