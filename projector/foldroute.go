package projector

import (
	"math"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/routing"
)

// Route is the choice of a connection.
type Route struct {
	ConnectionID string                     // chosen, and held by the fold's verdict; "" on a block
	Candidates   []questions.RouteCandidate // in the order in which they are to be tried
	Waited       bool                       // it was in a backlog
	// FreeAt is, on a block for want of room, the first instant at which there is some
	// that nobody waits for, epoch ms: now when the wait was over just as there was;
	// routing.Never when time alone brings none, and 0 when that is not why.
	FreeAt int64
	// PoolDeleted says why it is blocked for want of room: the pool was deleted while it
	// waited for a place in it.
	PoolDeleted bool
}

// ruling is a verdict on a wish in the making.
type ruling struct {
	wish    *wish
	expects string // id of the hold event, "" = nobody waits for the verdict
	index   int    // of the event in its message
	waited  bool
	over    bool   // its wait is: nobody is chosen any more
	room    bool   // there is room for one more hold
	settled bool   // its consumption came before
	before  uint32 // the hold that the request has, 0 = none
}

// foldRoute judges a hold that leaves the connection open: it chooses one, and opens
// the hold on it, or lets the request wait for one.
func (s *State) foldRoute(e *events.Event, index int, n *identity, settled bool) {
	w := wishOf(e, n)
	v := ruling{wish: &w, expects: e.ID, index: index, settled: settled, before: s.holds.byID[n.request]}
	v.room = s.roomAt(v.before) == 0
	c := &s.routes.chooser
	c.choose(s, &w, s.logTime, nil)
	if v.room && !settled && !s.renews(c, v.before) && s.wait(e, c) {
		if v.before != 0 {
			s.endHold(v.before)
			s.counts.Holds.Withdrawn++
		}
		s.counts.Holds.Waited++
		return
	}
	s.conclude(c, &v)
}

// renews reports whether the request holds a connection that it may have again. What
// is under way does not go behind those that have not begun: its place is its own.
func (s *State) renews(c *chooser, before uint32) bool {
	return before != 0 && slices.ContainsFunc(c.of, func(x contender) bool {
		return x.conn == s.holds.at(before).conn && x.gate <= routing.Saturated
	})
}

// wait lets the request wait, and reports whether it does: there is time left, and the
// backlog has room.
func (s *State) wait(e *events.Event, c *chooser) bool {
	if e.MaxWaitMs == 0 {
		return false
	}
	p := s.waitsIn(c, routing.Key(s.names.find(e.APIKeyID)))
	if p == nil {
		return false
	}
	x := &seeker{wish: c.w.keep(), lane: p.lane, expects: strings.Clone(e.ID)}
	x.Waiter = routing.Waiter{
		Key: routing.Key(s.names.intern(e.APIKeyID)), Want: c.w.want(), Cost: routing.Cost(&e.Cost), Arrived: s.logTime,
		Deadline: s.logTime + e.MaxWaitMs, Lease: e.LeaseMs,
	}
	return s.enter(x)
}

// waitsIn is the pool in whose backlog a request of the key would wait, nil when it
// would in none: all that it lacks is a place, or nothing, and an earlier one of its key
// waits for the same.
func (s *State) waitsIn(c *chooser, key routing.Key) *pool {
	if c.choice.Gate == routing.Capacity {
		return c.waitsIn()
	}
	if c.choice.Winner < 0 {
		return nil
	}
	if p := c.poolOf(c.choice.Winner); p != nil && s.isBehind(c, p.lane, key, math.MaxUint64) {
		return p
	}
	return nil
}

// conclude gives the verdict on what was chosen, and opens the hold.
func (s *State) conclude(c *chooser, v *ruling) {
	chosen := c.choice.Winner >= 0 && !v.over
	held := chosen && v.room && !v.settled
	if x := s.expected.take(v.expects); x != nil {
		s.fillRoute(c, v, &x.Asked, &x.Route, x.Question.Explain, nil)
		x.Seq, x.Index, x.Held = s.folding, v.index, held
		s.judged = append(s.judged, x)
	}
	if v.before != 0 {
		s.endHold(v.before)
	}
	if held {
		s.pay(c)
		s.openHold(v.wish, s.connRef(c.of[c.choice.Winner].ConnectionID))
	}
	switch {
	case !v.waited:
		s.countHold(v.before != 0, held, chosen && v.settled)
	case held:
		s.counts.Holds.Opened++
	}
}

// fillRoute tells of a choice what there is to tell: the candidates, and what the
// verdict on the one depends on that it is about.
func (s *State) fillRoute(c *chooser, v *ruling, a *Asked, r *Route, explain bool, locals *Locals) {
	*r = Route{Candidates: c.candidates(r.Candidates[:0]), Waited: v.waited}
	about := ""
	switch {
	case c.choice.Winner >= 0:
		about = c.of[c.choice.Winner].ConnectionID
	case c.choice.Gate == routing.Capacity: // it is why the others do not help
		r.FreeAt = s.freeAt(c, locals, a)
		about = c.firstPlace()
	case c.w.pool == "":
		about, _ = s.firstFree(c.w, c.now, locals, a, mostSearched)
	}
	a.begin(s, c.now, locals)
	q := c.w.question(about, "")
	switch r.PoolDeleted = v.over && c.w.pool != "" && s.pools[c.w.pool] == nil; {
	case r.PoolDeleted:
		r.FreeAt, a.notBefore = routing.Never, c.now+1
	case v.over && c.choice.Winner >= 0:
		r.FreeAt, a.notBefore = c.now, c.now+1 // there is room, and not for this one: it may ask again
	case about == "":
		q.Pool = c.w.pool
	}
	q.Explain = explain
	s.gather(&q, a, a, c.w.request)
	a.forgetShared()
	switch {
	case c.choice.Winner >= 0 && !v.over && a.Facts.Judge(c.now).Allowed():
		r.ConnectionID = about
	case !v.room && c.choice.Gate <= routing.Capacity:
		r.FreeAt = max(r.FreeAt, s.roomAt(v.before))
	}
}

// place is the i-th candidate as its pool has it.
func (c *chooser) place(i int) *plans.Connection { return &c.poolOf(i).doc.Connections[c.of[i].place] }

// firstPlace returns which of those that lack only a place has one first.
func (c *chooser) firstPlace() (connectionID string) {
	first := routing.Never
	for i := range c.of {
		if c.of[i].gate != routing.Capacity {
			continue
		}
		if at := c.asked[c.list[i].Pool-1].reader.placeAt(c.of[i].conn, c.place(i), c.now); at < first {
			first, connectionID = at, c.of[i].ConnectionID
		}
	}
	return connectionID
}

// mostSearched is how many of a caller's own candidates a reply looks at for the one
// that comes free first. To find out when a block ends takes as long as ten decisions,
// and the fold waits meanwhile.
const mostSearched = 64

// firstFree returns the candidate that the rules let pass first, when nothing happens
// but that time goes by, and the instant: the first candidate and routing.Never when
// it is none. Of a wish for a pool it names none; of many candidates it looks at most
// at so many.
func (s *State) firstFree(w *wish, now int64, locals *Locals, a *Asked, most int) (connectionID string, at int64) {
	at = routing.Never
	a.begin(s, now, locals)
	a.roomIsKept = true
	ask := func(connectionID string) bool {
		q := w.question(connectionID, w.pool)
		s.gather(&q, a, a, w.request)
		a.forgetShared()
		ms, ok := a.Facts.RetryAfter(now)
		if !ok || now+ms >= at {
			return false
		}
		at = now + ms
		return true
	}
	if w.pool != "" {
		ask("")
		return "", at
	}
	connectionID = w.candidates[0].ConnectionID
	for _, c := range w.candidates[:min(most, len(w.candidates))] {
		if ask(c.ConnectionID) {
			connectionID = c.ConnectionID
		}
	}
	return connectionID, at
}

// endHold ends a hold. Who waits for its place may pass.
func (s *State) endHold(at uint32) {
	s.touchConn(s.holds.at(at).conn)
	s.changed(s.holds.at(at).conn)
	s.holds.remove(at)
}

// roomAt is the first instant at which there is room for one more hold beside those
// that are open and those that wait, 0 = now. One that is replaced makes room.
func (s *State) roomAt(replaced uint32) int64 {
	if s.holds.len()+s.routes.len() < s.maxHolds || replaced != 0 {
		return 0
	}
	at := int64(math.MaxInt64)
	if s.holds.len() > 0 {
		at = s.holds.firstEnd()
	}
	for _, l := range s.routes.busy {
		at = min(at, l.backlog.Deadline())
	}
	return at
}
