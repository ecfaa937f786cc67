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
	refused  recent[refusal]
}

// heard is what became of a consumption on the side before.
type heard struct {
	held    string // the connection on which its request had a hold; "" = none
	settled bool
	part    *part // of a request that was asked about already
	asked   bool
	said    judged
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
		s.serve(x.Event)
	}
	return counts, err
}

func (s *side) serve(e *events.Event) {
	s.w.row(e.APIKeyID).Sides[s.which].Serve(&e.Cost)
	s.comeBack(requestID{e.APIKeyID, e.RequestID})
}

// ask judges a consumption as if its cost had been asked for at its time. A counter
// that is later already, since events came out of order, is read where its bucket
// begins, as for every answer.
func (s *side) ask(x *projector.Arrival) judged {
	e := x.Event
	q := questions.Question{APIKeyID: e.APIKeyID, ConnectionID: e.ConnectionID, Model: e.Model, Estimate: e.Cost}
	d := decided(&s.asked[0], x.Judge(&q, &s.asked[0], x.At))
	s.w.row(e.APIKeyID).Sides[s.which].Count(&d.Decision, 1)
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
		h.part, _ = w.partly.find(requestID{x.Event.APIKeyID, x.Event.RequestID})
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
		if counts = before.part.counts; !counts {
			s.turnAwayPart(requestID{x.Event.APIKeyID, x.Event.RequestID}, &x.Event.Cost, x.At)
		}
	case before.asked:
		d := s.ask(x)
		w.row(x.Event.APIKeyID).Differ(&before.said.Decision, &d.Decision, 1)
		if counts = d.Passes || !before.said.Passes; !counts {
			s.turnAway(&d, requestID{x.Event.APIKeyID, x.Event.RequestID}, &x.Event.Cost, x.At)
		}
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
	s.serve(e)
	return s.fold(ctx, events.Message{Subject: events.Consumption.String(), Data: events.Append(nil, wire.JSON, e), Time: e.Time})
}

// answer judges a question at an instant, and names the connection that it would have
// got.
func (s *side) answer(q *questions.Question, now int64) (d judged, connectionID string) {
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
	return decided(a, v.Verdict), connectionID
}

// unknownPool is the reason for which a request gets nothing that names a pool which
// there is not.
const unknownPool = "unknown-pool"

// routed is the decision that a choice is.
func (s *side) routed(a *projector.Asked, to *projector.Route) (d judged, connectionID string) {
	if a.UnknownPool || to.PoolDeleted {
		return blockedFor(unknownPool), ""
	}
	d = decided(a, a.Facts.Judge(a.Now))
	if to.ConnectionID == "" && d.Passes && !d.Block {
		d = blockedFor(fairshare.Capacity.String())
	}
	return d, to.ConnectionID
}

// blockedFor is a block that no dimension gave.
func blockedFor(reason string) judged {
	return judged{Decision: whatif.Decision{Block: true, Reason: reason}}
}

// partly are the requests that consume part by part: they are asked about once, with
// the first part. Those whose end never comes are forgotten after an hour or two.
type partly struct{ recent[*part] }

type part struct{ counts bool }

// note remembers a request whose first part this is, and forgets one whose last it is.
func (p *partly) note(e *events.Event, at int64, counts bool) {
	id := requestID{e.APIKeyID, e.RequestID}
	if !e.Partial {
		p.forget(id)
	} else if _, known := p.find(id); !known && id.requestID != "" {
		p.put(id, &part{counts}, at)
	}
}
