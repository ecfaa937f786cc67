package client

import (
	"context"
	"time"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

// RouteQuestion asks which connection a call is to use: one of a pool, or of the
// candidates. What is chosen is held.
type RouteQuestion struct {
	APIKeyID   string
	Pool       string // a pool's id, or
	Route      string // the name of a pool's route to a model, which names that too, or
	Candidates []questions.Candidate
	Model      string
	Estimate   Amounts
	RequestID  string        // as Question's
	Lease      time.Duration // of the hold, 1 ms to 1 h; 0 = the engine's setting

	MinSeq uint64 // choose in a state that includes this sequence of the log
	// MaxWait is how long the call may wait for room when every connection that would do
	// has as many calls as it takes, up to 1 h; 0 = not at all. The keys that wait take
	// turns.
	MaxWait time.Duration
	Explain bool
}

// Route asks the engine to choose, and always has an answer within Options.Timeout and
// MaxWait together, or within the deadline of ctx when that is sooner. An allow names the
// connection, and is to be followed by Settle or Release.
//
// When the engine gives no answer, the first of the candidates is chosen, or none by
// pool; with Options.FailClosed the call is blocked. The error is for a question that
// cannot be answered at all, as Decide's.
func (c *Client) Route(ctx context.Context, q RouteQuestion) (Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout+max(0, q.MaxWait))
	defer cancel()
	var a Answer
	x, err := c.prepareRoute(ctx, &q)
	if err != nil {
		c.counts.invalid.Add(1)
		return a.Decision, err
	}
	x.to = &a
	c.ask(ctx, batch{x})
	return a.Decision, a.Err
}

// prepareRoute writes a question for a choice, and names its request.
func (c *Client) prepareRoute(ctx context.Context, q *RouteQuestion) (x asked, err error) {
	plain := Question{
		APIKeyID: q.APIKeyID, Pool: q.Pool, Model: q.Model, Estimate: q.Estimate, Reserve: true, RequestID: q.RequestID,
		Lease: q.Lease, MinSeq: q.MinSeq, Explain: q.Explain,
	}
	if x.form, err = plain.form(); err != nil {
		return x, err
	}
	if x.form.RequestID == "" {
		x.form.RequestID, x.ours = c.ids.next("r"), true
	}
	if q.Route != "" && (q.Pool != "" || q.Model != "") { // which writing would leave out
		return x, invalid("route names pool and model: leave pool and model out")
	}
	for i := range q.Candidates {
		if err := checkTexts(q.Candidates[i].ConnectionID, "candidates.connectionId"); err != nil {
			return x, err
		}
	}
	x.form.Route, x.form.Candidates, x.wait = q.Route, q.Candidates, q.MaxWait
	x.write(ctx)
	var r questions.Request
	if err := r.DecodeRoute(x.body, wire.JSON); err != nil {
		return x, err
	}
	return x, nil
}

// verdictWithin is how much longer than it may wait for room the engine takes for its
// answer at most.
const verdictWithin = 100 * time.Millisecond

// roomWait returns how long in milliseconds the engine may let a call wait for room, as
// maxWait does for a verdict.
func roomWait(ctx context.Context, asked time.Duration) int64 {
	deadline, _ := ctx.Deadline() // there is one: Options.Timeout
	left := max(0, time.Until(deadline))
	wait := max(0, left-verdictWithin-min(left/4, mostMargin))
	return min(min(wait, max(0, asked)).Milliseconds(), questions.MaxMaxWaitMs)
}
