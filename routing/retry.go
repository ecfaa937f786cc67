package routing

import (
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// mostPlayed bounds what a Play does, in looks at a waiter or a place: so many take a
// few milliseconds, and the fold waits meanwhile.
const mostPlayed = 1 << 16

// Play finds out when places come free that are for nobody who waits, when nothing
// happens but that time goes by: leases end, whoever may take the place that one leaves
// takes it, in the order of Next, for its own lease, and those whose deadline comes wait
// no more. This is what is said to a request that is refused now, at once or after it
// has waited.
//
// It is played through on copies, as Next would do it, for whose lease it is that ends
// depends on whose turn it was. It takes for granted that whoever waits goes when there
// is room: the answer is later than need be while a rule holds one back. One that waits
// beside a free place is held back there, and so for good.
//
// Begin, then add places and backlogs, then Run, then FreeAt. The zero Play is ready to
// begin, and one that is used again takes no new memory.
type Play struct {
	now    int64
	places []place
	ends   []end // a heap
	lines  []line
	open   []int // places that are free, in their order
	list   []Candidate
	of     []int // the places of list
	left   int   // places that have not come free yet
	looked int
	latest int64
}

// place is a connection.
type place struct {
	Candidate
	free  int64 // the first instant at which it is for nobody who waits; 0 = not yet
	kept  bool
	known bool // free is
}

// end is when a hold on a place ends.
type end struct {
	at    int64
	place int
}

// line is the copy of a backlog.
type line struct {
	Backlog
	pool    int
	quantum func(Key) quota.Amount
	wants   func(Ticket) ([]int, bool)
	last    int64 // deadline
}

// Begin forgets all, and begins at an instant.
func (p *Play) Begin(now int64) {
	p.now, p.left, p.looked, p.latest = now, 0, 0, now
	p.places, p.ends, p.open, p.lines = p.places[:0], p.ends[:0], p.open[:0], p.lines[:0]
}

// Place adds a connection as it is now, those of a pool one after the other in the
// pool's order, and returns its number. Ends are when the holds end that it has, in any
// order; kept says that whoever waits has seen it free and may not take it.
func (p *Play) Place(c Candidate, ends []int64, kept bool) (number int) {
	number = len(p.places)
	c.InFlight = int64(len(ends))
	p.places = append(p.places, place{Candidate: c, kept: kept})
	p.left++
	p.looked += 1 + len(ends)/8
	for _, at := range ends {
		p.ends = append(p.ends, end{at, number})
		p.latest = max(p.latest, at)
	}
	return number
}

// Line adds a backlog, which stays as it is; their order is that in which they are
// served. Wants returns the numbers of the places that a request has chosen, in its
// order; false says all of the pool, whose number is Candidate.Pool.
func (p *Play) Line(b *Backlog, pool int, quantum func(Key) quota.Amount, wants func(Ticket) ([]int, bool)) {
	if len(p.lines) < cap(p.lines) {
		p.lines = p.lines[:len(p.lines)+1]
	} else {
		p.lines = append(p.lines, line{})
	}
	l := &p.lines[len(p.lines)-1]
	l.copy(b)
	l.pool, l.quantum, l.wants, l.last = pool, quantum, wants, 0
	for _, at := range l.deadlines {
		w := &l.waiters[at]
		l.last = max(l.last, w.Deadline)
		p.latest = max(p.latest, w.Deadline+w.Lease)
	}
}

// copy makes b a copy of another one that can be asked for Next and Expire alone: it
// knows nobody by name, for maps are slow to copy.
func (b *Backlog) copy(o *Backlog) {
	queues, waiters, deadlines := append(b.queues[:0], o.queues...), append(b.waiters[:0], o.waiters...), append(b.deadlines[:0], o.deadlines...)
	*b = *o
	b.queues, b.waiters, b.deadlines, b.byKey, b.byTicket = queues, waiters, deadlines, nil, nil
}

// Run plays until every place has come free. Where that takes too long, the rest come
// free when the last lease is over of all that are held or waited for: it is not before
// it.
func (p *Play) Run() {
	for i := range p.places {
		if !p.places[i].full() {
			p.openUp(i)
		}
	}
	for i := len(p.ends)/2 - 1; i >= 0; i-- {
		p.sink(i)
	}
	for {
		p.serve()
		if p.looked > mostPlayed {
			p.giveUp()
			return
		}
		p.looked += len(p.open) / 16
		for _, i := range p.open {
			p.comesFree(i, p.now)
		}
		if p.left == 0 || !p.advance() {
			return
		}
	}
}

// FreeAt returns the first instant at which the place of that number is for nobody who
// waits, not before that of Begin; Never when time alone does not bring it.
func (p *Play) FreeAt(number int) int64 {
	if x := &p.places[number]; x.known {
		return x.free
	}
	return Never
}

func (x *place) full() bool { return x.MaxConcurrent > 0 && x.InFlight >= x.MaxConcurrent }

// comesFree notes it the first time.
func (p *Play) comesFree(i int, at int64) {
	if x := &p.places[i]; !x.known {
		x.free, x.known = at, true
		p.left--
	}
}

func (p *Play) giveUp() {
	for i := range p.places {
		p.comesFree(i, p.latest)
	}
}

// openUp notes that a place is free.
func (p *Play) openUp(i int) {
	if p.places[i].kept {
		p.comesFree(i, p.now)
		return
	}
	if at, found := slices.BinarySearch(p.open, i); !found {
		p.open = slices.Insert(p.open, at, i)
	}
}

// advance goes to the next instant at which something ends, and ends it.
func (p *Play) advance() bool {
	if len(p.ends) == 0 {
		return false
	}
	p.now = max(p.now, p.ends[0].at)
	for len(p.ends) > 0 && p.ends[0].at <= p.now {
		p.looked++
		x := p.ends[0].place
		last := len(p.ends) - 1
		p.ends[0] = p.ends[last]
		p.ends = p.ends[:last]
		p.sink(0)
		if p.places[x].InFlight--; !p.places[x].full() {
			p.openUp(x)
		}
	}
	return true
}

// serve ends the waits that are over and lets go whoever may: of each backlog to its own
// pool first, and then anywhere until nobody goes.
func (p *Play) serve() {
	for i := range p.lines {
		p.expire(&p.lines[i])
		p.pass(&p.lines[i], true)
	}
	for again := true; again; {
		again = false
		for i := range p.lines {
			again = p.pass(&p.lines[i], false) || again
		}
	}
}

// expire ends the waits that are over. Mostly all are, for leases are long and waits are
// short: then there is nothing to be kept in order.
func (p *Play) expire(l *line) {
	if l.last <= p.now {
		l.deadlines = l.deadlines[:0]
		return
	}
	for ok := true; ok && p.looked <= mostPlayed; p.looked += 4 {
		_, ok = l.Expire(p.now)
	}
}

// pass lets go whoever may of a backlog, and reports whether somebody did; home says to
// its own pool alone.
func (p *Play) pass(l *line, home bool) (went bool) {
	for l.Len() > 0 && p.looked <= mostPlayed && slices.ContainsFunc(p.open, func(i int) bool { return !home || p.places[i].Pool == l.pool }) {
		w, ok := l.Next(passer{p, l, home})
		if !ok {
			return went
		}
		p.take(l, &w, home)
		went = true
	}
	return went
}

// take gives a request the place that is chosen for it.
func (p *Play) take(l *line, w *Waiter, home bool) {
	p.find(l, w.Ticket, home)
	c := Choose(p.list)
	c.Pay(p.list)
	for k, i := range p.of {
		p.places[i].Credit = p.list[k].Credit
	}
	i := p.of[c.Winner]
	if p.places[i].InFlight++; p.places[i].full() {
		at, _ := slices.BinarySearch(p.open, i)
		p.open = slices.Delete(p.open, at, at+1)
	}
	p.ends = append(p.ends, end{p.now + w.Lease, i})
	p.rise(len(p.ends) - 1)
}

// find lists the free places that a request may take, in its order, and reports whether
// there are any.
func (p *Play) find(l *line, t Ticket, home bool) bool {
	p.list, p.of = p.list[:0], p.of[:0]
	own, chosen := l.wants(t)
	if !chosen {
		own = p.open
	}
	p.looked += 1 + len(own)/16
	for _, i := range own {
		x := &p.places[i]
		if x.kept || x.full() || (home || !chosen) && x.Pool != l.pool {
			continue
		}
		p.list, p.of = append(p.list, x.Candidate), append(p.of, i)
	}
	return len(p.of) > 0
}

// passer are the rules of a backlog in a Play.
type passer struct {
	p    *Play
	l    *line
	home bool
}

func (x passer) Quantum(k Key) quota.Amount { return x.l.quantum(k) }

// Passes says that whoever finds a place may go.
func (x passer) Passes(w *Waiter) (bool, int64) {
	return x.p.looked <= mostPlayed && x.p.find(x.l, w.Ticket, x.home), Never
}

// sink and rise keep the heap of ends.
func (p *Play) sink(i int) {
	for {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(p.ends) && p.ends[child].at < p.ends[least].at {
				least = child
			}
		}
		if least == i {
			return
		}
		p.ends[i], p.ends[least] = p.ends[least], p.ends[i]
		i = least
	}
}

func (p *Play) rise(i int) {
	for i > 0 && p.ends[i].at < p.ends[(i-1)/2].at {
		p.ends[i], p.ends[(i-1)/2] = p.ends[(i-1)/2], p.ends[i]
		i = (i - 1) / 2
	}
}
