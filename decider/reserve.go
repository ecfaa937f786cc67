package decider

import (
	"context"
	"sync"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// degradedNoHold in a reply: no verdict on the hold came in time.
const degradedNoHold = "no-hold"

// pending is a question whose hold is on its way through the log.
type pending struct {
	projector.Expected
	at   int // place of the question
	body []byte
}

var pendings = sync.Pool{New: func() any { return &pending{Expected: projector.Expected{Done: make(chan struct{}, 1)}} }}

// reserve brings the holds of the questions at these places into the log, and
// answers each by the fold's verdict. All are queued together, so that they are
// folded in their order.
func (e *Engine) reserve(ctx context.Context, p *projection, qs []questions.Question, rs []questions.Reply, at []int, s *scratch) {
	ps := make([]*pending, len(at))
	for n, i := range at {
		ps[n] = e.expect(p, &qs[i], &rs[i], &s.asked[i])
		ps[n].at = i
	}
	e.holds.put(ps)
	began := time.Now()
	for _, x := range ps {
		e.settleReply(ctx, p, &qs[x.at], &rs[x.at], x, began, s)
	}
}

// expect makes the hold's event. Its id is that of the decision, and the request's
// too when that has none.
func (e *Engine) expect(p *projection, q *questions.Question, r *questions.Reply, a *projector.Asked) *pending {
	x := pendings.Get().(*pending)
	x.ID, x.Question.Explain, x.Held = r.DecisionID, q.Explain, false
	hold := events.Event{
		Kind: events.Hold, ID: x.ID, DecisionID: x.ID, APIKeyID: q.APIKeyID, RequestID: r.RequestID, ConnectionID: q.ConnectionID,
		Model: q.Model, Cost: q.Estimate, Given: 1 << quota.Requests, LeaseMs: q.LeaseMs,
	}
	for u, amount := range q.Estimate {
		if amount != 0 {
			hold.Given |= 1 << u
		}
	}
	if hold.LeaseMs == 0 {
		hold.LeaseMs = a.HoldTTLMs
	}
	x.body = events.Append(x.body[:0], wire.JSON, &hold)
	p.state.Expect(&x.Expected)
	return x
}

// settleReply waits for the verdict, and answers.
func (e *Engine) settleReply(ctx context.Context, p *projection, q *questions.Question, r *questions.Reply, x *pending, began time.Time, s *scratch) {
	if !e.awaitVerdict(ctx, p, x, time.Duration(q.Wait())*time.Millisecond-time.Since(began)) {
		r.Degraded = append(r.Degraded, degradedNoHold)
		closeIfDegraded(r, s.asked[x.at].Pool)
		d := s.asked[x.at].Facts.Decide(s.asked[x.at].Now)
		e.note(q, &s.asked[x.at], r, &d, questions.FromView)
		return
	}
	behind, _ := p.loop.Lag(e.now())
	id, request := r.DecisionID, r.RequestID
	r.Reset()
	r.DecisionID = id
	d := e.answer(q, &x.Asked, r, &view{seq: x.Seq, behind: behind}, s)
	r.RequestID = request
	e.note(q, &x.Asked, r, &d, x.Index)
	pendings.Put(x)
}

func (e *Engine) awaitVerdict(ctx context.Context, p *projection, x *pending, wait time.Duration) bool {
	timer := time.NewTimer(max(0, wait))
	defer timer.Stop()
	select {
	case <-x.Done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	if !p.state.Unexpect(&x.Expected) {
		return false
	}
	<-x.Done
	return true
}
