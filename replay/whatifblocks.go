package replay

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
)

// sort brings the recorded blocks of the range into order.
func (w *whatIf) sort(ctx context.Context) (*sortedRows, error) {
	return sortRows(ctx, w.o.Rows, w.o.Store, func(c *questions.Record) []questions.Record {
		return slices.DeleteFunc(asked(c), func(c questions.Record) bool { return !w.wants(&c) })
	})
}

// asked are the questions of a row, each where it was answered. Those of which there is
// the number alone are asked where the last was, before it: with the name of their
// request if all of the row have one name, as a caller that tries again has, or else
// without.
func asked(c *questions.Record) []questions.Record {
	list, counted := c.Split()
	if counted == 0 {
		return list
	}
	last := len(list) - 1
	rest := list[last]
	rest.Count = counted
	for i := range list {
		if list[i].Question.RequestID != rest.Question.RequestID {
			rest.Question.RequestID = ""
		}
	}
	return slices.Insert(list, last, rest)
}

// wants reports whether a row is a block that the log does not have. The verdict on a
// hold is given again where the hold is; and where a pool only observed, the request
// went on and its consumption is asked about.
func (w *whatIf) wants(c *questions.Record) bool {
	switch {
	case c.Reply.Allow || c.Index != questions.FromView || !w.within(&c.Reply.AsOf):
		return false
	case c.Reply.Reason == answers.Degraded:
		w.made.Asked.Degraded += int64(c.Count)
		return false
	}
	return true
}

// within reports whether an answer is of the range. Of one that a time bounds its
// message says nothing: while nothing is logged all answers are of one message, which
// may be hours old. By sequence it is of the range that its message is of, so that two
// ranges of which one begins behind the other have each answer once; those from before
// the log's first message are of the range that begins with it.
func (w *whatIf) within(a *questions.AsOf) bool {
	from, to := w.t.From, w.t.To
	begun, ended := a.Seq >= w.made.From || w.made.From == 1, a.Seq > w.made.To
	switch {
	case from.Seq != 0:
	case from.Time != 0:
		begun = a.Time >= from.Time
	default:
		begun = begun || a.Seq+1 == w.made.From && a.Time >= w.since
	}
	if to.Seq == 0 && to.Time != 0 {
		ended = a.Time > to.Time
	}
	return begun && !ended
}

// blocks asks about every block, at its place.
func (w *whatIf) blocks(ctx context.Context) error {
	return w.sorted.each(func(c *questions.Record) error {
		if err := w.to(ctx, c.Reply.AsOf.Seq); err != nil {
			return err
		}
		if w.refused[c.Reply.DecisionID] {
			return nil // the fold gave it, to one that waited
		}
		return w.block(ctx, c)
	})
}

// block asks about a block on both sides, as often as it was given. What the rules
// tried let pass is counted with its estimate, so that the next may be blocked again.
//
// Equal ones are asked one by one, up to mostAlike of a row; of more, which no second
// has, several at a time.
func (w *whatIf) block(ctx context.Context, c *questions.Record) error {
	at, err := w.timely(ctx, &c.Reply.AsOf)
	if err != nil {
		return err
	}
	for _, s := range w.sides {
		s.watchBetween(c.ConnectionID, at)
	}
	n, row := int64(c.Count), w.row(c.Question.APIKeyID)
	before, _ := w.again(whatif.Before, c)
	row.Sides[whatif.Before].Count(&before.Decision, n)
	w.sides[whatif.Before].turnAwayBlocks(&before, &c.Question, at, n)
	w.made.Asked.Blocks += n
	if before.Passes {
		w.made.Asked.Unlike += n
	}
	for step := (n + mostAlike - 1) / mostAlike; n > 0; n -= step {
		after, to := w.again(whatif.After, c)
		step = min(step, n)
		paid := after.Passes && !before.Passes
		if !paid {
			step = n // nothing changes until the next one
		}
		row.Sides[whatif.After].Count(&after.Decision, step)
		row.Differ(&before.Decision, &after.Decision, step)
		if !paid {
			w.sides[whatif.After].turnAwayBlocks(&after, &c.Question, at, step)
			continue
		}
		if err := w.payBlock(ctx, c, to, at, step); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// mostAlike is how many equal blocks are asked about one by one. A decider answers fewer
// in a second, for which a row is; but whoever may publish can store any count.
const mostAlike = 10_000

// timely is when an answer was given, by the broker: at the latest when it took the next
// message. A clock that is days ahead would close the buckets of the history, and bring
// the other side to its time.
func (w *whatIf) timely(ctx context.Context, a *questions.AsOf) (int64, error) {
	next := w.after
	m, err := w.sides[whatif.Before].p.Peek(ctx)
	switch {
	case err == nil:
		next = m.Time
	case !errors.Is(err, io.EOF):
		return 0, err
	}
	if next != 0 && a.Time > next+a.LagMs+projector.MaxAhead {
		return next, nil
	}
	return a.Time, nil
}

// payBlock counts so many equal blocks that were let pass, at that time. A request that asked again is one
// request; and one that was asked about without saying of how many it is, is one too,
// as its consumption would have been.
func (w *whatIf) payBlock(ctx context.Context, c *questions.Record, connectionID string, at, n int64) error {
	q, s := &c.Question, w.sides[whatif.After]
	if settled, err := s.p.State().WasSettled(q.APIKeyID, q.RequestID); err != nil || settled {
		return err
	}
	cost := costOf(q, n)
	return s.pay(ctx, &events.Event{
		APIKeyID: q.APIKeyID, ConnectionID: connectionID, Model: q.Model, RequestID: q.RequestID, Cost: cost, Time: at,
	})
}

// costOf is what so many equal questions ask for, at most what an event may say.
func costOf(q *questions.Question, n int64) quota.Amounts {
	cost := q.Estimate
	if cost[quota.Requests] == 0 && !q.Reserve {
		cost[quota.Requests] = quota.Amount(quota.Requests.Scale())
	}
	for u, a := range cost {
		if most := quota.Unit(u).Max(); a > most/quota.Amount(n) {
			cost[u] = most
		} else {
			cost[u] = a * quota.Amount(n)
		}
	}
	return cost
}

// turnAwayBlocks is turnAway of so many equal blocks. Those of one id are one request.
func (s *side) turnAwayBlocks(d *judged, q *questions.Question, at, n int64) {
	if q.RequestID != "" {
		n = 1
	}
	cost := costOf(q, n)
	s.turnAway(d, requestID{q.APIKeyID, q.RequestID}, &cost, at)
}

// again asks a recorded question on a side. A pool that there is not there is asked by
// the connection that was answered for.
func (w *whatIf) again(which int, c *questions.Record) (judged, string) {
	s, q := w.sides[which], c.Question
	q.MinSeq, q.Explain = 0, false
	if !q.Routed() && q.Pool != "" {
		if _, there := s.p.State().Pool(q.Pool); !there {
			if q.Pool, q.ConnectionID = "", c.ConnectionID; q.ConnectionID == "" {
				return blockedFor(unknownPool), ""
			}
		}
	}
	return s.answer(&q, c.Reply.AsOf.Time)
}
