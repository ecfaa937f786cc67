package projector

import (
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
)

// foldHold judges a hold at its place, by the code that answers questions, and
// opens it when the answer is to let pass. Another hold of the request is not
// counted, and is over whatever the verdict.
func (s *State) foldHold(m *events.Message, index int, e *events.Event, n *identity) error {
	_, settled, err := s.settled.find(n.request, s.logTime)
	if err != nil {
		return err
	}
	s.Locals.folded(e.ID)
	s.leaveBacklog(n.request)
	if e.ConnectionID == "" {
		s.foldRoute(e, index, n, settled)
		return nil
	}
	x := s.expected.take(e.ID)
	a := &s.judging
	if x != nil {
		a = &x.Asked
	}
	a.begin(s, s.logTime, nil)
	a.verdictOnly = x == nil
	s.gatherHold(e, n, a, x != nil && x.Question.Explain)
	allowed := a.Facts.Judge(s.logTime).Allowed()
	before := s.holds.byID[n.request]
	held := allowed && !settled && s.roomAt(before) == 0
	if before != 0 {
		s.endHold(before)
	}
	if held {
		w := wishOf(e, n)
		s.openHold(&w, s.connRef(e.ConnectionID))
	}
	s.countHold(before != 0, held, allowed && settled)
	if x != nil {
		x.Seq, x.Index, x.Held = m.Seq, index, held
		s.judged = append(s.judged, x)
	}
	return nil
}

// gatherHold takes in what the verdict on a hold depends on, at log time.
func (s *State) gatherHold(e *events.Event, n *identity, a *Asked, explain bool) {
	q := questions.Question{
		APIKeyID: e.APIKeyID, ConnectionID: e.ConnectionID, Model: e.Model, Estimate: e.Cost, Reserve: true, Explain: explain,
	}
	s.gather(&q, a, a, n.request)
	s.lookAhead(&q, a)
	a.forgetShared()
}

// openHold opens the hold of a request that has none.
func (s *State) openHold(w *wish, conn ref) {
	s.noteProvider(conn, "")
	s.holds.touch(s.holds.add(hold{
		id: w.request, event: w.event, amounts: w.amounts, end: s.logTime + w.lease, lease: w.lease,
		pairKey: pairKey{conn: conn, key: s.names.intern(w.apiKeyID), model: s.names.intern(w.model)},
	}))
	s.changed(conn)
	s.takePlace(conn)
}

// countHold counts a hold event by what became of it and of the hold before it.
func (s *State) countHold(before, held, late bool) {
	c := &s.counts.Holds
	switch {
	case held:
		c.Opened++
	case late:
		c.Late++
	default:
		c.Refused++
	}
	switch {
	case before && held:
		c.Replaced++
	case before:
		c.Withdrawn++
	}
}

// settle ends the hold of a request whose consumption came, on whatever
// connection, and remembers the request; a part of a consumption takes its
// amounts off and begins the lease anew. Consumption that comes before its hold is
// why every request is remembered, and not only those with a hold.
func (s *State) settle(e *events.Event, n *identity) error {
	if e.RequestID == "" {
		return nil
	}
	at := s.holds.byID[n.request]
	if e.Partial {
		s.Locals.lowered(n.request, &e.Cost)
		if at != 0 {
			s.touchConn(s.holds.at(at).conn)
			s.changed(s.holds.at(at).conn)
			s.holds.lower(at, &e.Cost, s.logTime+s.holds.at(at).lease)
		}
		return nil
	}
	s.Locals.ended(n.request)
	s.leaveBacklog(n.request)
	if at != 0 {
		s.endHold(at)
		s.counts.Holds.Settled++
	}
	// One entry for an hour: a second would lie beside the first or in its place, as
	// the commits fall.
	_, known, err := s.settled.find(n.request, s.logTime)
	if err == nil && !known {
		s.settled.add(n.request, contentHash{}, s.logTime)
	}
	return err
}

// release ends the hold of a request that was given up, and remembers nothing: the
// request may be tried again under the same id. One that names a decision ends the
// hold of that one alone: the same request may hold again meanwhile, asked for
// elsewhere.
func (s *State) release(e *events.Event, n *identity) {
	if x := s.routes.byRequest[n.request]; x != nil && (!n.names || x.event == n.opened) {
		s.leaveBacklog(n.request)
	}
	if n.names {
		s.Locals.folded(e.DecisionID)
		if at := s.holds.byID[n.request]; at == 0 || s.holds.at(at).event != n.opened {
			return
		}
	} else {
		s.Locals.ended(n.request)
	}
	if at := s.holds.byID[n.request]; at != 0 {
		s.endHold(at)
		s.counts.Holds.Released++
	}
}

// expireHolds ends the holds whose lease is over at log time.
func (s *State) expireHolds() {
	for h := s.holds; h.len() > 0 && h.firstEnd() <= s.logTime; {
		s.endHold(h.ends[0])
		s.counts.Holds.Expired++
	}
}
