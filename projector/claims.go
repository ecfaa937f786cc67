package projector

import (
	"slices"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/routing"
)

// isBehind reports whether an earlier request of the key waits for the connection that
// was chosen. Of very many that do not, it is not looked at the last ones.
func (s *State) isBehind(c *chooser, key routing.Key) bool {
	if c.choice.Winner < 0 || c.poolOf(c.choice.Winner) == nil {
		return false
	}
	n := 0
	for w := range c.poolOf(c.choice.Winner).lane.backlog.Waiting(key) {
		if n++; n > mostSearched || s.claims(s.routes.tickets[w.Ticket], c) {
			return true
		}
	}
	return false
}

// claims reports whether a request that waits would lose something to the one that was
// chosen for: it may use the connection too, and what holds it back there is not a rule
// for its model alone, of which another model takes nothing. What is left of a key's
// share it would lose: small requests must not use it up before a large one.
func (s *State) claims(x *seeker, c *chooser) bool {
	to := c.of[c.choice.Winner].ConnectionID
	of := func(y events.Candidate) bool { return y.ConnectionID == to }
	if x.candidates != nil && !slices.ContainsFunc(x.candidates, of) {
		return false
	}
	if x.model == c.w.model {
		return true
	}
	a := &s.judging
	a.begin(s, s.logTime, nil)
	a.verdictOnly, a.roomIsKept = true, true
	q := x.question(to, "")
	s.gather(&q, a, a, x.request)
	a.forgetShared()
	v := a.Facts.Judge(s.logTime)
	return v.Allowed() || v.Scope != fairshare.ScopeModel
}
