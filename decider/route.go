package decider

import (
	"strconv"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/routing"
)

// wrongRoute says what is wrong with a question by the name of a route, nil when
// nothing is. The pool may be changed while the hold is on its way: a verdict stands.
func wrongRoute(q *questions.Question, a *projector.Asked, v *view) *questions.Error {
	message := ""
	_, provider, model, _ := questions.SplitRoute(q.Route)
	switch {
	case a.UnknownPool:
		message = "route: there is no pool " + strconv.Quote(q.Pool) + "; list the pools for their ids"
	case a.Pool != nil && a.Pool.Provider != provider && !v.folded:
		message = "route: the provider of pool " + strconv.Quote(q.Pool) + " is " + a.Pool.Provider + ": use " + questions.RouteName(q.Pool, a.Pool.Provider, model)
	default:
		return nil
	}
	return &questions.Error{Code: questions.CodeInvalid, Message: message}
}

// chosen fills in what a choice says beside the verdict. For want of room, the time to
// come back is when there is some that nobody waits for.
func chosen(to *projector.Route, a *projector.Asked, r *questions.Reply, d *fairshare.Answer) {
	r.ConnectionID = to.ConnectionID
	r.Candidates = append(r.Candidates[:0], to.Candidates...)
	switch {
	case d.Reason != fairshare.Capacity || to.FreeAt == 0:
	case to.FreeAt == routing.Never:
		d.RetryMs = -1
	default:
		d.RetryMs = max(to.FreeAt-a.Now, 1)
	}
}

// mayWait reports whether a question that the view answered so may find room by
// waiting for it.
func mayWait(q *questions.Question, r *questions.Reply) bool {
	return q.Routed() && q.Wait() > 0 && r.Reason == fairshare.Capacity.String() && r.Scope != ""
}
