package projector

import (
	"slices"

	"github.com/quotashare/quotashare/saturation"
)

// excerpt is a State of its own that has one pool of another, and of everything
// else what a reader of that pool's rows looks at. The rows of a large pool take
// long to judge; judged on an excerpt, by the very code that answers questions,
// they keep neither the fold nor decisions waiting.
//
// Connections have new refs, 1 and up in pool order, so that the excerpt is small
// however large the state is. Keys keep theirs.
type excerpt struct {
	State
	pool *pool
	keys []ref // the pool's listed keys, then others that were asked for
	// taken are the open holds before openHolds, which comes before any question.
	taken []hold
}

// excerptOf copies the pool with the counters of its totals, of its listed keys
// and of those others. The caller holds the lock.
//
// Where a connection has fewer keys than the pool has rows, it goes along those
// it has: what costs is what there is, not the product of rows and connections.
func (s *State) excerptOf(p *pool, others []ref) *excerpt {
	x := &excerpt{State: State{
		pos: Position{Seq: s.pos.Seq, Time: s.pos.Time}, logTime: s.logTime, settings: s.settings, counters: newCounters(),
		holds: newHolds(), plans: make(map[ref]planEntry),
	}}
	x.connInfo.add() // place 0 is no connection
	own := *p
	x.pool, x.keys = &own, append(slices.Clip(p.listed), others...)
	x.pool.conns = make([]ref, len(p.conns))
	wanted := make(map[ref]struct{}, len(x.keys))
	for _, key := range x.keys {
		wanted[key] = struct{}{}
	}
	for i, conn := range p.conns {
		at, info := x.connInfo.add()
		x.pool.conns[i] = ref(at)
		if total := s.conn(conn).total; total != 0 {
			info.total = x.take(s.counters, s.counters.pairs.at(total-1), ref(at)) + 1
		}
		if plan, ok := s.plans[conn]; ok {
			x.plans[ref(at)] = plan
		}
		x.takeHolds(s, conn, ref(at))
		taken := x.takeKeys(s, conn, ref(at), wanted)
		for _, m := range s.metersOf(conn) {
			x.putMeter(len(x.metersOf(ref(at))), m.excerpt(ref(at), taken))
		}
	}
	return x
}

// takeHolds copies the open holds of a connection, for openHolds to open.
func (x *excerpt) takeHolds(s *State, from, to ref) {
	c := s.holds.on(from)
	if c == nil {
		return
	}
	x.taken = slices.Grow(x.taken, int(c.n))
	s.holds.each(&c.group, ofConnection, func(was *hold) {
		x.taken = append(x.taken, hold{
			id: was.id, pairKey: pairKey{conn: to, key: was.key, model: was.model}, amounts: was.amounts, end: was.end,
		})
	})
}

// openHolds opens the holds that were taken: groups and orders take longer than
// copying, and so are made outside of the lock.
func (x *excerpt) openHolds() {
	for i := range x.taken {
		x.holds.add(x.taken[i])
	}
	x.taken = nil
}

// takeKeys copies the pairs of the wanted keys, and returns whose there were.
func (x *excerpt) takeKeys(s *State, from, to ref, wanted map[ref]struct{}) (taken []ref) {
	if int(chainOf(&s.counters.byConn, from).n) < len(x.keys) {
		s.eachKeyOf(from, func(key ref, p *pair) bool {
			if _, ok := wanted[key]; ok {
				x.take(s.counters, p, to)
				taken = append(taken, key)
			}
			return true
		})
		return taken
	}
	for _, key := range x.keys {
		if p := s.counters.find(pairKey{conn: from, key: key}); p != nil {
			x.take(s.counters, p, to)
			taken = append(taken, key)
		}
	}
	return taken
}

// take copies a pair and its counters to a connection of the excerpt, and returns
// its place. What a cut marks as written, which takes no lock, is not looked at.
func (x *excerpt) take(from *counters, p *pair, conn ref) uint32 {
	c := x.counters
	i := c.create(pairKey{conn: conn, key: p.key})
	for u, at := range p.series {
		if at == 0 {
			continue
		}
		to, series := c.series.add()
		was := from.series.at(at - 1)
		series.changed, series.counter = was.changed, was.counter
		c.pairs.at(i).series[u] = to + 1
	}
	return i
}

// takeModel copies what a key used of a model on these connections, which are the
// excerpt's in the same order.
func (x *excerpt) takeModel(s *State, conns []ref, key, model ref) {
	if key == 0 || model == 0 {
		return // nobody used it
	}
	c := x.counters
	for n, conn := range conns {
		p := s.counters.find(pairKey{conn: conn, key: key, model: model})
		if p == nil {
			continue
		}
		i := c.create(pairKey{conn: ref(n + 1), key: key, model: model})
		for u, at := range p.series {
			if at != 0 {
				to, series := c.models.add()
				series.counter = s.counters.models.at(at - 1).counter
				c.pairs.at(i).series[u] = to + 1
			}
		}
	}
}

// excerpt copies the meter to a connection of an excerpt, with what these keys
// used of the open cycle. All other keys are one, the one without an id.
func (m *meter) excerpt(conn ref, keys []ref) *meter {
	c := *m
	c.conn, c.Meter = conn, saturation.Excerpt(m.Meter, keys, 0)
	return &c
}
