package routing

import (
	"errors"
	"math"

	"github.com/quotashare/quotashare/quota"
)

// MaxWaiting bounds the backlog of one pool. It is a constant of the rules.
const MaxWaiting = 10_000

// mostLooked is how many that wait of one key Next looks at. Whoever may pass is found
// out by as much work as a decision takes, and the fold waits meanwhile.
const mostLooked = 64

// Never is the instant of what time alone does not bring.
const Never int64 = math.MaxInt64

// Errors of Backlog.Push.
var (
	ErrFull    = errors.New("backlog: is full for this key: ask again when something has ended")
	ErrWaiting = errors.New("ticket: waits already: remove it first")
	ErrCost    = errors.New("cost: is not within what one amount can be: take that of Cost")
)

// Key and Ticket are the caller's numbers of an API key and of a request that waits.
// They mean nothing here but that equal ones are the same, and decide no order.
type (
	Key    uint32
	Ticket uint32
)

// Waiter is a request that waits.
type Waiter struct {
	Ticket   Ticket
	Key      Key
	Want     uint32       // of a key, those that want the same go in the order in which they came
	Cost     quota.Amount // of tokens, more than 0; see Cost
	Arrived  int64        // log time, epoch ms
	Deadline int64        // log time from which it waits no more
	Lease    int64        // how long it will hold a place, ms
}

// Rules is what a backlog asks when it looks for who goes next. The answers must
// follow from the state that is folded alone, and leave the backlog as it is.
type Rules interface {
	// Quantum is what a round gives the key, more than 0; see the function Quantum.
	Quantum(Key) quota.Amount
	// Passes reports whether the waiter, the first of its key that wants the same, may
	// go now. If not, at is the first instant from which it may when nothing happens but
	// that time goes by, or Never. It is asked of a key's in their order, and not of those
	// behind one that may; what an earlier one would lose to it is for Passes to see.
	Passes(w *Waiter) (ok bool, at int64)
}

// Backlog is the requests of one pool that wait. The zero value is empty.
type Backlog struct {
	queues    []queue  // by place; 0 is none
	waiters   []waiter // by place; 0 is none
	noQueue   uint32   // the first of the places in queues that are unused
	noWaiter  uint32   // … in waiters
	byKey     map[Key]uint32
	byTicket  map[Ticket]uint32
	deadlines []uint32 // all waiters, a heap: see waiter.before
	number    uint64   // of the newest waiter
	keys      int      // in the ring
	front     uint32   // the key whose visit it is, 0 when nobody waits
	given     bool     // the key has had its quantum in this visit
	wake      int64    // the earliest instant that Rules.Passes told; 0 before it is asked
}

// queue is the waiters of one key, and its place in the ring of keys.
type queue struct {
	key         Key
	first, last uint32
	n           int
	deficit     quota.Amount // what it saved, less than the one costs that may pass, if any
	prev, next  uint32       // in the ring
	goes        uint32       // while Next looks: its waiter that may pass, 0 = none
	quantum     quota.Amount // … and what a round gives it then
}

type waiter struct {
	Waiter
	number     uint64 // rising within a key
	queue      uint32 // its key's place
	prev, next uint32 // of its key
	at         int    // in deadlines
}

// Len returns how many wait.
func (b *Backlog) Len() int { return len(b.deadlines) }

// LenOf returns how many requests of a key wait.
func (b *Backlog) LenOf(k Key) int {
	if at := b.byKey[k]; at != 0 {
		return b.queues[at].n
	}
	return 0
}

// Push lets a request wait, last of its key; a key that has none waiting is the last
// to be visited. It is ErrFull when the key has as many waiting as there are places
// left: so one key takes half of them at most, several leave one another room, and
// whoever has nothing waiting finds a place. With one bound for all, who asks most
// would keep the others out where it is to be made to wait.
func (b *Backlog) Push(w Waiter) error {
	switch {
	case b.byTicket[w.Ticket] != 0:
		return ErrWaiting
	case w.Cost <= 0 || w.Cost > quota.Tokens.Max():
		return ErrCost
	case b.LenOf(w.Key) >= MaxWaiting-b.Len():
		return ErrFull
	}
	b.push(w)
	return nil
}

func (b *Backlog) push(w Waiter) {
	if b.byTicket == nil {
		b.byKey, b.byTicket = make(map[Key]uint32), make(map[Ticket]uint32)
		b.queues, b.waiters = make([]queue, 1), make([]waiter, 1)
	}
	queue := b.queueOf(w.Key)
	q := &b.queues[queue]
	b.number++
	at := b.newWaiter()
	x := &b.waiters[at]
	*x = waiter{Waiter: w, number: b.number, queue: queue, prev: q.last}
	if q.last == 0 {
		q.first = at
	} else {
		b.waiters[q.last].next = at
	}
	q.last = at
	q.n++
	b.byTicket[w.Ticket] = at
	b.await(at)
	if b.looksAt(q, at) {
		b.wake = 0 // it may be the one that may pass
	}
}

// Remove takes a request out that is given up, and reports whether it waited.
func (b *Backlog) Remove(t Ticket) (Waiter, bool) {
	at := b.byTicket[t]
	if at == 0 {
		return Waiter{}, false
	}
	return b.leave(at), true
}

// Expire takes out a request whose deadline is not after now: the earliest one, and
// of one key's the first. The caller asks until there is none, before Next: nobody
// goes who was told to wait no longer.
func (b *Backlog) Expire(now int64) (Waiter, bool) {
	if b.Len() == 0 || b.waiters[b.deadlines[0]].Deadline > now {
		return Waiter{}, false
	}
	return b.leave(b.deadlines[0]), true
}

// Due is the first instant at which something is to be done though nothing happens:
// the earliest deadline, or the earliest instant that Rules.Passes told when Next
// found nobody. It is Never when nobody waits, and not after now when Next is to be
// asked.
func (b *Backlog) Due() int64 {
	if b.Len() == 0 {
		return Never
	}
	return min(b.wake, b.Deadline())
}

// Deadline is the earliest of those that wait, Never when nobody does.
func (b *Backlog) Deadline() int64 {
	if b.Len() == 0 {
		return Never
	}
	return b.waiters[b.deadlines[0]].Deadline
}

// leave takes out a waiter that does not go. What its key saved for it is not for
// others: a large request that is given up would let all small ones behind it go at
// once. The dearest of those that are left may be paid of it, as it has waited as long.
func (b *Backlog) leave(at uint32) Waiter {
	queue := b.waiters[at].queue
	q := &b.queues[queue]
	n, looked := b.looks(q), b.looksAt(q, at)
	w := b.take(at)
	switch {
	case looked:
		q.deficit = min(q.deficit, b.dearest(q))
		b.wake = 0 // another one may be the one that may pass
	case b.looks(q) > n:
		b.wake = 0 // it moved up
	}
	return w
}

// take takes a waiter out of everything, and its key out of the ring when it was
// the last.
func (b *Backlog) take(at uint32) Waiter {
	x := b.waiters[at]
	q := &b.queues[x.queue]
	if x.prev == 0 {
		q.first = x.next
	} else {
		b.waiters[x.prev].next = x.next
	}
	if x.next == 0 {
		q.last = x.prev
	} else {
		b.waiters[x.next].prev = x.prev
	}
	q.n--
	if q.n == 0 {
		b.dropQueue(x.queue)
	}
	b.forget(x.at)
	delete(b.byTicket, x.Ticket)
	b.waiters[at] = waiter{next: b.noWaiter}
	b.noWaiter = at
	return x.Waiter
}
