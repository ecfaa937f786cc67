package answers

import (
	"strconv"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/routing"
)

// wrongRoute says what is wrong with a question by the name of a route, nil when
// nothing is. The pool may be changed while the hold is on its way: a verdict stands.
func wrongRoute(q *questions.Question, a *projector.Asked, v *View) *questions.Error {
	message := ""
	_, provider, model, _ := questions.SplitRoute(q.Route)
	switch {
	case a.UnknownPool:
		message = "route: there is no pool " + strconv.Quote(q.Pool) + "; list the pools for their ids"
	case a.Pool != nil && a.Pool.Provider != provider && !v.Folded:
		message = "route: the provider of pool " + strconv.Quote(q.Pool) + " is " + a.Pool.Provider + ": use " + questions.RouteName(q.Pool, a.Pool.Provider, model)
	default:
		return nil
	}
	return &questions.Error{Code: questions.CodeInvalid, Message: message}
}

// chosen fills in what a choice says beside the verdict.
func chosen(to *projector.Route, r *questions.Reply) {
	r.ConnectionID = to.ConnectionID
	r.Candidates = append(r.Candidates[:0], to.Candidates...)
}

// comeBack makes the time to come back after a block for want of room that at which
// there is some that nobody waits for; 0 = the rules have said it.
func comeBack(freeAt, now int64, d *fairshare.Answer) {
	switch {
	case d.Reason != fairshare.Capacity || freeAt == 0:
	case freeAt == routing.Never:
		d.RetryMs = -1
	default:
		d.RetryMs = max(freeAt-now, 1)
	}
}
