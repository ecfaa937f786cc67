package client

import (
	"context"
	"errors"

	"github.com/quotashare/quotashare/questions"
)

// Cause is why a question has no answer. Its text is in Decision.Degraded.
type Cause string

// The causes there are.
const (
	Timeout      Cause = "timeout"       // none came in time
	NoResponders Cause = "no-responders" // no engine listens
	Disconnected Cause = "disconnected"  // there is no connection to the broker
	BadReply     Cause = "bad-reply"     // what came was no answer
	EngineError  Cause = "engine-error"  // the engine says that it could not answer, and not that the question is bad
	Unsent       Cause = "unsent"        // the question could not be sent for another reason
	Canceled     Cause = "canceled"      // whoever asked has left
)

// Causes are all causes.
var causes = [...]Cause{Timeout, NoResponders, Disconnected, BadReply, EngineError, Unsent, Canceled}

// Errors of answers.
var (
	errBadReply = errors.New("the reply is none")
	errEngine   = errors.New("the engine could not answer")
)

// causeOf tells why asking gave err.
func causeOf(err error) Cause {
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, errNoResponders):
		return NoResponders
	case errors.Is(err, errDisconnected):
		return Disconnected
	case errors.Is(err, errBadReply):
		return BadReply
	case errors.Is(err, errEngine):
		return EngineError
	}
	return Unsent
}

// without is the decision when there is no answer.
func (c *Client) without(x *asked, err error) Decision {
	q, cause := &x.form, causeOf(err)
	c.counts.failed(cause, c.o.FailClosed)
	c.sayWithout(cause, err)
	d := Decision{Degraded: []string{string(cause)}, Detail: err.Error(), ScoreFactor: 1, Hold: holdOf(q, "")}
	d.Hold.unanswered = x.fate(err)
	if !c.o.FailClosed {
		d.Allow, d.Reason, d.Status = true, ReasonFailOpen, 200
		d.settleOn(q)
		return d
	}
	d.Reason, d.Status = ReasonDegraded, 503
	d.Message = "the quota engine gives no answer, and without one no request passes here: try again later (" + string(cause) + ")"
	if q.Reserve {
		c.giveUp(d.Hold)
	}
	return d
}

// settleOn gives what is allowed and has no connection the first of the candidates: the
// call must go somewhere.
func (d *Decision) settleOn(q *questions.Question) {
	if len(q.Candidates) > 0 {
		d.ConnectionID = q.Candidates[0].ConnectionID
		d.Hold.ConnectionID = d.ConnectionID
	}
}

// fate tells what may have become of it.
func (x *asked) fate(err error) fate {
	switch {
	case !x.form.Reserve || !x.ours:
		return 0
	case errors.Is(err, errUnsent) || errors.Is(err, errNoResponders):
		return neverSent
	}
	return mayCome
}

// sayWithout says why there is no answer. Who has left needs none, so that is only
// counted.
func (c *Client) sayWithout(cause Cause, err error) {
	what := "the quota engine gives no answer; requests pass unchecked"
	switch {
	case cause == Canceled:
		return
	case c.o.FailClosed:
		what = "the quota engine gives no answer; requests are blocked"
	}
	c.said.warn(string(cause), what, err)
}

// giveUp releases what the engine may have held for a question that was answered
// without it. A release that the buffer does not take leaves the hold to its lease.
func (c *Client) giveUp(h Hold) { _ = c.Release(h) }
