package projector

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
)

// meter is what the provider says about one window of one connection, for all
// models or for those of a scope.
type meter struct {
	*saturation.Meter
	conn   ref
	window quota.Window // quota.Rate too
	scope  ref          // in names; 0 = all models
	id     string       // of the scope, in lower case: the names of its models have it in them
	gone   bool         // gave its place to another scope, or is forgotten; the next cut deletes it
}

// meters are all meters of a state. There are a few for each connection whose
// provider speaks, however many keys it has, so these may be pointers.
type meters struct {
	byConn [][]*meter // by connection.meters - 1; each by window, then scope; empty when all are forgotten
	dirty  []*meter   // changed since the last cut
}

// Problems are what is wrong with a header, in the order of Counts.ByProblem.
// Readings of a scope that there is no room for count as saturation.BadScope,
// however they came: that many which all stand are nobody's models.
var Problems = [...]saturation.Problem{
	saturation.BadNumber, saturation.BadReset, saturation.BadStatus, saturation.UnknownWindow, saturation.BadScope,
}

// numOutcomes is the number of saturation.Outcomes.
const numOutcomes = int(saturation.Noise) + 1

// said is what an event says for its provider.
type said struct {
	readings []events.Reading
	faults   []saturation.Fault
}

// hear reads the headers of a response, which takes longer than all else about
// it, for the fold: nil when there are none, or when who sent them is not known
// without the state.
func hear(m *events.Message, e *events.Event) *said {
	if e.Kind != events.Saturation || e.Headers == nil || e.Provider == "" {
		return nil
	}
	at, _ := placeAt(e.Time, m.Time)
	x := respond(e, e.Provider, at)
	return &x
}

func respond(e *events.Event, provider string, at int64) said {
	readings, faults := saturation.FromHeaders(provider, e.Status, e.Headers, at)
	return said{readings, faults}
}

// foldSaturation takes in what a provider says. The headers of a response are
// read as those of the provider that the event names; a gateway that names none
// has told who it is with an event before, or a pool has.
func (s *State) foldSaturation(m *events.Message, e *events.Event, x *said) {
	at, clamped := placeAt(e.Time, m.Time)
	conn := s.connRef(e.ConnectionID)
	s.noteProvider(conn, e.Provider)
	switch {
	case e.Headers == nil:
		x = &said{readings: e.Readings}
	case x == nil:
		response := respond(e, s.providerOf(conn), at)
		x = &response
	}
	for _, r := range inLowerCase(x.readings) {
		s.read(conn, &r, at)
	}
	s.touchConn(conn)
	for _, f := range x.faults {
		s.counts.ByProblem[slices.Index(Problems[:], f.Problem)]++
	}
	if clamped {
		s.counts.Clamped++
	}
}

// inLowerCase returns the readings with their scopes in lower case, as models are
// looked for in them. Of two that then are of one scope the fuller counts, as of
// two that were from the beginning.
func inLowerCase(list []events.Reading) []events.Reading {
	lower := func(r events.Reading) bool { return strings.ToLower(r.Scope) == r.Scope }
	if !slices.ContainsFunc(list, func(r events.Reading) bool { return !lower(r) }) {
		return list
	}
	var all []events.Reading
	for _, r := range list {
		r.Scope = strings.ToLower(r.Scope)
		i := slices.IndexFunc(all, func(x events.Reading) bool { return x.Window == r.Window && x.Scope == r.Scope })
		switch {
		case i < 0:
			all = append(all, r)
		case r.UsedPercent > all[i].UsedPercent:
			all[i] = r
		}
	}
	return all
}

// maxMeters bounds the meters of a connection. Providers have a handful of windows
// and scopes; who makes up new ones would make every event of the connection slow.
// The few windows of all models have a meter in any case.
const maxMeters = 64

// read takes one reading into its meter, which there is from the first one on.
func (s *State) read(conn ref, r *events.Reading, at int64) {
	if r.Scope != "" && !s.roomFor(conn, r.Window, r.Scope) {
		s.counts.ByProblem[slices.Index(Problems[:], saturation.BadScope)]++
		return
	}
	m := s.needMeter(conn, r.Window, r.Scope)
	changed := m.Changed()
	outcome, tooFar := m.Read(saturation.Observation{
		Used: r.UsedPercent, ResetAt: r.ResetAt, At: at, HoldOpen: s.holds.on(conn) != nil,
	}, s.settings.doc.SignalTTLMs())
	s.noteMeter(m, changed)
	s.counts.ByOutcome[outcome]++
	if tooFar {
		s.counts.FarResets++
	}
}

// roomFor reports whether the connection has a meter for the scope or room for
// one, which it makes where a scope is over: nothing that a decision looks at is
// lost with it. The longest silent gives way, of several the first by window and
// scope. It is chosen by log time and the state alone, as a replay has to choose
// the same.
func (s *State) roomFor(conn ref, w quota.Window, scope string) bool {
	list := s.metersOf(conn)
	if _, found := s.findMeter(conn, w, scope); found || len(list) < maxMeters {
		return true
	}
	ttl, at := s.settings.doc.SignalTTLMs(), -1
	for i, m := range list {
		if _, stands := m.At(s.logTime, ttl); m.scope != 0 && !stands && (at < 0 || m.heard() < list[at].heard()) {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	s.dropMeter(list[at])
	s.meters.byConn[s.conn(conn).meters-1] = slices.Delete(list, at, at+1)
	return true
}

// heard is when the provider last spoke of the window, be it of another cycle.
func (m *meter) heard() int64 { return max(m.Observed, m.Other.Observed) }

// meterLife is how long a meter is kept after the provider spoke of its window last:
// a day more than twice the longest, which is how far ahead a reset may lie, so that
// nothing of it stands when it is forgotten. It is a constant of the rules.
const meterLife = 2*30*dayMillis + dayMillis

// forgetMeters drops the meters whose providers are silent for that long, with what
// keys used of them since. It is done at the first message of each day of log time,
// because it changes what the next reading is taken for: a replay must do it there too.
func (s *State) forgetMeters() {
	for i, list := range s.meters.byConn {
		if !slices.ContainsFunc(list, s.isForgotten) {
			continue
		}
		conn := list[0].conn
		s.meters.byConn[i] = slices.DeleteFunc(list, func(m *meter) bool {
			if !s.isForgotten(m) {
				return false
			}
			s.counters.idle.until(max(m.heard(), m.PartsUntil(), m.Remembered(0).ResetAt))
			s.dropMeter(m)
			return true
		})
		if len(s.meters.byConn[i]) == 0 {
			s.conn(conn).meters = 0 // as after a restart
		}
	}
}

func (s *State) isForgotten(m *meter) bool { return s.logTime-m.heard() >= meterLife }

// dropMeter has the next cut delete the meter with its rows. It stands on the list
// before any later meter of its name, so that one's records are written after.
func (s *State) dropMeter(m *meter) {
	m.gone = true
	if !m.Changed() {
		s.meters.dirty = append(s.meters.dirty, m)
	}
}

// use counts a consumption in the meters of its connection. Nothing is split by
// a scope, so those with one have no use for it.
func (s *State) use(list []*meter, key ref, at int64, e *events.Event) {
	priced := e.Given>>quota.USD&1 != 0
	for _, m := range list {
		if m.scope == 0 {
			changed := m.Changed()
			m.Use(uint32(key), at, &e.Cost, priced)
			s.noteMeter(m, changed)
		}
	}
}

// noteMeter puts the meter on the list of the next cut when it has just changed.
func (s *State) noteMeter(m *meter, before bool) {
	if !before && m.Changed() {
		s.meters.dirty = append(s.meters.dirty, m)
	}
}

// metersOf returns the meters of a connection.
func (s *State) metersOf(conn ref) []*meter {
	if at := s.conn(conn).meters; at != 0 {
		return s.meters.byConn[at-1]
	}
	return nil
}

// meterOf returns the connection's meter of all models for the window, nil when
// its provider never spoke of it.
func (s *State) meterOf(conn ref, w quota.Window) *meter {
	for _, m := range s.metersOf(conn) {
		if m.window == w && m.scope == 0 {
			return m
		}
	}
	return nil
}

// needMeter returns the meter of that name and makes it when it is new.
func (s *State) needMeter(conn ref, w quota.Window, scope string) *meter {
	at, found := s.findMeter(conn, w, scope)
	if found {
		return s.metersOf(conn)[at]
	}
	m := s.newMeter(conn, w, s.names.intern(scope))
	m.Meter = saturation.NewMeter(w)
	s.putMeter(at, m)
	return m
}

// newMeter returns a meter of that name which is nowhere yet.
func (s *State) newMeter(conn ref, w quota.Window, scope ref) *meter {
	id := s.names.id(scope)
	return &meter{conn: conn, window: w, scope: scope, id: id}
}

// findMeter returns where among the connection's meters that one is or belongs.
// They are in the order of windows and then of the ids of scopes.
func (s *State) findMeter(conn ref, w quota.Window, scope string) (at int, found bool) {
	return slices.BinarySearchFunc(s.metersOf(conn), scope, func(m *meter, scope string) int {
		return cmp.Or(cmp.Compare(m.window, w), strings.Compare(m.id, scope))
	})
}

// putMeter puts the meter where findMeter says.
func (s *State) putMeter(at int, m *meter) {
	c := s.conn(m.conn)
	if c.meters == 0 {
		s.meters.byConn = append(s.meters.byConn, nil)
		c.meters = uint32(len(s.meters.byConn))
	}
	list := &s.meters.byConn[c.meters-1]
	*list = slices.Insert(*list, at, m)
}

// consumed returns what a key used of a window on its connection: in percent its
// part of the provider's cycle, without one what was counted.
func (s *State) consumed(p *pair, u quota.Unit, w quota.Window, now int64) quota.Amount {
	if u == quota.Percent {
		if m := s.meterOf(p.conn, w); m != nil && now < m.PartsUntil() {
			return m.Part(m.Local(uint32(p.key)))
		}
	}
	return s.counters.get(p, u, w).Effective(now, w.Millis())
}

// enforces reports whether the pool can block at instant now: a limit is known,
// or how full a window of its plan is. Readings of other windows block nothing.
func (s *State) enforces(p *pool, now int64) bool {
	if p.resolved.HasLimit() {
		return true
	}
	ttl := s.settings.doc.SignalTTLMs()
	for _, conn := range p.conns {
		for _, m := range s.metersOf(conn) {
			planned := slices.ContainsFunc(p.resolved.Dimensions, func(d plans.PoolDimension) bool { return d.Window == m.window })
			if _, known := m.At(now, ttl); known && planned {
				return true
			}
		}
	}
	return false
}
