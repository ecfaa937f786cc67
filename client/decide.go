package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

// Decide asks the engine, and always has an answer within Options.Timeout, or within
// the deadline of ctx when that is sooner. When the engine gives none, the decision
// is an allow with ReasonFailOpen, or with Options.FailClosed a block with
// ReasonDegraded and status 503; its Degraded and Detail, a counter and a line of the
// log say why. The error is for a question that cannot be answered at all, a
// *questions.Error that names the field: such a one never passes.
func (c *Client) Decide(ctx context.Context, q Question) (Decision, error) {
	a := c.DecideBatch(ctx, []Question{q})[0]
	return a.Decision, a.Err
}

// DecideBatch asks all questions at once, and has an answer to each, in their order
// and within the time that Decide has for one. Those that reserve are judged one
// after the other, and see each other's holds. Questions that do not fit into one
// message are asked in several; then later ones may be answered from a later state.
func (c *Client) DecideBatch(ctx context.Context, list []Question) []Answer {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	answers := make([]Answer, len(list))
	var b batch
	for i := range list {
		x, err := c.prepare(ctx, &list[i])
		if err != nil {
			c.counts.invalid.Add(1)
			answers[i].Err = err
			continue
		}
		x.to = &answers[i]
		b = append(b, x)
	}
	for later := false; len(b) > 0; later = true {
		n := b.fit(c.to.room())
		if later {
			b[:n].write(ctx)
		}
		c.ask(ctx, b[:n])
		b = b[n:]
	}
	return answers
}

// asked is one question on its way.
type asked struct {
	form questions.Question
	ours bool          // the request's name is: no other will have it
	wait time.Duration // that it may take at most; 0 = as long as there is time
	body []byte
	to   *Answer
}

// batch are questions for one message or several.
type batch []asked

// prepare writes a question. One that reserves has a name from here on, so that its
// hold can be ended whatever becomes of the answer.
func (c *Client) prepare(ctx context.Context, q *Question) (x asked, err error) {
	if x.form, err = q.form(); err != nil {
		return x, err
	}
	if x.form.Reserve && x.form.RequestID == "" {
		x.form.RequestID, x.ours = c.ids.next("r"), true
	}
	x.wait = q.MaxWait
	x.write(ctx)
	return x, check(x.body)
}

// write makes the body, with the wait that there is still time for. Written later it
// is no longer than before.
func (x *asked) write(ctx context.Context) {
	switch {
	case x.form.Routed():
		x.form.MaxWaitMs = roomWait(ctx, x.wait)
	case x.form.Reserve || x.form.MinSeq > 0:
		x.form.MaxWaitMs = maxWait(ctx, x.wait)
	}
	x.body = questions.AppendQuestion(x.body[:0], &x.form)
}

// noHold is what the engine's answer says when its hold had no verdict in time. It may
// still be on its way.
const noHold = "no-hold"

// mostMargin bounds the part of the time that is left for the way there and back.
const mostMargin = 100 * time.Millisecond

// maxWait returns how long in milliseconds the engine may wait for a verdict. What it
// knows when that is over says more than a time-out of ours, and has to come before
// it: so a quarter of the time, at most mostMargin, is left for the way.
func maxWait(ctx context.Context, asked time.Duration) int64 {
	deadline, _ := ctx.Deadline() // there is one: Options.Timeout
	left := max(0, time.Until(deadline))
	wait := left - min(left/4, mostMargin)
	if asked > 0 {
		wait = min(wait, asked)
	}
	return min(wait.Milliseconds(), questions.MaxMaxWaitMs)
}

// fit returns how many of the questions go into one message: at least one.
func (b batch) fit(room int) int {
	room -= len("[") // each has a comma behind it, the last one the ]
	for n := range b {
		room -= len(b[n].body) + len(",")
		if n > 0 && (room < 0 || n == questions.MaxItems) {
			return n
		}
	}
	return len(b)
}

// write makes the bodies anew, for a message that goes after another one.
func (b batch) write(ctx context.Context) {
	for i := range b {
		b[i].write(ctx)
	}
}

// subject is that of the message: one of quota.route is alone.
func (b batch) subject() string {
	if b[0].form.Routed() {
		return questions.RouteSubject
	}
	return questions.Subject
}

// message is one question, or an array.
func (b batch) message() []byte {
	if len(b) == 1 {
		return b[0].body
	}
	body := []byte{'['}
	for i := range b {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, b[i].body...)
	}
	return append(body, ']')
}

// ask asks what fits into one message. When the answer does not fit into one, the
// halves are asked: a question that reserved is known by its name, and asked again
// holds once.
func (c *Client) ask(ctx context.Context, b batch) {
	replies, err := c.replies(ctx, b)
	if half := len(b) / 2; half > 0 && isTooLarge(err) {
		for _, part := range []batch{b[:half], b[half:]} {
			part.write(ctx)
			c.ask(ctx, part)
		}
		return
	}
	for i := range b {
		if err != nil {
			c.answer(&b[i], nil, err)
		} else {
			c.answer(&b[i], &replies[i], nil)
		}
	}
}

// replies returns a reply for each question, or why there is none.
func (c *Client) replies(ctx context.Context, b batch) ([]questions.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	body, err := c.to.ask(ctx, b.subject(), b.message())
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("no answer came in time: %w", err)
	case err != nil:
		return nil, err
	}
	replies, err := questions.ParseReplies(body, wire.JSON)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errBadReply, err)
	case len(replies) == 1 && replies[0].Err != nil:
		return nil, replies[0].Err // of the message, or of its only question
	case len(replies) != len(b):
		return nil, fmt.Errorf("%w: %d answers to %d questions", errBadReply, len(replies), len(b))
	}
	return replies, nil
}

func isTooLarge(err error) bool {
	var e *questions.Error
	return errors.As(err, &e) && e.Code == questions.CodeTooLarge
}

// answer makes the answer of a reply, or without one.
func (c *Client) answer(x *asked, r *questions.Reply, err error) {
	if r != nil && r.Err != nil {
		err = r.Err
	}
	var bad *questions.Error
	switch {
	case errors.As(err, &bad) && bad.Code != questions.CodeInternal:
		c.counts.invalid.Add(1)
		x.to.Err = bad
	case bad != nil:
		x.to.Decision = c.without(x, fmt.Errorf("%w: %s", errEngine, bad.Message))
	case err != nil:
		x.to.Decision = c.without(x, err)
	default:
		x.to.Decision = decision(&x.form, r)
		if r.Allow && r.ConnectionID == "" {
			x.to.settleOn(&x.form)
		}
		if x.ours && slices.Contains(r.Degraded, noHold) {
			x.to.Hold.unanswered = mayCome
		}
		c.counts.decided(&x.to.Decision)
	}
}
