package projector

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// serving are the rules of a lane for its backlog.
type serving struct {
	s    *State
	l    *lane
	home bool // nobody passes to another pool now; where somebody roams all are asked again after it
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

// Passes implements routing.Rules.
func (x serving) Passes(w *routing.Waiter) (ok bool, at int64) {
	switch ok := x.s.place(x.s.routes.tickets[w.Ticket], x.home); {
	case ok, x.home && x.l.roaming > 0:
		return ok, routing.Never
	}
	return false, x.s.routes.chooser.opensAt()
}

// place chooses for one that waits, and reports whether there is a place for it: at home
// in the pool of its lane, and none that an earlier one of its key has a claim on. One
// that it is kept back from must not hide another one from it that is nobody's.
func (s *State) place(x *seeker, home bool) bool {
	c := &s.routes.chooser
	c.choose(s, &x.wish, s.logTime, nil)
	if home && len(x.reach) > 0 {
		c.leaveOut(func(i int) bool { return c.poolOf(i) != x.lane.pool })
	}
	for range mostSearched {
		if c.choice.Winner < 0 {
			return false
		}
		if !s.yield(c, x) {
			return true
		}
	}
	return false
}

// opensAt is the first instant at which time alone may let the wish pass to one of those
// that are not left out: at which one has a place, though the rules may keep it then and
// it is looked at again; and for those that the rules keep now, when they let one pass.
//
// One search for all of a pool, as each looks at a hundred instants: for each of a
// thousand candidates alone it took a second, at every message that has to do with them.
// What an earlier one of the key has a claim on it comes to when that one has gone.
func (c *chooser) opensAt() int64 {
	at := routing.Never
	for len(c.shut) < len(c.pools) {
		c.shut = append(c.shut, nil)
	}
	for n := range c.pools {
		c.shut[n] = c.shut[n][:0]
	}
	for i := range c.of {
		x, p := &c.of[i], c.poolOf(i)
		switch n := c.list[i].Pool - 1; {
		case x.out:
		case x.gate == routing.Capacity:
			at = min(at, c.asked[n].reader.placeAt(x.conn, &p.doc.Connections[x.place], c.now))
		case x.gate == routing.Blocked:
			c.shut[n] = append(c.shut[n], x.place)
		}
	}
	for n := range c.pools {
		if a := c.asked[n]; len(c.shut[n]) > 0 {
			if ms, ok := a.Facts.RetryAfterAmong(c.shut[n], &a.reader, c.now); ok {
				at = min(at, c.now+ms)
			}
		}
	}
	return at
}
