package projector

import (
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
)

// Arrival is a consumption or an adjustment that is about to be counted, for who folds a
// history to see what would have become of it: State.OnConsumption and OnAdjustment. It
// is good during the call.
type Arrival struct {
	// Event is counted as it is after the call: it may be put on another connection.
	Event *events.Event
	Seq   uint64
	Index int   // in its message
	At    int64 // where on the time line it stands, epoch ms

	s       *State
	request idHash
}

// HeldOn returns the connection on which its request has an open hold, "" when it has
// none.
func (x *Arrival) HeldOn() string {
	if x.Event.RequestID == "" {
		return ""
	}
	at := x.s.holds.byID[x.request]
	if at == 0 {
		return ""
	}
	return x.s.conns.id(x.s.holds.at(at).conn)
}

// Settled reports whether its request was settled before, as far as that is
// remembered.
func (x *Arrival) Settled() (bool, error) {
	if x.Event.RequestID == "" {
		return false, nil
	}
	_, settled, err := x.s.settled.find(x.request, x.s.logTime)
	return settled, err
}

// Judge judges a question as the state is before the event, at that instant. What an
// explained one depends on is in a.
func (x *Arrival) Judge(q *questions.Question, a *Asked, now int64) fairshare.Verdict {
	a.begin(x.s, now, nil)
	a.verdictOnly = !q.Explain
	x.s.gather(q, a, a, idHash{})
	a.forgetShared()
	return a.Facts.Judge(now)
}

// foldConsumption counts a consumption, unless who looks at it would rather not. The
// request is over all the same: it was one that came to nothing.
func (s *State) foldConsumption(m *events.Message, index int, e *events.Event, n *identity) (*events.Rejection, error) {
	counts := true
	if s.OnConsumption != nil {
		x := s.arrival(m, index, e)
		x.request = n.request
		var err error
		counts, err = s.OnConsumption(x)
		if err != nil {
			return nil, err
		}
	}
	if counts {
		if r := s.foldUsage(m, e); r != nil {
			return r, nil
		}
	}
	return nil, s.settle(e, n)
}

// foldAdjustment counts an adjustment.
func (s *State) foldAdjustment(m *events.Message, index int, e *events.Event) *events.Rejection {
	if s.OnAdjustment != nil {
		s.OnAdjustment(s.arrival(m, index, e))
	}
	return s.foldUsage(m, e)
}

// arrival is that of an event at its place in the log.
func (s *State) arrival(m *events.Message, index int, e *events.Event) *Arrival {
	at, _ := placeAt(e.Time, m.Time)
	return &Arrival{Event: e, Seq: m.Seq, Index: index, At: at, s: s}
}

// Pool returns the pool of the connection with its dimensions, nil when it is in none.
func (x *Arrival) Pool() *plans.Resolved { return x.s.resolvedOf(x.Event.ConnectionID) }

// Resolved returns the pool of a connection with its dimensions, nil when it is in none.
func (s *State) Resolved(connectionID string) *plans.Resolved {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.resolvedOf(connectionID)
}

func (s *State) resolvedOf(connectionID string) *plans.Resolved {
	r := s.conns.find(connectionID)
	if r == 0 || s.conn(r).pool == 0 {
		return nil
	}
	return s.poolAt[s.conn(r).pool-1].resolved
}

// WasSettled reports whether a request was settled, as far as that is remembered. For the
// one that folds.
func (s *State) WasSettled(apiKeyID, requestID string) (bool, error) {
	if requestID == "" {
		return false, nil
	}
	_, settled, err := s.settled.find(requestOf(apiKeyID, requestID), s.logTime)
	return settled, err
}
