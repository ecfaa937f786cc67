package routing

import "github.com/quotashare/quotashare/quota"

// Next takes out the waiter that goes next, and reports whether there is one. The
// caller asks again until there is none, for one that goes changes who may pass.
//
// What is wanted is this, beginning where the last visit was:
//
//	for each key in turn of which a waiter may pass: for the first of them
//	    if its savings do not pay for it: a quantum, once in a visit
//	    if they do: it goes, and the visit goes on
//
// Of a key that is the first waiter of each want, in their order. A key has one place
// in the ring and one purse whoever of it goes, so that wanting many things brings it
// no more than wanting one:
//
//	served = visits × quantum − saved, 0 ≤ saved < its dearest request
//
// What was saved for one that is not let pass any more is spent by those that are. It is
// of the key's own visits, and to take it away would give it less than its part as often
// as a rule comes and goes. A purse for each want would give it more.
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
	if q.deficit < b.cheapest(q) {
		return Waiter{}, false
	}
	goes, _ := b.candidate(q, r)
	if goes == 0 || q.deficit < b.waiters[goes].Cost {
		return Waiter{}, false
	}
	return b.pay(q, goes), true
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
		goes, when := b.candidate(q, r)
		q.goes, q.quantum, wake = goes, 0, min(wake, when)
		if goes != 0 {
			q.quantum = r.Quantum(q.key)
			if rounds := q.rounds(b.waiters[goes].Cost); best.at == 0 || rounds < best.rounds {
				best = turn{at, position, rounds}
			}
			if best.rounds == 0 {
				return best
			}
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

// serve makes the visit: the key's waiter is paid and goes.
func (b *Backlog) serve(t turn) Waiter {
	q := &b.queues[t.at]
	b.front, b.given = t.at, q.deficit < b.waiters[q.goes].Cost
	if b.given {
		q.deficit += quota.Amount(t.rounds+1) * q.quantum
	}
	return b.pay(q, q.goes)
}

// pay takes a waiter out, who is paid for.
func (b *Backlog) pay(q *queue, at uint32) Waiter {
	b.wake = 0
	q.deficit -= b.waiters[at].Cost
	return b.take(at)
}
