package projector

import (
	"slices"
	"strings"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/routing"
)

// lane is what a pool keeps from one choice to the next, and over a change of its
// document.
type lane struct {
	pool    *pool
	credits []int64 // of its connections, in pool order
	backlog routing.Backlog
	roaming int           // of those that wait, how many have candidates elsewhere
	reaches map[*lane]int // … and in which pools; nil = in none
	touched bool          // somebody that waits may pass since it was served
	stale   bool          // due may be another one since
	due     int64         // when time alone brings something; see State.dueOf
	dirty   bool          // it is on the list of the next cut
	stored  bool          // the store has a record of it
	changes uint64        // what an outlook depends on changed so many times
	outlook *outlook
}

// seeker is a request in a backlog: a hold that counts nowhere yet.
type seeker struct {
	wish
	routing.Waiter
	lane    *lane
	reach   []*lane  // of its candidates' pools, without its own; nil = in none
	ids     []string // of its candidates, sorted
	expects string   // id of its hold event, when somebody here may wait for the verdict
	number  uint64   // rising in the order in which they came
	open    bool
	stored  bool
	dirty   bool // it is on the list of the next cut
}

// routes are all lanes, and all that wait.
type routes struct {
	chooser   chooser // the fold's
	outlooks  outlooks
	byRequest map[idHash]*seeker
	tickets   []*seeker // by ticket; nil = unused
	unused    []routing.Ticket
	number    uint64  // of the newest waiter
	busy      []*lane // those in which somebody waits, by pool id
	touched   bool    // something changed that a request may wait for
	stale     bool    // a lane is
	due       int64   // the earliest of the lanes, Never when nobody waits

	dirty      []*seeker // changed since the last cut
	gone       []idHash  // those that the store has and the state has not
	dirtyLanes []*lane
	goneLanes  []string // pools
}

func newRoutes() routes { return routes{byRequest: make(map[idHash]*seeker), due: routing.Never} }

// len returns how many wait.
func (r *routes) len() int { return len(r.byRequest) }

// touch puts the lane on the list of the next cut.
func (r *routes) touch(l *lane) {
	if !l.dirty {
		l.dirty = true
		r.dirtyLanes = append(r.dirtyLanes, l)
	}
}

// enter lets a waiter, whose lane is set, into its backlog, and reports whether
// there is room.
func (s *State) enter(x *seeker) bool {
	r := &s.routes
	x.Ticket = routing.Ticket(len(r.tickets))
	if n := len(r.unused); n > 0 {
		x.Ticket = r.unused[n-1]
	}
	if x.lane.backlog.Push(x.Waiter) != nil {
		return false // full for this key: that the ticket is new and the cost is one is sure
	}
	r.number++
	x.number, x.dirty = r.number, true
	r.dirty = append(r.dirty, x)
	s.list(x)
	x.lane.touched, r.touched = true, true
	return true
}

// list makes a waiter known that is in its backlog.
func (s *State) list(x *seeker) {
	r := &s.routes
	if n := len(r.unused); n > 0 {
		r.unused = r.unused[:n-1]
		r.tickets[x.Ticket] = x
	} else {
		r.tickets = append(r.tickets, x)
	}
	r.byRequest[x.request] = x
	x.open = true
	for i := range x.candidates {
		x.ids = append(x.ids, x.candidates[i].ConnectionID)
	}
	slices.Sort(x.ids)
	s.setReach(x)
	x.changed()
	if at, known := r.find(x.lane); !known {
		r.busy = slices.Insert(r.busy, at, x.lane)
	}
	r.touch(x.lane)
}

func (r *routes) find(l *lane) (at int, known bool) {
	return slices.BinarySearchFunc(r.busy, l, func(a, b *lane) int { return strings.Compare(a.pool.doc.ID, b.pool.doc.ID) })
}

// forget is the end of a waiter that left its backlog.
func (r *routes) forget(x *seeker) {
	delete(r.byRequest, x.request)
	r.tickets[x.Ticket] = nil
	r.unused = append(r.unused, x.Ticket)
	x.open = false
	x.dropReach()
	if x.stored {
		r.gone = append(r.gone, x.request)
	}
	r.touch(x.lane)
	r.wake(x.lane) // who was behind it may pass
}

// wake says that something changed in a pool that a request may wait for, nil = of those
// that are in none: one in its lane, or one that has a candidate there.
func (r *routes) wake(to *lane) {
	for _, l := range r.busy {
		if l.has(to) {
			l.touched, r.touched = true, true
		}
	}
}

// has reports whether somebody in the lane may wait for a place of that one's pool.
func (l *lane) has(to *lane) bool { return l == to || l.reaches[to] > 0 }

// setReach finds out where the candidates of a waiter are. Only who has some elsewhere
// roams: most callers name those of one pool.
func (s *State) setReach(x *seeker) {
	for i := range x.candidates {
		l := s.laneOf(s.conns.find(x.candidates[i].ConnectionID))
		if l != x.lane && !slices.Contains(x.reach, l) {
			x.reach = append(x.reach, l)
		}
	}
	if len(x.reach) == 0 {
		return
	}
	if x.lane.reaches == nil {
		x.lane.reaches = make(map[*lane]int)
	}
	x.lane.roaming++
	for _, l := range x.reach {
		x.lane.reaches[l]++
	}
}

// dropReach takes a waiter out of what its lane reaches.
func (x *seeker) dropReach() {
	if len(x.reach) == 0 {
		return
	}
	at := x.lane.reaches
	x.lane.roaming--
	for _, l := range x.reach {
		if at[l]--; at[l] == 0 {
			delete(at, l)
		}
	}
	x.reach = nil
}

// regroup is after a change of which connections are in which pool. They may be free for
// others now.
func (s *State) regroup() {
	for _, x := range s.routes.tickets {
		if x != nil {
			x.dropReach()
			s.setReach(x)
		}
	}
	s.regrouped()
	s.touchLanes()
}

// keepLane gives a pool the lane of the document before it: who waits stays.
func (s *State) keepLane(l *lane, p *pool) {
	l.credits = routing.MoveCredits(l.credits, l.pool.doc.Connections, p.doc.Connections)
	l.pool, p.lane = p, l
	s.routes.touch(l)
}

// touchConn says that something changed on a connection that a request may wait for.
func (s *State) touchConn(conn ref) {
	if s.routes.len() > 0 {
		s.routes.wake(s.laneOf(conn))
	}
}

// compares reports whether the connection's pool goes by the rule guarantee, which
// compares keys: there what one uses may leave less for it, and let another one pass.
func (s *State) compares(c *connection) bool {
	return c.pool != 0 && s.poolAt[c.pool-1].doc.Rule == plans.Guarantee
}

// takePlace says that one more place of a connection is taken: nobody passes for
// that, and it may last longer until somebody does.
func (s *State) takePlace(conn ref) {
	to := s.laneOf(conn)
	for _, l := range s.routes.busy {
		if l.has(to) {
			l.stale, s.routes.stale = true, true
		}
	}
}

// touchLanes says that something changed for all.
func (s *State) touchLanes() {
	for _, l := range s.routes.busy {
		l.touched, s.routes.touched = true, true
	}
}

// laneOf returns the lane of the connection's pool, nil when it is in none.
func (s *State) laneOf(conn ref) *lane {
	if at := s.conn(conn).pool; at != 0 {
		return s.poolAt[at-1].lane
	}
	return nil
}

// hasRoom reports whether one more request of the lane could pass, whichever it is, in
// its pool or where it roams.
func (s *State) hasRoom(l *lane) bool {
	if s.hasPlace(l) {
		return true
	}
	for to := range l.reaches {
		if to == nil || s.hasPlace(to) {
			return true
		}
	}
	return false
}

// hasPlace reports whether the lane's pool has a place free.
func (s *State) hasPlace(l *lane) bool {
	if l.pool.doc.Mode != plans.Enforce {
		return true
	}
	for i, conn := range l.pool.conns {
		most := l.pool.doc.Connections[i].MaxConcurrent
		if c := s.holds.on(conn); most == 0 || c == nil || int64(c.n) < most {
			return true
		}
	}
	return false
}

// dueOf is the first instant at which time alone brings something in the lane: the
// end of a wait; a place, when none is free; else what the rules say, as its backlog
// was told when it was served. It follows from the state: after a restart it is the
// same.
func (s *State) dueOf(l *lane) int64 {
	if s.hasRoom(l) {
		return l.backlog.Due()
	}
	due := min(l.backlog.Deadline(), s.placeIn(l.pool))
	for to := range l.reaches {
		due = min(due, s.placeIn(to.pool))
	}
	return due
}

// placeIn is the first instant at which a connection of the pool has a place.
func (s *State) placeIn(p *pool) int64 {
	r := reader{s: s}
	at := routing.Never
	for i, conn := range p.conns {
		at = min(at, r.placeAt(conn, &p.doc.Connections[i], s.logTime))
	}
	return at
}

// waiting returns what waits, key by key in the order in which they are visited.
func (l *lane) waiting() []routing.Waiter { return l.backlog.Save().Waiters }
