package decider

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/natsapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

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
// A block is one when waiting may help, or when there is a hold or a place in a backlog
// that the verdict would end.
func holds(p *projection, q *questions.Question, r *questions.Reply) bool {
	return q.Reserve && r.Err == nil && (r.Allow || mayWait(q, r) || p.state.HoldOpen(q.APIKeyID, q.RequestID) || p.state.Waits(q.APIKeyID, q.RequestID))
}

// reserve brings the holds into the log. All are queued together, so that they are
// folded in their order and see each other. The call that it returns is answered
// later, and done called then; nil is one that is answered already, without a
// verdict, because there is no way or no room to wait for one.
func (e *Engine) reserve(ctx context.Context, p *projection, qs []questions.Question, rs []questions.Reply, first *pending, done func()) *waiting {
	c := &waiting{p: p, qs: qs, rs: rs, first: first, began: time.Now(), done: done, place: -1, routed: qs[first.place].Routed()}
	if c.routed {
		e.due.enter()
	}
	switch {
	case ctx.Err() != nil:
		c.gone, c.unqueued = gone(ctx), true
		for x := first; x != nil; x = x.next {
			x.lost = true
		}
	case e.expect(c) && e.waiters.add(c):
		if e.holds.put(first) {
			return c
		}
		answered := !e.waiters.remove(c) // its time is over, and it is being answered
		e.unwritten(first)
		if answered {
			return c
		}
	default:
		c.unqueued = true
		e.unwritten(first)
	}
	c.done = func() {}
	e.conclude(c)
	return nil
}

// unwritten takes from the writer the holds of a call that it does not have.
func (e *Engine) unwritten(first *pending) {
	for x := first; x != nil; {
		next := x.next
		x.disown()
		x = next
	}
}

// expect makes the fold tell the verdicts of a call; none may come at once. However
// short its lease, which begins in the log, a hold is worth writing as long as somebody
// waits for its verdict: else a log that is slow would leave that one waiting in vain.
func (e *Engine) expect(c *waiting) (ok bool) {
	wait := c.wait() + e.late
	c.until = c.began.Add(time.Duration(wait) * time.Millisecond)
	end := e.now() + wait
	ok = true
	for x := c.first; x != nil; x = x.next {
		x.of, x.end = c, max(x.end, end)
		x.owners.Add(2) // the fold and the writer
		c.left++
		if !c.p.state.Expect(&x.Expected) {
			x.lost, ok = true, false
			x.disown()
		}
	}
	return ok
}

// wait is how long the call waits for its verdicts, ms.
func (c *waiting) wait() (ms int64) {
	for x := c.first; x != nil; x = x.next {
		ms = max(ms, c.qs[x.place].WaitVerdict())
	}
	return ms
}

// Release implements natsapi.Decider.
func (e *Engine) Release(qs []questions.Question, rs []questions.Reply) {
	end := e.now() + questions.MaxLeaseMs // no lease of theirs is longer
	for i := range rs {
		if rs[i].Opened {
			e.holds.release(releaseOf(rs[i].DecisionID, qs[i].APIKeyID, rs[i].RequestID, end))
		}
	}
}

// conclude answers a call: by the verdicts that came, and without those that did
// not. A fault of ours is answered too.
func (e *Engine) conclude(c *waiting) {
	defer c.done()
	defer e.rescue(c)
	if c.routed {
		e.due.leave()
	}
	var later reserving
	for x := c.first; x != nil; {
		next := x.next
		q, r := &c.qs[x.place], &c.rs[x.place]
		switch {
		case x.came || e.answerWithout(c, q, r, x):
			e.answerJudged(c.p, q, r, x)
			x.disown()
		case c.unqueued: // of these the writer leaves out what must not stand
			x.next = nil
			later.add(x)
		default:
			if x.other != nil {
				later.add(x.other)
			}
			x.disown()
		}
		x = next
	}
	e.writeBehind(later.first)
}

// writeBehind queues holds that were let pass without a verdict and without waiting
// for one: so that a decider that knows nothing of local holds, as one that is
// started anew, learns of them. It comes after the answer, because the fold drops
// the local hold when it sees the event, and must find it.
func (e *Engine) writeBehind(first *pending) {
	if first != nil && !e.holds.put(first) {
		e.unwritten(first)
	}
}

// rescue keeps a panic from ending the process.
func (e *Engine) rescue(c *waiting) {
	if p := recover(); p != nil {
		e.o.Log.Error("panic while answering by a verdict", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		for i := range c.rs {
			c.rs[i].Err = &questions.Error{Code: questions.CodeInternal, Message: "the question could not be answered: this is a fault of quotashare, please report it"}
		}
	}
}

// answerJudged answers by the fold's verdict.
func (e *Engine) answerJudged(p *projection, q *questions.Question, r *questions.Reply, x *pending) {
	x.fate.Store(fateJudged)
	behind, _ := p.loop.Lag(e.now())
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	d := e.again(q, &x.Asked, &x.Route, r, &answers.View{Seq: x.Seq, Behind: behind, Folded: true}, s)
	e.note(q, &x.Asked, r, &d, x.Index)
	r.Opened = x.Held && !x.Asked.Renews()
}

// again answers anew what was answered before, under the same ids.
func (e *Engine) again(q *questions.Question, a *projector.Asked, to *projector.Route, r *questions.Reply, v *answers.View, s *scratch) (d fairshare.Answer) {
	decision, request := r.DecisionID, r.RequestID
	r.Reset()
	r.DecisionID = decision
	d = e.answer(q, a, to, r, v, s)
	r.RequestID = request
	return d
}

// answerWithout answers a question on whose hold there is no verdict, unless that
// came at the last moment. What it lets pass counts here, and the others are told.
func (e *Engine) answerWithout(c *waiting, q *questions.Question, r *questions.Reply, x *pending) (came bool) {
	if e.judgeWithout(c, q, r, x) {
		return true
	}
	if h := x.stands(); h.fate.Load() == fateLocal {
		e.tell(h)
	}
	return false
}

// judgeWithout judges by the view and the holds that count beside it. One after the
// other, so that they see each other.
//
// Who was told a connection holds that one, whatever the log would choose later: the
// hold that leaves it open is made one of it, or when it was written already, replaced
// by one.
func (e *Engine) judgeWithout(c *waiting, q *questions.Question, r *questions.Reply, x *pending) (came bool) {
	p := c.p
	s := scratches.Get().(*scratch)
	s.room(1)
	defer s.keep(1)
	e.locally.Lock()
	defer e.locally.Unlock()
	now := e.now()
	d := e.viewAgain(p, q, r, now, s)
	a := &s.asked[0]
	r.Degraded = append(r.Degraded, answers.NoHold)
	answers.CloseIfDegraded(r, a.Pool, "could not hold the request")
	counts := r.Allow && !c.gone
	if counts {
		if q.Routed() && !e.holds.settleOn(x, r.ConnectionID) {
			x.other = x.moved(r.ConnectionID, e.ids.next())
		}
		// Before the fold is asked: it drops the hold when it sees the event.
		x.stands().count(p.state, a.Now, now)
	}
	// Before giving up: one that is open then is not ours, or its verdict has come.
	// Asked later, ours would be taken for an older one, and stand.
	older := p.state.HoldOpen(x.hold.APIKeyID, x.hold.RequestID)
	if x.giveUp(p.state) {
		if counts {
			e.locals.Remove(x.stands().ID)
		}
		x.forgetOther()
		return true
	}
	switch {
	case !counts:
		e.holds.withdraw(x, !older)
	case x.other != nil:
		x.fate.Store(fateDropped)
		r.DecisionID = x.other.ID
	}
	e.note(q, a, r, &d, questions.FromView)
	r.Opened = counts && !older
	return false
}

// viewAgain answers from the view at now. The question is that of the hold, whose
// request has a name.
func (e *Engine) viewAgain(p *projection, q *questions.Question, r *questions.Reply, now int64, s *scratch) (d fairshare.Answer) {
	s.room(1)
	s.alone[0] = *q
	s.alone[0].RequestID = r.RequestID
	v := answers.View{Seq: gather(p, s.alone[:], now, s)}
	v.Behind, v.Silent = p.loop.Lag(now)
	d = e.again(q, &s.asked[0], &s.routes[0], r, &v, s)
	s.alone[0] = questions.Question{}
	return d
}

// gone reports whether nobody takes the answer any more. A server that stops, or
// that has no room to wait, still answers.
func gone(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), natsapi.ErrHurried)
}
