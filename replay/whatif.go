package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/whatif"
)

// WhatIfOptions say what a history is gone through with.
type WhatIfOptions struct {
	Options
	// Rows are the recorded decisions, in any order; nil = no block is asked about that
	// the log does not have.
	Rows interface {
		// Each calls fn for every row; fn keeps nothing of it. An error of fn ends the
		// reading and is returned.
		Each(ctx context.Context, fn func(*questions.Record) error) error
	}
	// Part, when set, is told how far it is: done of all.
	Part func(done, all uint64)
}

// usualRange is how much of the log is looked at when nobody says how much.
const usualRange = 86_400_000 // ms

// WhatIf goes through a part of the log twice at once: with the rules that were in
// force, and with those of the trial. What was decided is judged again on both sides
// by the same questions, and where the two let pass different requests, the side that
// is tried goes its own way: what it blocks and the history let pass is not counted,
// and what it lets pass and the history blocked is. See docs/TIMETRAVEL.md.
//
// What the trial asks for and cannot be is an error that wraps wire.Faults.
func WhatIf(ctx context.Context, o WhatIfOptions, t *whatif.Trial) (_ *whatif.Report, err error) {
	w := newWhatIf(o, t)
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	return w.report(), nil
}

func newWhatIf(o WhatIfOptions, t *whatif.Trial) *whatIf {
	return &whatIf{o: o, t: t, made: &whatif.Report{}, rows: make(map[string]*whatif.Row), holds: make(map[string]*holding), told: make(map[string]bool)}
}

// run goes through the range.
func (w *whatIf) run(ctx context.Context) (err error) {
	for _, f := range w.t.Warnings {
		w.note("%s %s", f.Field, f.Problem)
	}
	lost, err := w.o.lost(ctx)
	if err != nil {
		return err
	}
	if lost != "" {
		w.note("%s", lost)
	}
	if err := w.place(ctx); err != nil {
		return err
	}
	if w.kept, err = notKept(ctx, &w.o.Options, w.o.Rows, w.made.From, w.t.From.Time); err != nil {
		return err
	}
	if w.sorted, err = w.sort(ctx); err != nil {
		return err
	}
	for i := range w.sides {
		if err := w.begin(ctx, i); err != nil {
			return err
		}
	}
	if err := w.enforce(ctx); err != nil {
		return err
	}
	if err := w.blocks(ctx); err != nil {
		return err
	}
	return w.to(ctx, w.made.To)
}

// whatIf is a history on its two sides.
type whatIf struct {
	o      WhatIfOptions
	t      *whatif.Trial
	made   *whatif.Report
	sorted *sortedRows // the recorded blocks
	sides  [whatif.NumSides]*side
	began  [whatif.NumSides]uint64

	rows  map[string]*whatif.Row // by key
	heard map[int]heard          // consumptions of the message under way, by their place in it
	holds map[string]*holding    // by id: those whose verdict is out on some side
	fresh []*holding             // those of the message under way
	// decided are those whose verdict is new on some side.
	decided []*holding
	partly  partly
	refused map[string]bool   // ids of holds that waited, and were refused by the newest message
	set     map[string]bool   // subjects of the documents that are tried
	absent  map[string]string // of pools tried that there are not yet: what to note, by subject

	shared map[string]*whatif.Rule // by subject of the pool
	told   map[string]bool         // connections whose providers spoke

	since int64 // where the usual range begins, epoch ms
	after int64 // the broker's timestamp of the message behind the range, epoch ms; 0 = there is none yet

	kept int64                  // since when all decisions are recorded, epoch ms; 0 = since before the range
	were map[string]*plans.Pool // the pools where the range begins, or as they came in it, by id
}

// place finds the range.
func (w *whatIf) place(ctx context.Context) error {
	first, last, err := w.o.Log.Bounds(ctx)
	if err != nil {
		return err
	}
	if last < first {
		return refuse("from", "is of no use: the log is empty")
	}
	if w.made.To, err = w.end(ctx, last); err != nil {
		return err
	}
	if w.made.To < first {
		return refuse("to", "is before the log begins, which is with message %d", first)
	}
	if w.made.From, err = w.start(ctx); err != nil {
		return err
	}
	w.made.From = max(w.made.From, first)
	if w.made.To < last {
		if w.after, err = w.timeOf(ctx, w.made.To+1); err != nil {
			return err
		}
	}
	switch from, to := w.t.From, w.t.To; {
	case from.Seq == 0 && to.Seq == 0 && to.Time != 0 && from.Time > to.Time:
		return refuse("to", "is before from: swap them, or leave one out")
	case w.made.From <= w.made.To:
		w.made.FromAt, err = w.timeOf(ctx, w.made.From)
		return err
	case from.Seq == 0 && w.made.From == w.made.To+1:
		return nil // nothing was logged, and blocks may have been answered
	}
	return refuse("from", "is message %d, and the range ends with message %d: there is nothing between", w.made.From, w.made.To)
}

func (w *whatIf) end(ctx context.Context, last uint64) (uint64, error) {
	switch to := w.t.To; {
	case to.Seq > last:
		return 0, refuse("to.seq", "is %d, and the log ends at %d", to.Seq, last)
	case to.Seq != 0:
		return to.Seq, nil
	case to.Time != 0:
		return w.o.SeqAt(ctx, to.Time)
	}
	return last, nil
}

// start is the first message of the range; without one said that of a day before its
// end.
func (w *whatIf) start(ctx context.Context) (uint64, error) {
	from := w.t.From.Time
	switch {
	case w.t.From.Seq != 0:
		return w.t.From.Seq, nil
	case from == 0:
		at, err := w.timeOf(ctx, w.made.To)
		if err != nil {
			return 0, err
		}
		w.since = at - usualRange
		from = w.since
	}
	before, err := w.o.SeqAt(ctx, from-1)
	return before + 1, err
}

// timeOf returns the broker's timestamp of a message, of the next one when it is
// gone, and 0 when that is gone too.
func (w *whatIf) timeOf(ctx context.Context, seq uint64) (int64, error) {
	source, stop, err := w.o.Log.From(ctx, seq)
	if err != nil {
		return 0, err
	}
	defer stop()
	r := reading{source: source, end: max(seq, w.made.To), read: seq - 1, passed: seq - 1}
	m, err := r.peek(ctx)
	switch {
	case errors.Is(err, io.EOF):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return m.Time, nil
}

// begin folds one side up to the range. Both do it for themselves: a state cannot be
// copied.
func (w *whatIf) begin(ctx context.Context, which int) error {
	o := w.o.Options
	o.End = w.made.To
	o.Progress = w.progress
	p, err := Open(ctx, o, w.made.From-1)
	if err != nil {
		return err
	}
	s := &side{which: which, w: w, p: p, capacity: make(map[ofPool]*bucket)}
	w.sides[which], w.began[which] = s, p.Began().Seq
	if err := p.To(ctx, w.made.From-1); err != nil {
		return err
	}
	p.Expect(false, s.verdict)
	p.State().OnConsumption = s.arrives
	p.State().OnAdjustment = s.watchArrival
	return nil
}

func (w *whatIf) close() (err error) {
	for _, s := range w.sides {
		if s != nil {
			err = errors.Join(err, s.p.Close())
		}
	}
	if w.sorted != nil {
		err = errors.Join(err, w.sorted.Close())
	}
	return err
}

// progress says how far both sides are.
func (w *whatIf) progress(uint64) {
	if w.o.Part == nil {
		return
	}
	var done, all uint64
	for i, s := range w.sides {
		if s == nil {
			all += w.made.To - w.began[0] // as far as the first one had to go
			continue
		}
		seq, _ := s.p.State().At()
		done += max(seq, w.began[i]) - w.began[i]
		all += w.made.To - w.began[i]
	}
	w.o.Part(done, all)
}

// to goes on on both sides to a message and with it.
func (w *whatIf) to(ctx context.Context, seq uint64) error {
	for {
		m, err := w.sides[whatif.Before].p.Peek(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Seq > seq:
			return nil
		}
		if err := w.step(ctx, *m); err != nil {
			return err
		}
	}
}

// step folds a message on both sides, first on the one before: the other one needs to
// know what became of it there.
func (w *whatIf) step(ctx context.Context, m events.Message) error {
	w.heard, w.refused = make(map[int]heard), nil
	w.announce(&m)
	w.hears(&m)
	if err := w.sides[whatif.Before].p.Step(ctx); err != nil {
		return err
	}
	after := w.sides[whatif.After]
	next, err := after.p.Peek(ctx)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case err != nil, next.Seq != m.Seq:
		return fmt.Errorf("replay: the log has message %d for one reader and not for another: try again", m.Seq)
	}
	if w.set[m.Subject] {
		*next = nothing(&m)
		w.came()
	} else if r := w.shared[m.Subject]; r != nil {
		shares(next, r)
	}
	delete(w.absent, m.Subject)
	if err := after.p.Step(ctx); err != nil {
		return err
	}
	w.compareConfig(&m)
	if err := w.settleHolds(ctx); err != nil {
		return err
	}
	w.forgetCopies()
	return nil
}

// nothing is a message at the place of another one, in which there is nothing but that
// time went by.
func nothing(m *events.Message) events.Message {
	return events.Message{Subject: events.Due.String(), Data: []byte("{}"), Seq: m.Seq, Time: m.Time}
}

// compareConfig notes the documents of the history that the rules tried do not let in.
func (w *whatIf) compareConfig(m *events.Message) {
	if !strings.HasPrefix(m.Subject, events.ConfigPrefix) || w.set[m.Subject] {
		return
	}
	before := w.sides[whatif.Before].p.State().Verdict(m.Seq).Rejected
	after := w.sides[whatif.After].p.State().Verdict(m.Seq).Rejected
	if after != nil && before == nil {
		w.note("message %d changes %s, which the rules tried do not let in: %s", m.Seq, m.Subject, after.Message)
	}
}

// mostNotes bounds what is said of the same kind.
const mostNotes = 100

func (w *whatIf) note(text string, args ...any) {
	if len(w.made.Notes) < mostNotes {
		w.made.Notes = append(w.made.Notes, fmt.Sprintf(text, args...))
	}
}

// row is that of a key.
func (w *whatIf) row(apiKeyID string) *whatif.Row {
	r := w.rows[apiKeyID]
	if r == nil {
		r = &whatif.Row{APIKeyID: strings.Clone(apiKeyID)}
		w.rows[r.APIKeyID] = r
	}
	return r
}

// report puts together what was counted.
func (w *whatIf) report() *whatif.Report {
	for _, key := range slices.Sorted(maps.Keys(w.rows)) {
		w.made.Rows = append(w.made.Rows, *w.rows[key])
	}
	w.made.Pools = w.capacities()
	for i, s := range w.sides {
		for _, h := range w.holds {
			if s.p.State().Waits(h.event.APIKeyID, h.event.RequestID) {
				w.made.Asked.Waiting[i]++
			}
		}
	}
	if w.made.From <= w.made.To {
		// What is counted after has brought log time further there.
		_, w.made.ToAt = w.sides[whatif.Before].p.State().At()
	}
	for _, subject := range slices.Sorted(maps.Keys(w.absent)) {
		w.note("%s", w.absent[subject])
	}
	p := w.sides[whatif.Before].p
	lost := p.Missing()
	w.made.Replay = whatif.Replay{Snapshot: p.Began().Seq, Missing: lost.Count, MissingFirst: lost.First, MissingLast: lost.Last}
	if lost.Count > 0 {
		w.note("%d of the messages from %d to %d are not in the log any more, so both sides lack what was in them", lost.Count, lost.First, lost.Last)
	}
	if w.kept != 0 {
		w.note("decisions before %s are not recorded any more, so the blocks of that part of the range are not asked about", instant(w.kept))
	}
	w.remark()
	return w.made
}
