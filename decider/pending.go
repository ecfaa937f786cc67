package decider

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// pending is a question whose hold is on its way through the log. Who asks waits
// for the verdict, and the writer until the log has it; it is used again when both
// are done.
type pending struct {
	projector.Expected
	hold  events.Event // its texts are the question's: for who asks only
	body  []byte       // the same as JSON
	place int          // of the question
	next  *pending     // of the same call
	timer *time.Timer
	// nothing is true when there is nothing to wait for: no verdict will come.
	nothing bool

	end     int64  // by our clock: from then on it is not worth writing
	call    uint64 // of which it is; the writer numbers them
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
	return &pending{Expected: projector.Expected{Done: make(chan struct{}, 1)}}
}}

// newPending returns one that belongs to who asks alone.
func newPending() *pending {
	x := pendings.Get().(*pending)
	x.next, x.nothing, x.release, x.taken = nil, false, false, false
	x.fate.Store(fateOpen)
	x.owners.Store(1)
	return x
}

// disown says that one of the two is done with it.
func (x *pending) disown() {
	if x.owners.Add(-1) == 0 {
		x.hold = events.Event{}
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
	x.end = a.Now + x.hold.LeaseMs
	x.body = events.Append(x.body[:0], wire.JSON, &x.hold)
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

// withdrawal is the event that ends the hold, should it have been opened.
func (x *pending) withdrawal() *pending {
	y := newPending()
	y.ID, y.release, y.end = x.ID+"-withdrawn", true, x.end
	y.body = events.Append(y.body[:0], wire.JSON, &events.Event{
		Kind: events.Release, ID: y.ID, APIKeyID: x.hold.APIKeyID, RequestID: x.hold.RequestID,
	})
	return y
}

// await reports whether the verdict came within that time, and before the caller
// went.
func (x *pending) await(ctx context.Context, within time.Duration) bool {
	if x.nothing {
		return false
	}
	if within > 0 {
		if x.timer == nil {
			x.timer = time.NewTimer(within)
		} else {
			x.timer.Reset(within)
		}
		defer x.timer.Stop()
		select {
		case <-x.Done:
			return x.came()
		case <-x.timer.C:
		case <-ctx.Done():
		}
	}
	select { // of many that wait, the first to give up do not speak for the last
	case <-x.Done:
		return x.came()
	default:
		return false
	}
}

// came is called after Done, and reports whether it was for a verdict.
func (x *pending) came() bool {
	x.nothing = x.Seq == 0
	return !x.nothing
}

// giveUp ends the waiting, and reports whether the verdict came at the last moment.
func (x *pending) giveUp(s *projector.State) bool {
	if x.nothing || !s.Unexpect(&x.Expected) {
		x.nothing = true
		return false
	}
	<-x.Done
	return x.came()
}
