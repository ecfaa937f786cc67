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

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// The values of degraded in a reply.
const (
	degradedLag    = "lag"     // the state is older than maxLag
	degradedMinSeq = "min-seq" // minSeq was not folded in time
)

// reasonDegraded is the reason of a block that only the engine's own state
// explains.
const reasonDegraded = "degraded"

// Applied implements natsapi.Decider.
func (e *Engine) Applied() uint64 {
	if p := e.current.Load(); p != nil {
		return p.loop.Applied()
	}
	return 0
}

// scratch is what a call of Decide works with.
type scratch struct {
	asked  []projector.Asked
	routes []projector.Route
	alone  [1]questions.Question
	text   []byte
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
	view := view{seq: gather(p, qs, clock, s)}
	view.behind, view.silent = p.loop.Lag(clock)
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
			if q.Reserve && r.Err == nil && r.Reason != reasonDegraded && a.CountsLocals() {
				r.Degraded = append(r.Degraded, degradedNoHold) // the log takes none, or did not a moment ago
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

// view is what all answers of one call share.
type view struct {
	seq            uint64
	behind, silent int64 // see projector.Loop.Lag
	folded         bool  // it is the fold's verdict, and true at its place however late it comes
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

// unanswerable says why there is no answer, nil when there is one.
func unanswerable(q *questions.Question, a *projector.Asked, v *view) *questions.Error {
	switch {
	case q.Route != "":
		return wrongRoute(q, a, v)
	case a.UnknownPool:
		return &questions.Error{Code: questions.CodeInvalid, Message: "pool: there is no pool " + strconv.Quote(q.Pool) + "; list the pools for their ids"}
	case q.At != 0 && (a.HeldLater || a.Facts.Later(q.At)):
		return &questions.Error{Code: questions.CodeAtTooOld, Message: "at: the state has moved on beyond that time; a replay of the log can answer for it"}
	}
	return nil
}

// answer fills in the reply to one question, and returns what the rules gave; to is the
// choice, of a question that wants one.
func (e *Engine) answer(q *questions.Question, a *projector.Asked, to *projector.Route, r *questions.Reply, v *view, s *scratch) (d fairshare.Answer) {
	if r.Err == nil {
		r.Err = unanswerable(q, a, v)
	}
	if r.Err != nil {
		return d
	}
	d = a.Facts.Decide(a.Now)
	if q.Routed() {
		chosen(to, r)
		comeBack(to.FreeAt, a.Now, &d)
	} else {
		comeBack(a.FreeAt, a.Now, &d)
	}
	if r.DecisionID == "" {
		r.DecisionID = e.ids.next()
	}
	r.RequestID = q.RequestID
	if q.Reserve && r.RequestID == "" {
		r.RequestID = r.DecisionID
	}
	r.AsOf = questions.AsOf{Seq: v.seq, Time: a.Now, LagMs: v.behind}
	e.judged(r, a, &d, s)
	if q.Routed() && to.PoolDeleted {
		r.Message = "Pool " + strconv.Quote(q.Pool) + " was deleted while the request waited for a place in it (decision " + r.DecisionID + ")"
	}
	if v.seq < q.MinSeq {
		r.Degraded = append(r.Degraded, degradedMinSeq)
	}
	if !v.folded && max(v.behind, v.silent) > a.MaxLagMs {
		r.Degraded = append(r.Degraded, degradedLag)
		closeIfDegraded(r, a.Pool, "has a state too old to decide")
	}
	if q.Explain {
		r.Explained = true
		if a.Pool != nil {
			r.Dimensions = a.Facts.Explain(d.Connection, a.Now, r.Dimensions)
			r.Traffic, r.HasTraffic = a.Traffic(d.Connection), true
		}
	}
	return d
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

// judged fills in what the judgement says.
func (e *Engine) judged(r *questions.Reply, a *projector.Asked, d *fairshare.Answer, s *scratch) {
	r.Allow, r.WouldBlock = d.Allowed(), d.WouldBlock()
	r.Reason = d.Reason.String()
	r.Deprioritize, r.ScoreFactor = d.Deprioritize, d.ScoreFactor
	r.HTTPStatus = 200
	r.Scope = string(d.Scope)
	if d.Reason.Blocks() && d.RetryMs >= 0 {
		r.RetryAfterMs, r.RetryAt = d.RetryMs, a.Now+d.RetryMs
	}
	r.Binding.Unit, r.Binding.Window, r.Binding.Model, r.HasBinding = a.Facts.Binding(d.Verdict)
	for _, i := range d.Alternatives {
		r.Alternatives = append(r.Alternatives, a.Pool.Connections[i].ConnectionID)
	}
	if !r.Allow {
		r.HTTPStatus = 429
		s.text = a.Facts.AppendMessage(s.text[:0], d, a.Now, r.DecisionID)
		r.Message = string(s.text)
	}
}

// closeIfDegraded blocks an answer that would let pass, where the pool says
// that an engine with that trouble must not. Mode observe never blocks. The pool's other
// connections would be blocked as well, so none is an alternative.
func closeIfDegraded(r *questions.Reply, p *plans.Pool, trouble string) {
	if p == nil || p.OnDegraded != plans.Closed || p.Mode != plans.Enforce {
		return
	}
	r.Alternatives = r.Alternatives[:0]
	if !r.Allow {
		return
	}
	r.Allow, r.Deprioritize, r.ScoreFactor, r.ConnectionID = false, false, quota.RatioOne, ""
	r.Reason, r.HTTPStatus = reasonDegraded, 503
	r.Message = "The quota engine " + trouble + " for provider " + p.Provider + "; try again shortly (decision " + r.DecisionID + ")"
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
