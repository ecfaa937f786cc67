package projector

import (
	"slices"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/routing"
)

// serveBacklogs ends the waits that are over at log time, and lets pass whoever can,
// pool by pool in the order of their ids. Only where something changed, or time
// brought something, anybody is looked at.
//
// A request with candidates in several pools waits in the backlog of the first of them
// that lacks a place. There it is served in its key's turn like any other, for a place of
// that pool, even when it would like another one better: so it does not starve, however
// many wait in the others. A place elsewhere it takes only when nobody who waits in that
// pool's own backlog can: a key that asks much of one pool would take all of another
// before those that have none but it. To let it wait in all would give its key a turn in
// each, and let one request pay twice.
//
// Who goes makes room for those of its key that were behind it, and these may wait in
// another lane, one that was looked at before. So it is done again until nobody goes.
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
		l.touched = l.touched || l.due <= s.logTime
	}
	for s.serveTouched() {
	}
	s.settleLanes()
}

// serveTouched serves the lanes in which somebody may pass, each in its own pool and then
// elsewhere, and reports whether somebody went.
func (s *State) serveTouched() (went bool) {
	for _, l := range s.routes.busy {
		if l.touched {
			went = s.serve(l, true) || went
		}
	}
	for _, l := range s.routes.busy {
		if l.touched { // only those that roam are so still, or are so again
			went = s.serve(l, false) || went
		}
	}
	return went
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

// serve lets pass whoever can of one lane, and reports whether somebody went; home says
// to its own pool alone.
func (s *State) serve(l *lane, home bool) (went bool) {
	for l.backlog.Len() > 0 && s.hasRoom(l) {
		w, ok := l.backlog.Next(serving{s, l, home})
		s.routes.touch(l) // what it was told of when to look again
		if !ok {
			break
		}
		x := s.routes.tickets[w.Ticket]
		x.changed()
		s.place(x, home) // as it was let pass
		s.routes.forget(x)
		s.grant(x)
		went = true
	}
	if !home || l.roaming == 0 {
		l.touched, l.stale = false, true
	}
	return went
}

// grant gives a request that waited what was chosen for it.
func (s *State) grant(x *seeker) {
	s.counts.Holds.Granted++
	s.conclude(&s.routes.chooser, &ruling{wish: &x.wish, expects: x.expects, index: questions.FromView, waited: true, room: true})
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
	x.changed()
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
		x.changed()
		r.forget(x)
		if x.candidates == nil || !s.goesElsewhere(x) {
			s.counts.Holds.Left++
			s.refuse(x)
		}
	}
	if at, known := r.find(l); known {
		r.busy = slices.Delete(r.busy, at, at+1)
	}
}

// goesElsewhere finds a connection, or another backlog, for a request whose own is no
// more. There it is the last of its key, as the others wait there already; its time goes
// on.
func (s *State) goesElsewhere(x *seeker) bool {
	c := &s.routes.chooser
	c.choose(s, &x.wish, s.logTime, nil)
	if p := s.waitsIn(c, x.Key); p != nil {
		return s.enter(&seeker{wish: x.wish, Waiter: x.Waiter, lane: p.lane, expects: x.expects})
	}
	if c.choice.Winner < 0 {
		return false
	}
	s.grant(x)
	return true
}
