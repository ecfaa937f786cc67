package replay

import (
	"context"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/whatif"
)

// holding is a hold of the log whose verdict is to come, on one side or both.
type holding struct {
	event events.Event // what of it is needed, in memory of its own
	sides [whatif.NumSides]*ruled
}

// ruled is the fold's verdict.
type ruled struct {
	said         judged
	connectionID string
	at           int64
	held         bool
}

// announce remembers the holds of a message.
func (w *whatIf) announce(m *events.Message) {
	if m.Subject != events.Hold.String() {
		return
	}
	for _, it := range events.Decode(m, nil) {
		if e := &it.Event; it.Err == nil && w.holds[e.ID] == nil {
			h := &holding{event: events.Event{
				ID: strings.Clone(e.ID), APIKeyID: strings.Clone(e.APIKeyID), ConnectionID: strings.Clone(e.ConnectionID),
				Model: strings.Clone(e.Model), RequestID: strings.Clone(e.RequestID), Cost: e.Cost,
			}}
			w.holds[h.event.ID] = h
			w.fresh = append(w.fresh, h)
		}
	}
}

// verdict is told that of the fold.
func (s *side) verdict(x *projector.Expected) {
	h := s.w.holds[x.ID]
	if h == nil || h.sides[s.which] != nil {
		return
	}
	r := &ruled{connectionID: h.event.ConnectionID, at: x.Asked.Now, held: x.Held}
	if r.connectionID == "" {
		r.said, r.connectionID = s.routed(&x.Asked, &x.Route)
		if x.Route.Waited && r.said.Block && s.which == whatif.Before {
			s.w.refuse(x.ID)
		}
	} else {
		r.said = decided(&x.Asked, x.Asked.Facts.Judge(x.Asked.Now))
	}
	s.watchHold(x, r)
	s.turnAway(&r.said, requestID{h.event.APIKeyID, h.event.RequestID}, &h.event.Cost, r.at)
	h.sides[s.which] = r
	s.w.row(h.event.APIKeyID).Sides[s.which].Count(&r.said.Decision, 1)
	s.w.decided = append(s.w.decided, h)
}

// watchHold looks at the buckets that have ended when a hold was judged, of its pool
// whether it got a connection there or not.
func (s *side) watchHold(x *projector.Expected, r *ruled) {
	conn := r.connectionID
	if pool := x.Asked.Pool; conn == "" && pool != nil {
		conn = pool.Connections[0].ConnectionID
	}
	s.watchBetween(conn, r.at)
}

func (w *whatIf) refuse(id string) {
	if w.refused == nil {
		w.refused = make(map[string]bool)
	}
	w.refused[id] = true
}

// forgetCopies forgets the holds of the message of which no verdict comes: those that
// the log had before.
func (w *whatIf) forgetCopies() {
	for _, h := range w.fresh {
		for i, s := range w.sides {
			if h.sides[i] == nil && !s.p.State().Waits(h.event.APIKeyID, h.event.RequestID) {
				delete(w.holds, h.event.ID)
			}
		}
	}
	clear(w.fresh)
	w.fresh = w.fresh[:0]
}

// settleHolds compares the verdicts that are out on both sides. What was blocked, and
// is let pass now, has no consumption in the log: it is paid with its estimate, which
// settles its hold. It is not when its caller did not heed the block: then its
// consumption came, or comes, and settles the hold.
func (w *whatIf) settleHolds(ctx context.Context) error {
	for len(w.decided) > 0 {
		h := w.decided[0]
		w.decided = w.decided[1:]
		before, after := h.sides[whatif.Before], h.sides[whatif.After]
		if before == nil || after == nil || w.holds[h.event.ID] != h {
			continue // one is to come, or both came at once
		}
		delete(w.holds, h.event.ID)
		w.made.Asked.Holds++
		w.row(h.event.APIKeyID).Differ(&before.said.Decision, &after.said.Decision, 1)
		s := w.sides[whatif.After]
		if before.said.Passes || !after.held || !s.p.State().HoldOpen(h.event.APIKeyID, h.event.RequestID) {
			continue
		}
		paid := h.event
		paid.ID, paid.ConnectionID, paid.Time = "", after.connectionID, after.at
		if err := s.pay(ctx, &paid); err != nil {
			return err
		}
	}
	return nil
}
