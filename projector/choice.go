package projector

import (
	"slices"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// chooser finds the connection for a wish. It is scratch: used again, and for one
// goroutine at a time. It changes nothing of the state; see State.pay.
type chooser struct {
	s      *State
	w      *wish
	now    int64
	locals *Locals

	list   []routing.Candidate
	of     []contender // of the same places
	pools  []*pool     // of the contenders; routing.Candidate.Pool counts them from 1
	asked  []*Asked    // of each pool, for any connection of it
	reader reader      // of those in no pool
	shut   [][]int     // scratch of opensAt
	choice routing.Choice
}

// contender is a candidate, and what the choice does not need of it.
type contender struct {
	events.Candidate
	conn   ref
	place  int // in its pool's connections
	gate   routing.Gate
	factor quota.Ratio // of its verdict
	out    bool        // it is left out of the choice
}

// choose makes the choice at an instant. A pool that only observes stops nobody:
// where its rules leave nobody, it is made again without them.
func (c *chooser) choose(s *State, w *wish, now int64, locals *Locals) routing.Choice {
	c.s, c.w, c.now, c.locals = s, w, now, locals
	c.list, c.of, c.pools = c.list[:0], c.of[:0], c.pools[:0]
	c.reader = reader{s: s, without: s.holds.byID[w.request], locals: locals, request: w.request}
	c.enter()
	c.again()
	return c.choice
}

// again makes the choice among those that are not left out.
func (c *chooser) again() {
	c.choice = routing.Choose(c.list)
	if c.choice.Winner < 0 && c.lift() {
		c.choice = routing.Choose(c.list)
	}
}

// leaveOut makes the choice anew without some. They are told of all the same, and take
// no part in the round.
func (c *chooser) leaveOut(which func(i int) bool) {
	for i := range c.list {
		if x := &c.of[i]; !x.out && which(i) {
			x.out, c.list[i].Blocked = true, true
		}
	}
	c.again()
}

// enter lists the candidates.
func (c *chooser) enter() {
	if c.w.pool == "" {
		for _, x := range c.w.candidates {
			c.add(c.s.conns.find(x.ConnectionID), x)
		}
		return
	}
	if p := c.s.pools[c.w.pool]; p != nil {
		for i, conn := range p.conns {
			c.add(conn, events.Candidate{ConnectionID: p.doc.Connections[i].ConnectionID})
		}
	}
}

func (c *chooser) add(conn ref, x events.Candidate) {
	to := contender{Candidate: x, conn: conn, factor: quota.RatioOne}
	var r routing.Candidate
	info := c.s.conn(conn)
	if info.pool == 0 {
		r = routing.Candidate{Weight: 1, InFlight: c.reader.inFlight(conn, x.ConnectionID, c.now)}
	} else {
		p := c.s.poolAt[info.pool-1]
		to.place = int(info.place)
		r = c.judge(p, &to)
	}
	r.Saturated = c.s.saturated(conn, c.now)
	to.gate = r.Gate()
	c.list, c.of = append(c.list, r), append(c.of, to)
}

// judge judges a connection of a pool. A place is no matter of the rules here: who
// lacks nothing else may wait for one.
func (c *chooser) judge(p *pool, x *contender) routing.Candidate {
	doc := &p.doc.Connections[x.place]
	number := c.number(p)
	a := c.asked[number-1]
	v := a.Facts.JudgeOn(x.place, c.now)
	x.factor = v.ScoreFactor
	r := routing.Candidate{
		Pool: number, Weight: doc.Weight, Credit: p.lane.credits[x.place], MaxConcurrent: doc.MaxConcurrent,
		InFlight: a.reader.inFlight(x.conn, x.ConnectionID, c.now),
		Blocked:  v.Reason.Blocks() && v.Reason != fairshare.Capacity,
	}
	if p.doc.Mode == plans.Off {
		r.MaxConcurrent = 0
	}
	return r
}

// number numbers the pools as they come, from 1. Facts are gathered once for all
// connections of a pool.
func (c *chooser) number(p *pool) int {
	if i := slices.Index(c.pools, p); i >= 0 {
		return i + 1
	}
	c.pools = append(c.pools, p)
	if len(c.asked) < len(c.pools) {
		c.asked = append(c.asked, new(Asked))
	}
	a := c.asked[len(c.pools)-1]
	a.begin(c.s, c.now, c.locals)
	a.verdictOnly, a.roomIsKept = true, true
	q := c.w.question("", p.doc.ID)
	c.s.gather(&q, a, a, c.w.request)
	a.forgetShared()
	return len(c.pools)
}

// lift takes the rules of pools that only observe off their connections, and reports
// whether there are any.
func (c *chooser) lift() (lifted bool) {
	for i := range c.list {
		x := &c.list[i]
		if x.Pool != 0 && !c.of[i].out && c.pools[x.Pool-1].doc.Mode == plans.Observe {
			x.Blocked, x.MaxConcurrent, lifted = false, 0, true
		}
	}
	return lifted
}

// saturated reports whether the provider says that a window of the connection is used
// up for all models: of those that are no matter of minutes.
func (s *State) saturated(conn ref, now int64) bool {
	ttl := s.settings.doc.SignalTTLMs()
	for _, m := range s.metersOf(conn) {
		if m.scope != 0 || m.window != quota.FiveHour && m.window != quota.Weekly && m.window != quota.Rate {
			continue
		}
		if level, known := m.At(now, ttl); known && level.Used >= fullReading {
			return true
		}
	}
	return false
}

// fullReading is a reading of 100 percent.
const fullReading = quota.Amount(100 * 1_000_000)

// poolOf returns the pool that the i-th candidate is in, nil when it is in none.
func (c *chooser) poolOf(i int) *pool {
	if n := c.list[i].Pool; n != 0 {
		return c.pools[n-1]
	}
	return nil
}

// waitsIn is the pool in whose backlog the request would wait: that of the first
// candidate that lacks nothing but a place.
func (c *chooser) waitsIn() *pool {
	for i := range c.of {
		if c.of[i].gate == routing.Capacity {
			return c.poolOf(i)
		}
	}
	return nil
}

// candidates tells of all candidates in the order in which they are to be tried.
func (c *chooser) candidates(dst []questions.RouteCandidate) []questions.RouteCandidate {
	for n, i := range c.choice.Order(nil, c.list) {
		x, r := &c.of[i], &c.list[i]
		dst = append(dst, questions.RouteCandidate{
			ConnectionID: x.ConnectionID, Order: n + 1, Gate: x.gate.String(), InFlight: r.InFlight, MaxConcurrent: c.most(i),
			Score: routing.Score(x.Score, x.factor), HasScore: x.HasScore,
		})
	}
	return dst
}

// most is how many requests the i-th candidate takes at a time, as its pool says.
func (c *chooser) most(i int) int64 {
	if p := c.poolOf(i); p != nil {
		return p.doc.Connections[c.of[i].place].MaxConcurrent
	}
	return 0
}

// pay settles the round that was chosen in.
func (s *State) pay(c *chooser) {
	if c.choice.Winner < 0 || c.poolOf(c.choice.Winner) == nil {
		return
	}
	p := c.poolOf(c.choice.Winner)
	c.choice.Pay(c.list)
	for i := range c.list {
		if c.poolOf(i) == p {
			p.lane.credits[c.of[i].place] = c.list[i].Credit
		}
	}
	s.routes.touch(p.lane)
}
