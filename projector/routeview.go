package projector

import (
	"slices"
	"strings"
	"sync"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/questions"
)

// choosers are those of readers.
var choosers = sync.Pool{New: func() any { return new(chooser) }}

// GatherRoute makes the choice that a question wants as it would be now, of one state,
// whose sequence it returns. Nothing is paid and nobody waits: the fold may choose
// otherwise, and lets those pass first that wait for the place. now is the caller's
// time; a.Now is the later of it and the log time.
func (s *State) GatherRoute(q *questions.Question, now int64, a *Asked, r *Route) (seq uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now = max(now, s.logTime)
	locals := s.Locals.read(now)
	defer locals.readDone()
	c := choosers.Get().(*chooser)
	defer choosers.Put(c)
	w := wishOfQuestion(q)
	c.choose(s, &w, now, locals)
	v := ruling{wish: &w, before: s.holds.byID[w.request]}
	v.room = s.roomAt(v.before) <= now
	s.fillRoute(c, &v, a, r, q.Explain, locals)
	c.forget()
	return s.pos.Seq
}

// forget lets go of the state.
func (c *chooser) forget() {
	clear(c.pools)
	for _, a := range c.asked {
		a.Pool, a.reader, a.locals = nil, reader{}, nil
	}
	c.s, c.w, c.locals, c.reader = nil, nil, nil, reader{}
}

// Due returns the earliest instant at which time alone brings something for a request
// that waits, epoch ms: the end of its wait, or of a lease, or of a block. It is
// routing.Never when there is none. Until something is written to the log nothing
// comes of it.
func (s *State) Due() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.routes.due
}

// Waits reports whether that request waits for a connection.
func (s *State) Waits(apiKeyID, requestID string) bool {
	request := requestOf(apiKeyID, requestID)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.routes.byRequest[request] != nil
}

// BacklogStats are figures of the requests of a key that wait for a connection of a
// pool.
type BacklogStats struct {
	Pool, APIKeyID string
	Waiting        int
	Since          int64 // log time at which the first of them came, epoch ms
}

// Backlogs returns the figures at an instant of all keys that have something waiting,
// pool by pool in the order of ids, as of one moment. Waits that are over by then are
// left out, though the log has not come to their ends.
func (s *State) Backlogs(now int64) (list []BacklogStats) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, l := range s.routes.busy {
		from := len(list)
		for t := range l.backlog.Turns() {
			if n, since := l.waitsOf(t.Key, now); n > 0 {
				list = append(list, BacklogStats{Pool: l.pool.doc.ID, APIKeyID: s.names.id(ref(t.Key)), Waiting: int(n), Since: since})
			}
		}
		slices.SortFunc(list[from:], func(a, b BacklogStats) int { return strings.Compare(a.APIKeyID, b.APIKeyID) })
	}
	return list
}

// flights is a connection and what is in flight on it.
type flights struct {
	connectionID     string
	n, maxConcurrent int64
}

// InFlight yields how many holds are open on each connection of a pool, and how many
// it takes at a time, 0 = as many as come; pool by pool in the order of ids, as of one
// moment.
func (s *State) InFlight(yield func(connectionID string, n, maxConcurrent int64) bool) {
	for _, x := range s.flights() {
		if !yield(x.connectionID, x.n, x.maxConcurrent) {
			return
		}
	}
}

func (s *State) flights() (list []flights) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, p := range s.poolList {
		for i, conn := range p.conns {
			x := flights{connectionID: p.doc.Connections[i].ConnectionID, maxConcurrent: p.doc.Connections[i].MaxConcurrent}
			if c := s.holds.on(conn); c != nil {
				x.n = int64(c.n)
			}
			list = append(list, x)
		}
	}
	return list
}

// lookAhead finds out when a question that lacks only a place on its connection has
// one, should others wait for one there: those go first, as they do before a route that
// does not wait.
func (s *State) lookAhead(q *questions.Question, a *Asked) {
	r := &a.reader
	if a.verdictOnly || !q.Reserve || q.ConnectionID == "" || r.p == nil || s.routes.len() == 0 {
		return
	}
	if v := a.Facts.Judge(a.Now); v.Reason != fairshare.Capacity || v.Scope != fairshare.ScopeConnection {
		return
	}
	if o := s.lookOut(r.p.lane, r, a.Now); o != nil {
		_, at := s.asked(q)
		a.FreeAt = o.freeOn(r.p.conns[at], &r.p.doc.Connections[at], r, a.Now)
	}
}
