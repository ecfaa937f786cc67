package decider

import (
	"context"
	"errors"
	"time"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/natsapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// degradedNoHold in a reply: no verdict on the hold came in time.
const degradedNoHold = "no-hold"

// reserving are the questions of one call whose holds go into the log, in order.
type reserving struct{ first, last *pending }

func (l *reserving) add(x *pending) {
	if l.first == nil {
		l.first = x
	} else {
		l.last.next = x
	}
	l.last = x
}

// holds reports whether a question that the view answered so is one for the fold.
// A block is one when there is a hold that the verdict would end.
func holds(p *projection, q *questions.Question, r *questions.Reply) bool {
	return q.Reserve && r.Err == nil && (r.Allow || p.state.HoldOpen(q.APIKeyID, q.RequestID))
}

// reserve brings the holds into the log, and answers each question by the fold's
// verdict. All are queued together, so that they are folded in their order and see
// each other.
func (e *Engine) reserve(ctx context.Context, p *projection, qs []questions.Question, rs []questions.Reply, first *pending) {
	began := time.Now()
	queued := ctx.Err() == nil
	if queued {
		for x := first; x != nil; x = x.next {
			p.state.Expect(&x.Expected)
		}
		if queued = e.holds.put(first); !queued {
			for x := first; x != nil; x = x.next {
				x.giveUp(p.state)
			}
		}
	}
	for x := first; x != nil; {
		next := x.next
		x.nothing = !queued
		q, r := &qs[x.place], &rs[x.place]
		if x.await(ctx, time.Duration(q.Wait())*time.Millisecond-time.Since(began)) {
			e.metrics.holds.latency.Observe(time.Since(began).Seconds())
			e.answerJudged(p, q, r, x)
		} else {
			e.answerWithout(ctx, p, q, r, x)
		}
		x.disown()
		x = next
	}
}

// answerJudged answers by the fold's verdict.
func (e *Engine) answerJudged(p *projection, q *questions.Question, r *questions.Reply, x *pending) {
	x.fate.Store(fateJudged)
	behind, _ := p.loop.Lag(e.now())
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	d := e.again(q, &x.Asked, r, &view{seq: x.Seq, behind: behind, folded: true}, s)
	e.note(q, &x.Asked, r, &d, x.Index)
}

// again answers anew what was answered before, under the same ids.
func (e *Engine) again(q *questions.Question, a *projector.Asked, r *questions.Reply, v *view, s *scratch) (d fairshare.Answer) {
	decision, request := r.DecisionID, r.RequestID
	r.Reset()
	r.DecisionID = decision
	d = e.answer(q, a, r, v, s)
	r.RequestID = request
	return d
}

// answerWithout answers a question on whose hold there is no verdict: by the view
// and the holds that count beside it. One after the other, so that they see each
// other.
func (e *Engine) answerWithout(ctx context.Context, p *projection, q *questions.Question, r *questions.Reply, x *pending) {
	if e.judgeWithout(ctx, p, q, r, x) {
		e.answerJudged(p, q, r, x)
		return
	}
	if x.fate.Load() == fateLocal {
		e.tell(x)
	}
}

// judgeWithout reports whether the verdict came at the last moment; then it has not
// answered.
func (e *Engine) judgeWithout(ctx context.Context, p *projection, q *questions.Question, r *questions.Reply, x *pending) (came bool) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	e.locally.Lock()
	defer e.locally.Unlock()
	now := e.now()
	d := e.viewAgain(p, q, r, now, s)
	a := &s.asked[0]
	r.Degraded = append(r.Degraded, degradedNoHold)
	closeIfDegraded(r, a.Pool, "could not hold the request")
	counts := r.Allow && !gone(ctx)
	if counts {
		// Before the fold is asked: it drops the hold when it sees the event.
		x.fate.Store(fateLocal)
		if !e.locals.Add(x.local(a.Now), now) {
			x.fate.Store(fateOpen)
		}
	}
	if x.giveUp(p.state) {
		if counts {
			e.locals.Remove(x.ID)
		}
		return true
	}
	if !counts {
		e.holds.withdraw(x, !p.state.HoldOpen(x.hold.APIKeyID, x.hold.RequestID))
	}
	e.note(q, a, r, &d, questions.FromView)
	return false
}

// viewAgain answers from the view at now. The question is that of the hold, whose
// request has a name.
func (e *Engine) viewAgain(p *projection, q *questions.Question, r *questions.Reply, now int64, s *scratch) (d fairshare.Answer) {
	s.room(1)
	s.alone[0] = *q
	s.alone[0].RequestID = r.RequestID
	seq, _ := p.state.Gather(s.alone[:], now, s.asked)
	behind, silent := p.loop.Lag(now)
	d = e.again(q, &s.asked[0], r, &view{seq: seq, behind: behind, silent: silent}, s)
	s.alone[0] = questions.Question{}
	return d
}

// gone reports whether nobody takes the answer any more. A server that stops, or
// that has no room to wait, still answers.
func gone(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), natsapi.ErrHurried)
}
