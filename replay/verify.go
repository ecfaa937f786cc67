package replay

import (
	"context"
	"errors"
	"io"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/snapshots"
)

// VerifyOptions say what is derived again.
type VerifyOptions struct {
	Options
	// From and To are the first and the last sequence that an answer is of; To 0 =
	// the log's last.
	From, To uint64
	// FromTime and ToTime, where they are not 0, take the place of From and To: the
	// first and the last instant, epoch ms. Decisions are chosen by when they were
	// answered, by the clock of who did, whatever message the answer is of; verdicts on
	// holds by when the broker took the hold.
	FromTime, ToTime int64
	// Rows are the recorded decisions, in any order; nil = only the verdicts on holds
	// are derived.
	Rows Rows
	// Told is given each difference as it is found.
	Told func(*Difference)
}

// Rows are recorded decisions.
type Rows interface {
	// Each calls fn for every row; fn keeps nothing of it. An error of fn ends the
	// reading and is returned.
	Each(ctx context.Context, fn func(*questions.Record) error) error
}

// Verification is what was derived again.
type Verification struct {
	From, To uint64 // of the messages whose holds were judged; none when To is below From
	Began    uint64 // sequence of the snapshot that it began with; 0 = with the first message
	Missing  Missing
	// NotKept is the instant, epoch ms, before which decisions of the range may have
	// been dropped, so that they were not derived; 0 = none was.
	NotKept int64
	// Beyond is the highest sequence that a row names and the log never had, 0 = none:
	// the rows are of another log, or the log was rolled back.
	Beyond   uint64
	Messages uint64 // folded for it
	Rows     RowCounts
	Holds    HoldCounts
}

// RowCounts count the recorded decisions of the range. Each answer is one of the last
// five.
type RowCounts struct {
	Rows    uint64 `json:"rows"`    // that begin in it
	Answers uint64 `json:"answers"` // that they stand for: equal blocks of a second are one row
	Same    uint64 `json:"same"`
	// Different are those that do not follow from the log.
	Different uint64 `json:"different"`
	// Local are those that counted holds which the log did not have: what an engine
	// was told by another one, nobody can derive.
	Local uint64 `json:"local"`
	// Unproved are those for which the log lacks something: messages before them, or
	// the hold that waited since before the snapshot.
	Unproved uint64 `json:"unproved"`
	// Counted are those of which a row has the number alone: between the first hundred
	// of a second and the last, and all but the first in rows of earlier versions.
	Counted uint64 `json:"counted"`
}

// HoldCounts count the verdicts that the fold gave on holds in the range. Each but
// those of Waiting is one of the others.
type HoldCounts struct {
	Verdicts uint64 `json:"verdicts"`
	// Agreed are those that the view of the state before gives as well.
	Agreed uint64 `json:"agreed"`
	// Different are those that it does not.
	Different uint64 `json:"different"`
	// Alone are those that the fold alone can give: something happened between the
	// message before and the hold's place, see secondOpinion.
	Alone uint64 `json:"alone"`
	// Waited are those of Alone that were given to who waited for room.
	Waited  uint64 `json:"waited"`
	Waiting uint64 `json:"waiting"` // entered a backlog; their verdict comes later
}

// Differs reports whether anything does not follow from the log.
func (v *Verification) Differs() bool { return v.Rows.Different+v.Holds.Different > 0 }

// Proves reports whether anything was found out, or nothing was to be.
func (v *Verification) Proves() bool {
	return v.Rows.Unproved == 0 || v.Rows.Same+v.Rows.Different+v.Holds.Agreed+v.Holds.Different > 0
}

// Difference is an answer that does not follow from the log, or a hold on which the
// fold and the view do not agree.
type Difference struct {
	Seq   uint64
	Index int  // the place of the hold in the message; questions.FromView = the view answered
	Hold  bool // it is of a verdict, and not of a recorded decision
	// Record is the recorded decision, nil of a verdict.
	Record     *questions.Record
	DecisionID string
	Question   questions.Question
	Fields     []FieldDifference
}

// FieldDifference is one field of both. Of a decision they are as it was recorded and
// as it follows from the log; of a verdict as the fold and the view give it.
type FieldDifference struct{ Name, Recorded, Derived string }

// Verify derives recorded decisions again, and the verdicts on all holds. What derives
// them is a fold of its own, the rules, and package answers: none of the engine that
// answered.
//
// Rows do not lie in the order of the log: each process stores its own a second after
// it answered, or when the broker takes them at last. So there are two passes. The first
// brings all that are in the range into a store of their own, ordered by sequence; the
// second goes through that beside the fold. However late a row is, it is found, and the
// memory that it takes is that of one.
//
// A range in which there is nothing is no error.
func Verify(ctx context.Context, o VerifyOptions) (v *Verification, err error) {
	a := &auditor{o: o, made: new(Verification)}
	if err := a.place(ctx); err != nil {
		return nil, err
	}
	sorted, err := a.sort(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sorted.Close()) }()
	if a.first > a.o.End {
		return a.made, nil
	}
	if a.headers, err = headers(ctx, o.Start); err != nil {
		return nil, err
	}
	if err := a.open(ctx, max(a.first, 1)-1); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.p.Close()) }()
	if err := sorted.each(func(c *questions.Record) error { return a.row(ctx, c) }); err != nil {
		return nil, err
	}
	err = a.to(ctx, a.o.To)
	a.made.Missing = a.p.Missing()
	return a.made, err
}

// place finds the range.
func (a *auditor) place(ctx context.Context) (err error) {
	if _, a.last, err = a.o.Log.Bounds(ctx); err != nil {
		return err
	}
	o := &a.o
	if o.FromTime != 0 {
		before, err := o.SeqAt(ctx, o.FromTime-1)
		if err != nil {
			return err
		}
		o.From = before + 1
	}
	switch {
	case o.ToTime != 0:
		if o.To, err = o.SeqAt(ctx, o.ToTime); err != nil {
			return err
		}
	case o.To == 0 || o.To > a.last:
		o.To = a.last
	}
	a.first, o.End = o.From, o.To
	a.made.From, a.made.To = o.From, o.To
	return nil
}

// auditor derives decisions again.
type auditor struct {
	o       VerifyOptions
	headers []snapshots.Header // the oldest first
	p       *Player
	made    *Verification
	last    uint64 // sequence that the log ended with
	// first is where the fold has to look first: at the range's first message, or at
	// that of an answer that was given in the range and is of an older one. Options.End
	// is the last, likewise.
	first uint64

	at       uint64 // sequence up to which the range was gone through
	verdicts map[string]*projector.Expected
	holds    map[string]*questions.Question // what the events of the newest message ask
	waiting  map[string]*questions.Question // what those ask that wait for room
	untold   bool                           // the newest message ended waits of which nobody told us
	second   secondOpinion
	asked    [1]projector.Asked
	route    projector.Route
	scratch  answers.Scratch
	reply    questions.Reply
}

// open begins with the newest snapshot of no later message.
func (a *auditor) open(ctx context.Context, notAfter uint64) error {
	p, err := Open(ctx, a.o.Options, notAfter)
	if err != nil {
		return err
	}
	a.p = p
	a.made.Began = p.Began().Seq
	a.at = p.Began().Seq
	a.verdicts = make(map[string]*projector.Expected)
	a.holds, a.waiting = make(map[string]*questions.Question), make(map[string]*questions.Question)
	p.State().Locals = new(projector.Locals)
	p.Expect(false, func(x *projector.Expected) { a.verdicts[x.ID] = x })
	return nil
}

// to goes on with the fold to a message and with it.
func (a *auditor) to(ctx context.Context, seq uint64) error {
	if err := a.skip(ctx); err != nil {
		return err
	}
	for lost := uint64(0); ; {
		if now := a.p.Missing().Count; now != lost {
			lost = now // another one begins with nothing missing
			if err := a.rebase(ctx, seq); err != nil {
				return err
			}
		}
		if a.at >= seq {
			return nil
		}
		m, err := a.p.Peek(ctx)
		if errors.Is(err, io.EOF) || err == nil && m.Seq > seq {
			a.at = seq
			return a.p.To(ctx, min(seq, a.p.End()))
		}
		if err == nil {
			err = a.step(ctx, m)
		}
		if err != nil {
			return err
		}
	}
}

// skip folds what is before the first message that matters.
func (a *auditor) skip(ctx context.Context) error {
	if a.at+1 >= a.first {
		return nil
	}
	before := messages(a.p)
	if err := a.p.To(ctx, a.first-1); err != nil {
		return err
	}
	a.made.Messages += messages(a.p) - before
	a.at = a.first - 1
	clear(a.verdicts)
	return nil
}

// rebase begins anew, when something is missing, with the newest snapshot from here on
// up to that sequence: it has what is missing, which is behind us.
func (a *auditor) rebase(ctx context.Context, seq uint64) error {
	for i := len(a.headers) - 1; i >= 0 && a.p.Missing().Count > 0; i-- {
		if at := a.headers[i].Seq; at > seq || at < a.at {
			continue
		}
		if done, err := a.reopen(ctx, a.headers[i].Seq); done || err != nil {
			return err
		}
	}
	return nil
}

// reopen begins anew with a snapshot; when it is of no use all stays.
func (a *auditor) reopen(ctx context.Context, seq uint64) (done bool, err error) {
	old, at, began := a.p, a.at, a.made.Began
	if err := a.open(ctx, seq); err != nil {
		return false, err
	}
	if a.p.Began().Seq == seq {
		return true, old.Close()
	}
	unusable := a.p
	a.p, a.at, a.made.Began = old, at, began
	return false, unusable.Close()
}
