package replay

import (
	"context"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/whatif"
)

// sort brings the recorded blocks of the range into order.
func (w *whatIf) sort(ctx context.Context) (*sortedRows, error) {
	return sortRows(ctx, w.o.Rows, w.o.Store, w.wants)
}

// wants reports whether a row is a block that the log does not have. The verdict on a
// hold is given again where the hold is; and where a pool only observed, the request
// went on and its consumption is asked about.
func (w *whatIf) wants(c *questions.Record) bool {
	seq := c.Reply.AsOf.Seq
	switch {
	case c.Reply.Allow || c.Index != questions.FromView || seq+1 < w.made.From || seq > w.made.To:
		return false
	case w.t.From.Seq == 0 && c.Reply.AsOf.Time < w.t.From.Time:
		return false
	case w.t.To.Seq == 0 && w.t.To.Time != 0 && c.Reply.AsOf.Time > w.t.To.Time:
		return false
	case c.Reply.Reason == answers.Degraded:
		w.made.Asked.Degraded += int64(c.Count)
		return false
	}
	return true
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
func (w *whatIf) block(ctx context.Context, c *questions.Record) error {
	for _, s := range w.sides {
		s.watchBetween(c.ConnectionID, c.Reply.AsOf.Time)
	}
	n, row := int64(c.Count), w.row(c.Question.APIKeyID)
	before, _ := w.again(whatif.Before, c)
	row.Sides[whatif.Before].Count(&before, n)
	w.made.Asked.Blocks += n
	if before.Passes {
		w.made.Asked.Unlike += n
	}
	for ; n > 0; n-- {
		after, to := w.again(whatif.After, c)
		same := int64(1)
		paid := after.Passes && !before.Passes
		if !paid {
			same = n // nothing changes until the next one
		}
		row.Sides[whatif.After].Count(&after, same)
		row.Differ(&before, &after, same)
		if !paid {
			return nil
		}
		if err := w.payBlock(ctx, c, to); err != nil {
			return err
		}
	}
	return nil
}

// payBlock counts a block that was let pass. A request that asked again is one
// request.
func (w *whatIf) payBlock(ctx context.Context, c *questions.Record, connectionID string) error {
	q, s := &c.Question, w.sides[whatif.After]
	if settled, err := s.p.State().WasSettled(q.APIKeyID, q.RequestID); err != nil || settled {
		return err
	}
	return s.pay(ctx, &events.Event{
		APIKeyID: q.APIKeyID, ConnectionID: connectionID, Model: q.Model, RequestID: q.RequestID, Cost: q.Estimate, Time: c.Reply.AsOf.Time,
	})
}

// again asks a recorded question on a side. A pool that there is not there is asked by
// the connection that was answered for.
func (w *whatIf) again(which int, c *questions.Record) (whatif.Decision, string) {
	s, q := w.sides[which], c.Question
	q.MinSeq, q.Explain = 0, false
	if !q.Routed() && q.Pool != "" {
		if _, there := s.p.State().Pool(q.Pool); !there {
			if q.Pool, q.ConnectionID = "", c.ConnectionID; q.ConnectionID == "" {
				return whatif.Decision{Block: true, Reason: unknownPool}, ""
			}
		}
	}
	return s.answer(&q, c.Reply.AsOf.Time)
}
