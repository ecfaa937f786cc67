package decider

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// Applied implements natsapi.Decider.
func (e *Engine) Applied() uint64 {
	if p := e.current.Load(); p != nil {
		return p.loop.Applied()
	}
	return 0
}

// scratch is what a call of Decide works with.
type scratch struct {
	asked   []projector.Asked
	routes  []projector.Route
	alone   [1]questions.Question
	replies answers.Scratch
}

// room makes room for n questions.
func (s *scratch) room(n int) {
	for len(s.asked) < n {
		s.asked = append(s.asked, projector.Asked{})
		s.routes = append(s.routes, projector.Route{})
	}
}

// mostListed is how many holds a question may have room for that waits to be used
// again: a thousand questions with room for all of a full state's would be gigabytes.
const mostListed = 4096

// slim lets go of what a question has gathered when it is large.
func slim(a *projector.Asked, to *projector.Route) {
	if a.Facts.Listed() > mostListed {
		*a = projector.Asked{}
	}
	if cap(to.Candidates) > mostListed {
		*to = projector.Route{}
	}
}

// keep gives the scratch of n questions back.
func (s *scratch) keep(n int) {
	for i := range s.asked[:n] {
		slim(&s.asked[i], &s.routes[i])
	}
	scratches.Put(s)
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Decide implements natsapi.Decider and httpapi.Decider.
func (e *Engine) Decide(ctx context.Context, qs []questions.Question, rs []questions.Reply) {
	p := e.answering(rs)
	if p == nil {
		return
	}
	e.await(ctx, p, qs)
	first := e.look(p, qs, rs, false)
	if first == nil {
		return
	}
	answered := make(chan struct{})
	c := e.reserve(ctx, p, qs, rs, first, func() { close(answered) })
	if c == nil {
		return
	}
	select {
	case <-answered:
	case <-ctx.Done():
		e.waiters.leave(c, gone(ctx))
		<-answered
	}
}

// Begin implements natsapi.Decider.
func (e *Engine) Begin(qs []questions.Question, rs []questions.Reply, done func()) (answered bool) {
	p := e.answering(rs)
	if p == nil {
		return true
	}
	first := e.look(p, qs, rs, false)
	return first == nil || e.reserve(context.Background(), p, qs, rs, first, done) == nil
}

// Hurry implements natsapi.Decider.
func (e *Engine) Hurry() { e.waiters.hurry() }

// Preview implements httpapi.Decider.
func (e *Engine) Preview(ctx context.Context, qs []questions.Question, rs []questions.Reply) {
	if p := e.answering(rs); p != nil {
		e.await(ctx, p, qs)
		e.look(p, qs, rs, true)
	}
}

// answering returns the projection to answer from; when there is none, that is the
// answer.
func (e *Engine) answering(rs []questions.Reply) *projection {
	p := e.current.Load()
	if p == nil {
		for i := range rs {
			rs[i].Err = &questions.Error{Code: questions.CodeInternal, Message: "the engine has no state yet: it is starting; ask again"}
		}
	}
	return p
}

// look answers from the view, and returns what the fold has to judge. A preview
// leaves no trace: no figure, no row.
func (e *Engine) look(p *projection, qs []questions.Question, rs []questions.Reply, preview bool) *pending {
	s := scratches.Get().(*scratch)
	defer s.keep(len(qs))
	s.room(len(qs))
	clock := e.now()
	view := answers.View{Seq: gather(p, qs, clock, s)}
	view.Behind, view.Silent = p.loop.Lag(clock)
	var list reserving
	for i := range qs {
		q, a, r := &qs[i], &s.asked[i], &rs[i]
		d := e.answer(q, a, &s.routes[i], r, &view, s)
		switch {
		case preview:
		case holds(p, q, r):
			x := newPending()
			x.place = i
			x.fill(q, r, a)
			list.add(x)
		default:
			if q.Reserve && r.Err == nil && r.Reason != answers.Degraded && a.CountsLocals() {
				r.Degraded = append(r.Degraded, answers.NoHold) // the log takes none, or did not a moment ago
			}
			e.note(q, a, r, &d, questions.FromView)
		}
	}
	return list.first
}

// gather takes in what the questions depend on, and returns the sequence of the
// state. Those of one call are all routes, or none is; a choice is of the state when
// it is made, and the sequence that of the first.
func gather(p *projection, qs []questions.Question, clock int64, s *scratch) (seq uint64) {
	if !qs[0].Routed() {
		seq, _ = p.state.Gather(qs, clock, s.asked)
		return seq
	}
	for i := range qs {
		at := p.state.GatherRoute(&qs[i], clock, &s.asked[i], &s.routes[i])
		if i == 0 {
			seq = at
		}
	}
	return seq
}

// await waits until what the questions name is folded, each as long as it allows
// from now on.
func (e *Engine) await(ctx context.Context, p *projection, qs []questions.Question) {
	var began time.Time
	for i := range qs {
		q := &qs[i]
		if q.MinSeq <= p.loop.Applied() {
			continue
		}
		if began.IsZero() {
			began = time.Now()
		}
		within, cancel := context.WithDeadline(ctx, began.Add(time.Duration(q.Wait())*time.Millisecond))
		// Not reached in time is no error: the answer says degraded.
		_ = p.loop.Wait(within, q.MinSeq)
		cancel()
	}
}

// answer fills in the reply to one question, and returns what the rules gave; to is the
// choice, of a question that wants one.
func (e *Engine) answer(q *questions.Question, a *projector.Asked, to *projector.Route, r *questions.Reply, v *answers.View, s *scratch) fairshare.Answer {
	return answers.Make(q, a, to, r, v, e.ids.next, &s.replies)
}

// note counts an answer, and records it; index is the place of the hold's event
// in its message when the fold judged it, else questions.FromView.
func (e *Engine) note(q *questions.Question, a *projector.Asked, r *questions.Reply, d *fairshare.Answer, index int) {
	if r.Err != nil {
		e.metrics.refused.Inc()
		return
	}
	e.metrics.count(d.Reason, r)
	e.record(q, a, r, d.Connection, index)
}

// decisionIDs gives every decision an id: eight characters of the process, a
// dash and a count. Unique among processes by chance (40 bits) and short,
// because people copy it from an error message.
type decisionIDs struct {
	prefix string
	n      atomic.Uint64
}

func newDecisionIDs() decisionIDs {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return decisionIDs{prefix: strings.ToLower(base32.StdEncoding.EncodeToString(b[:])) + "-"}
}

func (d *decisionIDs) next() string {
	var buf [32]byte
	return string(strconv.AppendUint(append(buf[:0], d.prefix...), d.n.Add(1), 36))
}
