package projector

import (
	"slices"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/routing"
)

// isBehind reports whether an earlier request of the key waits in the lane that would
// lose something to the one that was chosen for, which came as the so manieth. Asked are
// the first of each want: those behind one wait for it first. Of very many that do not
// the last ones are not looked at.
func (s *State) isBehind(c *chooser, l *lane, key routing.Key, number uint64) bool {
	for w := range l.backlog.Firsts(key) {
		switch x := s.routes.tickets[w.Ticket]; {
		case x.number >= number:
			return false
		case s.claims(x, c):
			return true
		}
	}
	return l.backlog.LenOf(key) > mostSearched
}

// comesLater reports whether a waiter that might go is behind one of its key: in its own
// lane, or in that of the pool where its place would be.
func (s *State) comesLater(c *chooser, x *seeker) bool {
	to := c.poolOf(c.choice.Winner)
	return s.isBehind(c, x.lane, x.Key, x.number) || to != nil && to.lane != x.lane && s.isBehind(c, to.lane, x.Key, x.number)
}

// claims reports whether a request that waits would lose something to the one that was
// chosen for: it may use the connection too, and what holds it back there is not a rule
// for its model alone, of which another model takes nothing. What is left of a key's
// share it would lose: small requests must not use it up before a large one. Time alone
// takes no claim away, as no rule for a model comes to block by it.
func (s *State) claims(x *seeker, c *chooser) bool {
	to := c.of[c.choice.Winner].ConnectionID
	switch {
	case !x.mayUse(to, c.poolOf(c.choice.Winner)):
		return false
	case x.model == c.w.model:
		return true
	}
	a := &s.judging
	a.begin(s, s.logTime, nil)
	a.verdictOnly = true
	q := x.question(to, "")
	s.gather(&q, a, a, x.request)
	a.forgetShared()
	v := a.Facts.Judge(s.logTime)
	return v.Allowed() || v.Scope != fairshare.ScopeModel
}

// mayUse reports whether it is a connection that the request waits for, which is of that
// pool, or of none.
func (x *seeker) mayUse(connectionID string, p *pool) bool {
	if x.candidates == nil {
		return p == x.lane.pool
	}
	return slices.ContainsFunc(x.candidates, func(y events.Candidate) bool { return y.ConnectionID == connectionID })
}
