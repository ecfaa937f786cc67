package replay

import (
	"context"
	"errors"
	"slices"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/questions"
)

// sort brings the rows of the range into order.
func (a *auditor) sort(ctx context.Context) (*sortedRows, error) {
	highest := uint64(0)
	s, err := sortRows(ctx, a.o.Rows, a.o.Store, func(c *questions.Record) []questions.Record {
		list, counted := c.Split()
		if a.wants(&list[0]) {
			a.made.Rows.Rows++
			a.made.Rows.Counted += uint64(counted)
			a.made.Rows.Answers += uint64(counted)
		}
		return slices.DeleteFunc(list, func(c questions.Record) bool {
			seq := c.Reply.AsOf.Seq
			highest = max(highest, seq)
			if !a.wants(&c) {
				return true
			}
			a.first, a.o.End = min(a.first, seq), max(a.o.End, seq)
			return false
		})
	})
	if err != nil || a.o.Rows == nil {
		return s, err
	}
	a.made.NotKept, err = notKept(ctx, &a.o.Options, a.o.Rows, a.o.From, a.o.FromTime)
	if err := errors.Join(err, a.beyond(ctx, highest)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// wants reports whether a row is of the range. Of one that times bound its sequence
// says nothing: while nothing is logged, all answers are of one message, which may be
// hours old.
func (a *auditor) wants(c *questions.Record) bool {
	o, seq := &a.o, c.Reply.AsOf.Seq
	begun, ended := seq >= o.From, seq > o.To
	if o.FromTime != 0 {
		begun = c.Time >= o.FromTime
	}
	if o.ToTime != 0 {
		ended = c.Time > o.ToTime
	}
	return begun && !ended && seq <= a.last
}

// beyond notes a row that names what the log has not. An engine that runs may have
// answered from newer messages meanwhile, so the log is asked again.
func (a *auditor) beyond(ctx context.Context, seq uint64) error {
	_, last, err := a.o.Log.Bounds(ctx)
	if seq > last {
		a.made.Beyond = seq
	}
	return err
}

// row derives one answer again, at its place.
func (a *auditor) row(ctx context.Context, c *questions.Record) error {
	if err := a.to(ctx, c.Reply.AsOf.Seq); err != nil {
		return err
	}
	n := &a.made.Rows
	n.Answers++
	fields, verdict := a.derive(c)
	switch seq, _ := a.p.State().At(); {
	case seq != c.Reply.AsOf.Seq || a.p.Missing().Count > 0:
		n.Unproved++
	case c.Local || says(&c.Reply, answers.NoHold):
		n.Local++
	case len(fields) == 0:
		n.Same++
	case a.untold && c.Question.Routed() && !verdict:
		n.Unproved++ // it may be of one that waited since before the snapshot
	case c.Question.Reserve && a.p.Began().Seq == c.Reply.AsOf.Seq:
		n.Unproved++ // the verdict of the message that the snapshot is of is not in it
	default:
		n.Different++
		a.tell(&Difference{
			Seq: c.Reply.AsOf.Seq, Index: c.Index, Record: c, DecisionID: c.Reply.DecisionID, Question: c.Question, Fields: fields,
		})
	}
	return nil
}

// tell tells of a difference, unless it is of a hold that only had to be gone through.
func (a *auditor) tell(d *Difference) {
	if a.o.Told != nil && (!d.Hold || a.judges(d.Seq)) {
		a.o.Told(d)
	}
}
