package projector

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/routing"
)

// outlook is when the connections of some pools have a place that is for nobody who
// waits, if nothing happens but that time goes by: of all pools whose places those take
// that wait for one of them. It is what is told to who is refused, and is neither kept
// nor in the digest.
//
// To find out takes as long as a thousand decisions, and in a flood thousands are
// refused. So it is good for all of them until a hold or a waiter of those pools comes
// or goes; and it follows from these alone, so that it does not matter who asked first.
type outlook struct {
	lanes   []*lane
	changes []uint64      // of them when it was made
	touched bool          // some had not been served then
	from    int64         // when that was
	until   int64         // the first instant at which time changes something
	frees   map[ref]int64 // by connection; nil = nobody waits
}

// outlooks makes them. Readers do, too: one at a time, and the others wait for what it
// finds.
type outlooks struct {
	mu     sync.Mutex
	play   routing.Play
	places map[ref]int // in the play
	wants  map[routing.Ticket][]int
	named  int // candidates in wants
}

// mostNamed is how many candidates are looked up for one outlook. Of very many the last
// ones are taken for people who want nothing.
const mostNamed = 1 << 15

// changed says that a hold on the connection comes, goes, or ends at another time.
func (s *State) changed(conn ref) {
	if l := s.laneOf(conn); l != nil {
		l.changes++
	}
}

// regrouped says that connections are in other pools, or take another number at a time.
func (s *State) regrouped() {
	for _, p := range s.poolList {
		p.lane.changes++
	}
}

// changed says that the waiter comes, or goes before its wait is over: one whose is over
// matters to no outlook from then on.
func (x *seeker) changed() {
	x.lane.changes++
	for _, l := range x.reach {
		if l != nil {
			l.changes++
		}
	}
}

// lookOut returns the outlook of a pool for who asks at an instant, nil when nobody waits
// for any of its places. The reader says what else counts: holds that the log does not
// have, and not the one that the asker has.
func (s *State) lookOut(l *lane, r *reader, now int64) *outlook {
	if s.routes.len() == 0 {
		return nil
	}
	x := &s.routes.outlooks
	x.mu.Lock()
	defer x.mu.Unlock()
	o := l.outlook
	if o == nil || !o.isGood(s, now) {
		o = &outlook{lanes: s.around(l), touched: s.routes.touched, from: now}
		for _, of := range o.lanes {
			o.changes = append(o.changes, of.changes)
			of.outlook = o
		}
		x.make(s, o, &reader{s: s})
	}
	if o.frees != nil && (r.locals != nil || o.has(r.replaced())) {
		o = &outlook{lanes: o.lanes, touched: o.touched, from: now}
		x.make(s, o, r)
	}
	if o.frees == nil {
		return nil
	}
	return o
}

// isGood reports whether it is true still.
func (o *outlook) isGood(s *State, now int64) bool {
	for i, l := range o.lanes {
		if l.changes != o.changes[i] {
			return false
		}
	}
	return o.frees == nil || o.touched == s.routes.touched && (now == o.from || o.from < now && now < o.until)
}

// has reports whether it is of the connection of a hold; nil is none.
func (o *outlook) has(h *hold) bool {
	if h == nil {
		return false
	}
	_, known := o.frees[h.conn]
	return known
}

// around returns the lanes of the pools that an outlook is of, in the order of ids: those
// that share a waiter with one of them.
func (s *State) around(l *lane) []*lane {
	list := []*lane{l}
	add := func(x *lane) {
		if x != nil && !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	for i := 0; i < len(list); i++ {
		for to := range maps.Keys(list[i].reaches) {
			add(to)
		}
		for _, from := range s.routes.busy {
			if from.reaches[list[i]] > 0 {
				add(from)
			}
		}
	}
	slices.SortFunc(list, func(a, b *lane) int { return strings.Compare(a.pool.doc.ID, b.pool.doc.ID) })
	return list
}

// make plays it through. A place that is free now, where all have been served, is one
// that who waits may not take.
func (x *outlooks) make(s *State, o *outlook, r *reader) {
	o.until = routing.Never
	waiting := 0
	for _, l := range o.lanes {
		waiting += l.backlog.Len()
		o.until = min(o.until, l.backlog.Deadline())
	}
	if waiting == 0 {
		return
	}
	x.play.Begin(o.from)
	x.places, x.wants, x.named = make(map[ref]int), make(map[routing.Ticket][]int), 0
	for i, l := range o.lanes {
		x.addPlaces(s, o, l, r, i+1)
	}
	for i, l := range o.lanes {
		if l.backlog.Len() > 0 {
			x.play.Line(&l.backlog, i+1, serving{s: s, l: l}.Quantum, func(t routing.Ticket) ([]int, bool) { return x.wanted(s, t) })
		}
	}
	x.play.Run()
	o.frees = make(map[ref]int64, len(x.places))
	for conn, at := range x.places {
		o.frees[conn] = x.play.FreeAt(at)
	}
}

// addPlaces adds the connections of a pool that take so many at a time. The others are
// no matter of places.
func (x *outlooks) addPlaces(s *State, o *outlook, l *lane, r *reader, number int) {
	if l.pool.doc.Mode != plans.Enforce {
		return
	}
	for i, conn := range l.pool.conns {
		c := &l.pool.doc.Connections[i]
		if c.MaxConcurrent == 0 {
			continue
		}
		full := false
		if h := s.holds.on(conn); h != nil {
			full = int64(h.n) >= c.MaxConcurrent
			o.until = min(o.until, s.holds.at(h.ends[0]).end)
		}
		x.places[conn] = x.play.Place(routing.Candidate{
			Pool: number, Weight: c.Weight, Credit: l.credits[i], MaxConcurrent: c.MaxConcurrent,
		}, r.endsAfter(conn, c.ConnectionID, o.from), !full && !o.touched)
	}
}

// wanted returns the places of the candidates that a waiter chose, in its order.
func (x *outlooks) wanted(s *State, t routing.Ticket) (list []int, chosen bool) {
	y := s.routes.tickets[t]
	if y.candidates == nil {
		return nil, false
	}
	list, known := x.wants[t]
	if !known && x.named < mostNamed {
		for _, c := range y.candidates {
			if at, limited := x.places[s.conns.find(c.ConnectionID)]; limited {
				list = append(list, at)
			}
		}
		x.named += len(y.candidates)
		x.wants[t] = list
	}
	return list, true
}

// freeAt is the first instant at which a connection lets the wish pass that only lacks
// a place, when nothing happens but that time goes by. When others wait it is the first
// place that is for none of them: what the rules block until then is not looked at, as
// it would be for them as well.
func (s *State) freeAt(c *chooser, locals *Locals, a *Asked) int64 {
	of, somebody := make([]*outlook, len(c.pools)), false
	for n, p := range c.pools {
		of[n] = s.lookOut(p.lane, &c.asked[n].reader, c.now)
		somebody = somebody || of[n] != nil
	}
	if !somebody {
		_, at := s.firstFree(c.w, c.now, locals, a, mostSearched)
		return at
	}
	at := routing.Never
	for i := range c.of {
		if c.of[i].gate == routing.Capacity {
			n := c.list[i].Pool - 1
			at = min(at, of[n].freeOn(c.of[i].conn, c.place(i), &c.asked[n].reader, c.now))
		}
	}
	return at
}

// freeOn is the first instant at which a connection has a place that is for nobody who
// waits; nobody waits when there is no outlook.
func (o *outlook) freeOn(conn ref, c *plans.Connection, r *reader, now int64) int64 {
	if o == nil {
		return r.placeAt(conn, c, now)
	}
	if at, limited := o.frees[conn]; limited {
		return max(at, now)
	}
	return now
}
