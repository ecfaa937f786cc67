package projector

import (
	"slices"
	"strings"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
)

// Signals returns what providers say about the windows of all connections, by
// connection, window and scope, at the later of clock and the log time. Each
// connection is as it was at some moment of the call; its keys count as one, so
// a split is that of a snapshot but for one step for each key.
func (s *State) Signals(clock int64) (list []usage.Signal) {
	for i, more := 0, true; more; i++ {
		list, more = s.signalsAt(i, clock, list)
	}
	slices.SortStableFunc(list, func(a, b usage.Signal) int { return strings.Compare(a.ConnectionID, b.ConnectionID) })
	return list
}

// signalsAt appends the signals of the i-th connection that has any, and reports
// whether there was one.
func (s *State) signalsAt(i int, clock int64, list []usage.Signal) ([]usage.Signal, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if i >= len(s.meters.byConn) {
		return list, false
	}
	return s.appendSignals(list, s.meters.byConn[i], clock), true
}

// appendSignals appends those of one connection, none when all are forgotten.
func (s *State) appendSignals(list []usage.Signal, meters []*meter, clock int64) []usage.Signal {
	if len(meters) == 0 {
		return list
	}
	conn := meters[0].conn
	d := s.dialOf(conn, s.conns.id(conn), s.providerOf(conn), max(clock, s.logTime))
	for _, m := range meters {
		list = append(list, d.signal(m.excerpt(conn, nil)))
	}
	return list
}

// SignalsOf is Signals of some connections, in their order, and says of how many others
// there are any: whoever publishes readings decides how many those are.
func (s *State) SignalsOf(connectionIDs []string, clock int64) (list []usage.Signal, others int) {
	for _, id := range connectionIDs {
		before := len(list)
		if list = s.signalsOf(id, clock, list); len(list) > before {
			others--
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, meters := range s.meters.byConn {
		if len(meters) > 0 {
			others++
		}
	}
	return list, max(others, 0)
}

func (s *State) signalsOf(connectionID string, clock int64, list []usage.Signal) []usage.Signal {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.appendSignals(list, s.metersOf(s.conns.find(connectionID)), clock)
}

// dial reads the meters of one connection.
type dial struct {
	id         string
	dimensions []plans.Dimension // of its plan
	total      *pair             // nil = nothing was counted
	counters   *counters
	now, ttl   int64
}

func (s *State) dialOf(conn ref, id, provider string, now int64) dial {
	d := dial{id: id, dimensions: s.planOf(conn, provider).Dimensions, counters: s.counters, now: now, ttl: s.settings.doc.SignalTTLMs()}
	if at := s.conn(conn).total; at != 0 {
		d.total = s.counters.pairs.at(at - 1)
	}
	return d
}

func (d *dial) signal(m *meter) usage.Signal {
	x := usage.Signal{ConnectionID: d.id, Window: m.window, Scope: m.id, Observed: m.heard()}
	level, known := m.At(d.now, d.ttl)
	if !known {
		return x
	}
	x.Known, x.Used, x.ResetAt = true, level.Used, level.ResetAt
	if m.scope == 0 {
		x.Split = m.split(d.now, d.ttl)
		x.Drift, x.HasDrift = level.Used-d.ours(m.window, x.Attributed), true
	}
	return x
}

// ours is how much of a window we know to be used: in percent of the first limit
// that the plan has for it, else the points that are attributed. A limit in
// percent says how much of the provider's 100 is given out, not how much of what
// we count makes a point.
func (d *dial) ours(w quota.Window, attributed quota.Amount) quota.Amount {
	for _, l := range d.dimensions {
		if l.Window != w || l.Unit == quota.Percent {
			continue
		}
		if percent, known := usage.Percent(d.counters.get(d.total, l.Unit, w).Effective(d.now, w.Millis()), l.Limit); known {
			return percent
		}
	}
	return attributed
}

// split says which points of the level at instant now keys have caused.
func (m *meter) split(now, ttl int64) usage.Split {
	level, known := m.At(now, ttl)
	if !known {
		return usage.Split{}
	}
	rest, _ := m.Unattributed(now, ttl)
	return usage.Split{HasSplit: true, Attributed: level.Used - rest, Unattributed: rest}
}
