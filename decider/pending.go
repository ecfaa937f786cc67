package decider

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// pending is a question whose hold is on its way through the log. It belongs to the
// call that waits for the verdict, to the fold until it gives that, and to the
// writer until the log has the event; it is used again when all are done with it.
type pending struct {
	projector.Expected
	hold  events.Event // its texts are the question's: for the call only
	body  []byte       // the same as JSON
	place int          // of the question
	next  *pending     // of the same call
	of    *waiting
	other *pending // the hold that is to stand in its place, when it was let pass without a verdict
	came  bool     // the verdict is there
	lost  bool     // there will be no verdict

	end     int64  // by our clock: from then on it is not worth writing
	call    uint64 // the writer numbers them
	release bool   // it is no hold, but the end of one
	taken   bool   // guarded by the writer: it may have been written
	fate    atomic.Int32
	owners  atomic.Int32
}

// What has become of a pending hold.
const (
	fateOpen    int32 = iota // somebody waits for the verdict, or should have it in the log
	fateJudged               // the verdict is there
	fateLocal                // it is written as long as it counts locally
	fateDropped              // it must not stand
)

var pendings = sync.Pool{New: func() any {
	x := new(pending)
	x.Waiter = x
	return x
}}

// newPending returns one that belongs to the call alone.
func newPending() *pending {
	x := pendings.Get().(*pending)
	x.next, x.of, x.other, x.came, x.lost, x.release, x.taken = nil, nil, nil, false, false, false, false
	x.fate.Store(fateOpen)
	x.owners.Store(1)
	return x
}

// disown says that one of the owners is done with it.
func (x *pending) disown() {
	if x.owners.Add(-1) == 0 {
		x.hold, x.of, x.other = events.Event{}, nil, nil
		slim(&x.Asked, &x.Route)
		pendings.Put(x)
	}
}

// fill makes the hold of a question that was answered so. Its id is that of the
// decision.
func (x *pending) fill(q *questions.Question, r *questions.Reply, a *projector.Asked) {
	x.ID, x.Question.Explain = r.DecisionID, q.Explain
	x.hold = events.Event{
		Kind: events.Hold, ID: x.ID, DecisionID: x.ID, APIKeyID: q.APIKeyID, RequestID: r.RequestID, ConnectionID: q.ConnectionID,
		Model: q.Model, Cost: q.Estimate, Given: 1 << quota.Requests, LeaseMs: q.LeaseMs,
	}
	for u, amount := range q.Estimate {
		if amount != 0 {
			x.hold.Given |= 1 << u
		}
	}
	if x.hold.LeaseMs == 0 {
		x.hold.LeaseMs = a.HoldTTLMs
	}
	if q.Routed() {
		x.hold.Pool, x.hold.Candidates, x.hold.MaxWaitMs = q.Pool, q.Candidates, q.Wait()
	}
	x.end = a.Now + x.hold.LeaseMs
	x.write()
}

// write makes the event of the hold. It may be made anew until the writer takes it.
func (x *pending) write() { x.body = events.Append(x.body[:0], wire.JSON, &x.hold) }

// settleOn makes the hold one of the connection that was chosen without the log.
func (x *pending) settleOn(connectionID string) {
	x.hold.ConnectionID, x.hold.Pool, x.hold.Candidates, x.hold.MaxWaitMs = connectionID, "", nil, 0
	x.write()
}

// moved is another hold of the request, on the connection that was chosen without the
// log. Behind the one that leaves the connection open it takes the place of whatever
// the fold makes of that: a hold on another connection, or a wait. Its decision is
// another one, for the log has an event of that id already.
func (x *pending) moved(connectionID, decisionID string) *pending {
	y := newPending()
	y.ID, y.hold, y.end = decisionID, x.hold, x.end
	y.hold.ID, y.hold.DecisionID = decisionID, decisionID
	y.settleOn(connectionID)
	return y
}

// stands is the hold that is to stand of a question without a verdict.
func (x *pending) stands() *pending {
	if x.other != nil {
		return x.other
	}
	return x
}

// forgetOther is for a verdict that came after all.
func (x *pending) forgetOther() {
	if x.other != nil {
		x.other.disown()
		x.other = nil
	}
}

// count counts the hold beside the log, where there is room. at is the time of the
// answer.
func (x *pending) count(s *projector.State, at, now int64) {
	x.fate.Store(fateLocal)
	if !s.Hold(x.local(at), now) {
		x.fate.Store(fateOpen)
	}
}

// local is the hold as it is counted beside the log from now on. It shares no memory
// with the question.
func (x *pending) local(now int64) *projector.LocalHold {
	h := localHold(&x.hold, now)
	h.Own = true
	return h
}

func localHold(e *events.Event, now int64) *projector.LocalHold {
	return &projector.LocalHold{
		ID: strings.Clone(e.ID), APIKeyID: strings.Clone(e.APIKeyID), ConnectionID: strings.Clone(e.ConnectionID),
		Model: strings.Clone(e.Model), RequestID: strings.Clone(e.RequestID), Amounts: e.Cost, End: now + e.LeaseMs,
	}
}

// releaseOf is the event that ends the hold of a decision, should it have been
// opened. It is not worth writing from end on.
func releaseOf(decisionID, apiKeyID, requestID string, end int64) *pending {
	y := newPending()
	y.ID, y.release, y.end = decisionID+"-withdrawn", true, end
	y.body = events.Append(y.body[:0], wire.JSON, &events.Event{
		Kind: events.Release, ID: y.ID, APIKeyID: apiKeyID, RequestID: requestID,
		DecisionID: decisionID, // another decider may hold the same request by now
	})
	return y
}

// giveUp ends the waiting, and reports whether the verdict came at the last moment.
func (x *pending) giveUp(s *projector.State) bool {
	switch {
	case x.lost:
		return false
	case s.Unexpect(&x.Expected):
		s.At() // the fold may be at it
		return true
	}
	x.lost = true
	x.disown() // by the fold
	return false
}
