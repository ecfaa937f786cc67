package replay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// sortedRows are recorded decisions in the order of the log, in a store of their own.
type sortedRows struct{ store projector.Store }

// mostRows is how many go into one batch.
const mostRows = 1000

// sort brings the rows of the range into order.
func (a *auditor) sort(ctx context.Context) (s *sortedRows, err error) {
	store, err := a.o.Store()
	if err != nil {
		return nil, err
	}
	s = &sortedRows{store}
	if a.o.Rows == nil {
		return s, nil
	}
	b, n, key, highest := store.NewBatch(), uint64(0), []byte(nil), uint64(0)
	err = a.o.Rows.Each(ctx, func(c *questions.Record) error {
		seq := c.Reply.AsOf.Seq
		if highest = max(highest, seq); seq < a.o.From || seq > a.o.To {
			return nil
		}
		n++
		key = binary.BigEndian.AppendUint64(key[:0], seq)
		key = binary.BigEndian.AppendUint64(key, n)
		if err := b.Set(key, c.AppendJSON(nil)); err != nil || n%mostRows != 0 {
			return err
		}
		err := store.Commit(b)
		b = store.NewBatch()
		return err
	})
	if err == nil {
		err = errors.Join(store.Commit(b), a.beyond(ctx, highest))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("decisions: %w", err), store.Close())
	}
	return s, nil
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

// each goes through the rows.
func (s *sortedRows) each(fn func(*questions.Record) error) error {
	return s.store.Scan([]byte{0}, []byte{1}, func(_, value []byte) error {
		list, err := questions.ParseRecords(append(append([]byte{'['}, value...), ']'))
		if err != nil {
			return fmt.Errorf("decisions: %w", err)
		}
		return fn(&list[0])
	})
}

// Close closes the store.
func (s *sortedRows) Close() error { return s.store.Close() }

// row derives one decision again, at its place.
func (a *auditor) row(ctx context.Context, c *questions.Record) error {
	if err := a.to(ctx, c.Reply.AsOf.Seq); err != nil {
		return err
	}
	n := &a.made.Rows
	n.Rows++
	n.Answers += uint64(c.Count)
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

func (a *auditor) tell(d *Difference) {
	if a.o.Told != nil {
		a.o.Told(d)
	}
}
