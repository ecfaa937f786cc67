package projector

import (
	"slices"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// serveBacklogs ends the waits that are over at log time, and lets pass whoever can,
// pool by pool in the order of their ids. Only where something changed, or time
// brought something, anybody is looked at.
//
// A request with candidates in several pools waits in the backlog of the first of them
// that lacks a place. There it is served in its key's turn like any other, for a place of
// that pool: so it does not starve, however many wait in the others. A place elsewhere it
// takes only when nobody who waits in that pool's own backlog can: a key that asks much
// of one pool would take all of another before those that have none but it. To let it
// wait in all would give its key a turn in each, and let one request pay twice.
//
// It is done before the events of a message and after them: what leases that ended
// left free is for those that wait, and not for the next that comes.
func (s *State) serveBacklogs() {
	r := &s.routes
	if !r.touched && !r.stale && s.logTime < r.due {
		return
	}
	for _, l := range r.busy {
		s.expireWaiters(l)
		if l.touched || l.due <= s.logTime || l.roaming > 0 && r.touched {
			l.touched = true
			s.serve(l, true)
		}
	}
	for _, l := range r.busy {
		if l.touched && l.roaming > 0 {
			s.serve(l, false)
		}
	}
	s.settleLanes()
}

// settleLanes works out when to look again.
func (s *State) settleLanes() {
	r := &s.routes
	r.touched, r.stale, r.due = false, false, routing.Never
	busy := r.busy[:0]
	for _, l := range r.busy {
		changed := l.touched || l.stale
		l.touched, l.stale = false, false
		switch {
		case l.backlog.Len() == 0:
			l.due = routing.Never
			continue
		case changed:
			l.due = s.dueOf(l)
		}
		busy = append(busy, l)
		r.due = min(r.due, l.due)
	}
	clear(r.busy[len(busy):])
	r.busy = busy
}

// expireWaiters ends the waits that are over.
func (s *State) expireWaiters(l *lane) {
	s.routes.outlook = outlook{open: true}
	defer func() { s.routes.outlook = outlook{} }()
	for {
		w, ok := l.backlog.Expire(s.logTime)
		if !ok {
			return
		}
		x := s.routes.tickets[w.Ticket]
		s.routes.forget(x)
		s.counts.Holds.TimedOut++
		s.refuse(x)
	}
}

// serve lets pass whoever can of one lane; home says to its own pool alone.
func (s *State) serve(l *lane, home bool) {
	for l.backlog.Len() > 0 && s.hasRoom(l) {
		w, ok := l.backlog.Next(serving{s, l, home})
		s.routes.touch(l) // what it was told of when to look again
		if !ok {
			return
		}
		x := s.routes.tickets[w.Ticket]
		s.routes.forget(x)
		s.grant(x)
	}
}

// grant gives a request that waited the connection that it waited for.
func (s *State) grant(x *seeker) {
	c := &s.routes.chooser
	c.choose(s, &x.wish, s.logTime, nil)
	s.counts.Holds.Granted++
	s.conclude(c, &ruling{wish: &x.wish, expects: x.expects, index: questions.FromView, waited: true, room: true})
}

// refuse tells who waits for a waiter that its wait is over.
func (s *State) refuse(x *seeker) {
	c := &s.routes.chooser
	c.choose(s, &x.wish, s.logTime, nil)
	s.conclude(c, &ruling{wish: &x.wish, expects: x.expects, index: questions.FromView, waited: true, room: true, over: true})
}

// leaveBacklog ends the wait of a request that is given up, was made all the same, or
// asks anew.
func (s *State) leaveBacklog(request idHash) {
	x := s.routes.byRequest[request]
	if x == nil {
		return
	}
	x.lane.backlog.Remove(x.Ticket)
	s.routes.forget(x)
	s.counts.Holds.Left++
	s.refuse(x)
}

// closeLane ends the waits for a pool that is no more. Who has candidates of its own
// may find one of them free now, or wait for one in another pool.
func (s *State) closeLane(l *lane) {
	r := &s.routes
	if l.stored || l.dirty {
		r.goneLanes = append(r.goneLanes, l.pool.doc.ID)
	}
	for _, w := range l.waiting() {
		x := r.tickets[w.Ticket]
		l.backlog.Remove(w.Ticket)
		r.forget(x)
		if x.candidates == nil || !s.goesElsewhere(x) {
			s.counts.Holds.Left++
			s.refuse(x)
		}
	}
	if at, known := r.find(l); known {
		r.busy = slices.Delete(r.busy, at, at+1)
	}
	r.touched = true // its connections are free for those of other pools that roam
}

// goesElsewhere finds a connection, or another backlog, for a request whose own is no
// more. There it is the last of its key, as the others wait there already; its time goes
// on.
func (s *State) goesElsewhere(x *seeker) bool {
	c := &s.routes.chooser
	c.choose(s, &x.wish, s.logTime, nil)
	if p := s.waitsIn(c, x.Key); p != nil {
		return s.routes.enter(&seeker{wish: x.wish, Waiter: x.Waiter, lane: p.lane, expects: x.expects})
	}
	if c.choice.Winner < 0 {
		return false
	}
	s.grant(x)
	return true
}

// serving are the rules of a lane for its backlog.
type serving struct {
	s    *State
	l    *lane
	home bool // nobody passes to another pool now; who roams is asked again after it
}

// Quantum implements routing.Rules. A key that shares an allocation with others has
// none of its own.
func (x serving) Quantum(k routing.Key) quota.Amount {
	weight := quota.Ratio(0)
	if i, ok := x.l.pool.alloc[ref(k)]; ok {
		weight = x.l.pool.doc.Allocations[i].Weight
	}
	return routing.Quantum(weight)
}

// Passes implements routing.Rules. One that is kept back by an earlier one of its key is
// looked at again when that one has gone, or anything else has happened.
func (x serving) Passes(w *routing.Waiter) (ok bool, at int64) {
	s := x.s
	y := s.routes.tickets[w.Ticket]
	c := &s.routes.chooser
	switch at := c.choose(s, &y.wish, s.logTime, nil).Winner; {
	case at >= 0 && (!x.home || c.poolOf(at) == x.l.pool):
		return !s.comesLater(c, y), routing.Never
	case x.home && x.l.roaming > 0:
		return false, routing.Never
	}
	_, at = s.firstFree(&y.wish, s.logTime, nil, &s.judging, len(y.candidates))
	return false, at
}
