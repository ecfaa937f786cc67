// Package answers makes replies of what the rules say. It is the one place where a
// judgement becomes an answer, so that whoever explains or audits an answer makes
// it as it was made.
package answers

import (
	"strconv"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// What an answer says is wrong with it, in questions.Reply.Degraded.
const (
	Lag    = "lag"     // the state is older than maxLag
	MinSeq = "min-seq" // minSeq was not folded in time
	NoHold = "no-hold" // no verdict on the hold came in time
)

// Degraded is the reason of a block that only the engine's own state explains.
const Degraded = "degraded"

// View is the state that an answer is given from.
type View struct {
	Seq    uint64
	Behind int64 // the age of the oldest message that is not folded, ms; 0 = there is none
	Silent int64 // for how long the log has said nothing, ms
	Folded bool  // it is the fold's verdict, and true at its place however late it comes
}

// Scratch is what making a reply works with. It is for one goroutine at a time.
type Scratch struct{ text []byte }

// Make fills in the reply to a question, and returns what the rules gave. The reply
// was Reset; one that has an error keeps it, and one that has a decision id that,
// else newID gives one. to is the choice, of a question that wants one.
func Make(q *questions.Question, a *projector.Asked, to *projector.Route, r *questions.Reply, v *View, newID func() string, s *Scratch) (d fairshare.Answer) {
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
		r.DecisionID = newID()
	}
	r.RequestID = q.RequestID
	if q.Reserve && r.RequestID == "" {
		r.RequestID = r.DecisionID
	}
	r.AsOf = questions.AsOf{Seq: v.Seq, Time: a.Now, LagMs: v.Behind}
	judged(r, a, &d, s)
	if q.Routed() && to.PoolDeleted {
		r.Message = "Pool " + strconv.Quote(q.Pool) + " was deleted while the request waited for a place in it (decision " + r.DecisionID + ")"
	}
	degrade(q, a, r, v)
	if q.Explain {
		explain(a, r, &d)
	}
	return d
}

// About says which connection a judged answer is about, and the pool by whose rules it
// was made, "" = none. connection is that of fairshare.Answer.
func About(q *questions.Question, a *projector.Asked, r *questions.Reply, connection int) (connectionID, poolID string) {
	connectionID = q.ConnectionID
	if a.Pool != nil {
		poolID = a.Pool.ID
		if connection >= 0 && connection < len(a.Pool.Connections) {
			connectionID = a.Pool.Connections[connection].ConnectionID
		}
	}
	if r.ConnectionID != "" {
		connectionID = r.ConnectionID
	}
	return connectionID, poolID
}

// unanswerable says why there is no answer, nil when there is one.
func unanswerable(q *questions.Question, a *projector.Asked, v *View) *questions.Error {
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

// judged fills in what the judgement says.
func judged(r *questions.Reply, a *projector.Asked, d *fairshare.Answer, s *Scratch) {
	r.Allow, r.WouldBlock = d.Allowed(), d.WouldBlock()
	r.Reason = d.Reason.String()
	r.Deprioritize, r.ScoreFactor = d.Deprioritize, d.ScoreFactor
	r.HTTPStatus = 200
	r.Scope, r.Detail = string(d.Scope), d.Detail
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

// degrade says what is wrong with the state that the answer is from.
func degrade(q *questions.Question, a *projector.Asked, r *questions.Reply, v *View) {
	if v.Seq < q.MinSeq {
		r.Degraded = append(r.Degraded, MinSeq)
	}
	if !v.Folded && max(v.Behind, v.Silent) > a.MaxLagMs {
		r.Degraded = append(r.Degraded, Lag)
		CloseIfDegraded(r, a.Pool, "has a state too old to decide")
	}
}

// CloseIfDegraded blocks an answer that would let pass, where the pool says
// that an engine with that trouble must not. Mode observe never blocks. The pool's other
// connections would be blocked as well, so none is an alternative.
func CloseIfDegraded(r *questions.Reply, p *plans.Pool, trouble string) {
	if p == nil || p.OnDegraded != plans.Closed || p.Mode != plans.Enforce {
		return
	}
	r.Alternatives = r.Alternatives[:0]
	if !r.Allow {
		return
	}
	r.Allow, r.Deprioritize, r.ScoreFactor, r.ConnectionID = false, false, quota.RatioOne, ""
	r.Reason, r.HTTPStatus = Degraded, 503
	r.Message = "The quota engine " + trouble + " for provider " + p.Provider + "; try again shortly (decision " + r.DecisionID + ")"
}

// explain fills in what the answer comes from.
func explain(a *projector.Asked, r *questions.Reply, d *fairshare.Answer) {
	r.Explained = true
	if a.Pool != nil {
		r.Dimensions = a.Facts.Explain(d.Connection, a.Now, r.Dimensions)
		r.Traffic, r.HasTraffic = a.Traffic(d.Connection), true
	}
}
