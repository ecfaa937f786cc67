package projector

import (
	"slices"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/routing"
)

// isBehind reports whether an earlier request of the key waits in the lane that would
// lose something to the one that was chosen for, which came as the so manieth.
func (s *State) isBehind(c *chooser, l *lane, key routing.Key, number uint64) bool {
	_, behind := s.before(c, l, key, number)
	return behind
}

// before returns that earlier request. Asked are the first of each want: those behind one
// wait for it first. Of very many that do not the last ones are not looked at, and it is
// behind one that is not known.
func (s *State) before(c *chooser, l *lane, key routing.Key, number uint64) (by *seeker, behind bool) {
	for w := range l.backlog.Firsts(key) {
		switch x := s.routes.tickets[w.Ticket]; {
		case x.number >= number:
			return nil, false
		case s.claims(x, c):
			return x, true
		}
	}
	return nil, l.backlog.LenOf(key) > mostSearched
}

// yield leaves out what was chosen for a waiter when an earlier one of its key has a claim
// on it, in its own lane or in that of the pool where the place is, and reports whether it
// does. With it goes what that one claims alike, so that it is not asked for each.
func (s *State) yield(c *chooser, x *seeker) bool {
	winner, to := c.choice.Winner, c.poolOf(c.choice.Winner)
	by, _ := s.before(c, x.lane, x.Key, x.number)
	behind := by != nil // in its own lane it is among those that are looked at
	if !behind && to != nil && to.lane != x.lane {
		by, behind = s.before(c, to.lane, x.Key, x.number)
	}
	if !behind {
		return false
	}
	c.leaveOut(func(i int) bool {
		p := c.poolOf(i)
		switch {
		case i == winner:
			return true
		case c.list[i].Gate() > routing.Saturated: // it is not to be had, and its time may come
			return false
		case by == nil:
			return p == to
		}
		return by.model == x.model && (by.lane == x.lane || p != nil && p.lane == by.lane) && by.mayUse(c.of[i].ConnectionID, p)
	})
	return true
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
	_, known := slices.BinarySearch(x.ids, connectionID)
	return known
}
