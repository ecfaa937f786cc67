package replay

import (
	"context"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/wire"
)

// side is the history under one set of rules.
type side struct {
	which    int
	w        *whatIf
	p        *Player
	asked    [1]projector.Asked
	route    projector.Route
	capacity map[ofPool]*bucket
	added    bool // what is folded is not of the log
}

// heard is what became of a consumption on the side before.
type heard struct {
	held    string // the connection on which its request had a hold; "" = none
	settled bool
	part    *part // of a request that was asked about already
	asked   bool
	said    whatif.Decision
}

// decision is what a row counts of a verdict.
func decision(v fairshare.Verdict) whatif.Decision {
	return whatif.Decision{Block: v.Reason.Blocks(), Passes: v.Allowed(), Deprioritize: v.Deprioritize, Reason: v.Reason.String()}
}

// arrives is given each consumption before it is counted.
func (s *side) arrives(x *projector.Arrival) (counts bool, err error) {
	s.watchArrival(x)
	if s.added {
		return true, nil
	}
	if s.which == whatif.Before {
		counts, err = s.w.arrivedBefore(s, x)
	} else {
		counts, err = s.w.arrivedAfter(s, x)
	}
	if counts {
		s.serve(x.Event.APIKeyID, &x.Event.Cost)
	}
	return counts, err
}

func (s *side) serve(apiKeyID string, cost *quota.Amounts) {
	s.w.row(apiKeyID).Sides[s.which].Serve(cost)
}

// ask judges a consumption as if its cost had been asked for at its time. A counter
// that is later already, since events came out of order, is read where its bucket
// begins, as for every answer.
func (s *side) ask(x *projector.Arrival) whatif.Decision {
	e := x.Event
	q := questions.Question{APIKeyID: e.APIKeyID, ConnectionID: e.ConnectionID, Model: e.Model, Estimate: e.Cost}
	d := decision(x.Judge(&q, &s.asked[0], x.At))
	s.w.row(e.APIKeyID).Sides[s.which].Count(&d, 1)
	return d
}

// arrivedBefore notes what the side after needs to know. What is in the log was
// consumed, whatever the rules say of it.
func (w *whatIf) arrivedBefore(s *side, x *projector.Arrival) (counts bool, err error) {
	h := heard{held: strings.Clone(x.HeldOn())}
	if h.settled, err = x.Settled(); err != nil {
		return false, err
	}
	if h.held == "" {
		h.part = w.partly.find(x.Event)
		if h.part == nil {
			h.asked, h.said = true, s.ask(x)
			w.made.Asked.Consumptions++
		}
	}
	w.heard[x.Index] = h
	return true, nil
}

// arrivedAfter says whether a consumption would have been. It would not when the rules
// tried block it and those in force let it pass; one that came in spite of a block
// would come in spite of this one too.
func (w *whatIf) arrivedAfter(s *side, x *projector.Arrival) (counts bool, err error) {
	before := w.heard[x.Index]
	held := x.HeldOn()
	settled, err := x.Settled()
	if err != nil {
		return false, err
	}
	switch {
	case before.held != "": // the verdict on its hold stands
		if held != "" && before.held == x.Event.ConnectionID && held != before.held {
			x.Event.ConnectionID, x.Event.Provider = held, "" // it was sent where the hold was
		}
		counts = held != ""
	case held != "":
		counts = true
	case settled && !before.settled:
		counts = false // its block was let pass here, and it was paid for then
	case before.part != nil:
		counts = before.part.counts
	case before.asked:
		d := s.ask(x)
		w.row(x.Event.APIKeyID).Differ(&before.said, &d, 1)
		counts = d.Passes || !before.said.Passes
	default: // the side before did not get as far as to count it
		counts = true
	}
	w.partly.note(x.Event, x.At, counts)
	return counts, nil
}

// fold folds a message that the log does not have, where the side stands, at its time
// or at log time if that is later.
func (s *side) fold(ctx context.Context, m events.Message) error {
	s.added = true
	defer func() { s.added = false }()
	seq, logTime := s.p.State().At()
	m.Seq, m.Time = seq, max(logTime, m.Time)
	s.p.run.Add(m)
	return s.p.apply(ctx)
}

// pay counts what was let pass with its estimate. Log time comes along, as it would have
// with the consumption: else one that is far ahead of it would be placed where it is.
func (s *side) pay(ctx context.Context, e *events.Event) error {
	e.Kind, e.Given = events.Consumption, 1<<quota.NumUnits-1
	s.serve(e.APIKeyID, &e.Cost)
	return s.fold(ctx, events.Message{Subject: events.Consumption.String(), Data: events.Append(nil, wire.JSON, e), Time: e.Time})
}

// answer judges a question at an instant, and names the connection that it would have
// got.
func (s *side) answer(q *questions.Question, now int64) (d whatif.Decision, connectionID string) {
	a := &s.asked[0]
	if q.Routed() {
		s.p.State().GatherRoute(q, now, a, &s.route)
		return s.routed(a, &s.route)
	}
	s.p.State().Gather([]questions.Question{*q}, now, s.asked[:])
	v := a.Facts.Decide(a.Now)
	if connectionID = q.ConnectionID; connectionID == "" && a.Pool != nil && v.Connection >= 0 {
		connectionID = a.Pool.Connections[v.Connection].ConnectionID
	}
	return decision(v.Verdict), connectionID
}

// unknownPool is the reason for which a request gets nothing that names a pool which
// there is not.
const unknownPool = "unknown-pool"

// routed is the decision that a choice is.
func (s *side) routed(a *projector.Asked, to *projector.Route) (d whatif.Decision, connectionID string) {
	if a.UnknownPool || to.PoolDeleted {
		return whatif.Decision{Block: true, Reason: unknownPool}, ""
	}
	d = decision(a.Facts.Judge(a.Now))
	if to.ConnectionID == "" && d.Passes && !d.Block {
		d = whatif.Decision{Block: true, Reason: fairshare.Capacity.String()}
	}
	return d, to.ConnectionID
}

// partly are the requests that consume part by part: they are asked about once, with
// the first part. Those whose end never comes are forgotten after an hour or two.
type partly struct {
	now, older map[requestID]*part
	since      int64
}

type requestID struct{ apiKeyID, requestID string }

type part struct{ counts bool }

const partlyFor = 3_600_000 // ms

// find returns what became of the request's first part, nil when this is it.
func (p *partly) find(e *events.Event) *part {
	if e.RequestID == "" {
		return nil
	}
	id := requestID{e.APIKeyID, e.RequestID}
	if x := p.now[id]; x != nil {
		return x
	}
	return p.older[id]
}

// note remembers a request whose first part this is, and forgets one whose last it is.
func (p *partly) note(e *events.Event, at int64, counts bool) {
	id := requestID{e.APIKeyID, e.RequestID}
	if !e.Partial {
		delete(p.now, id)
		delete(p.older, id)
		return
	}
	if p.find(e) != nil {
		return
	}
	if p.now == nil || at-p.since >= partlyFor {
		p.older, p.now, p.since = p.now, make(map[requestID]*part), at
	}
	p.now[requestID{strings.Clone(e.APIKeyID), strings.Clone(e.RequestID)}] = &part{counts}
}
