package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Ask is what is to be explained.
type Ask struct {
	// Question is who asks, where, and for what. Its own At and MinSeq mean nothing.
	Question questions.Question
	// At is the instant, epoch ms; 0 = that of the state at Seq.
	At int64
	// Seq is the last message that the answer knew; 0 = the last one that the broker
	// had at At.
	Seq uint64
	// Recorded is a decision to explain, in place of all that is above: the row that
	// names it.
	Recorded *questions.Record
	// DecisionID is which of the row's; "" = the first.
	DecisionID string
	// Top is how many events, holds and keys are shown of each list.
	Top int
}

// adHoc is the decision id of an answer that nobody was given.
const adHoc = "explain"

// Explain finds out what an answer came from. What is asked for and cannot be is an
// error that wraps wire.Faults, and names the field.
func Explain(ctx context.Context, o Options, ask *Ask) (made *explanation.Explanation, err error) {
	if ask.Top < 0 {
		return nil, refuse("top", "is %d: it is 0 or more", ask.Top)
	}
	x := &explainer{o: o, ask: ask, made: &explanation.Explanation{Question: ask.Question}}
	if ask.Recorded != nil {
		r := ask.Recorded.Of(ask.DecisionID)
		x.made.Question, x.made.Recorded = r.Question, &r
		x.seq, x.at = r.Reply.AsOf.Seq, r.Reply.AsOf.Time
	} else if err := x.place(ctx); err != nil {
		return nil, err
	}
	x.made.Question.Explain = true
	p, err := x.play(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := x.inTime(p.State()); err != nil {
		return nil, err
	}
	return x.made, x.tell(ctx, p)
}

// inTime refuses an instant at which the message was not there yet: no answer is of a
// time before its state's, so it would be one of later.
func (x *explainer) inTime(s *projector.State) error {
	seq, logTime := s.At()
	if x.ask.Recorded != nil || x.at == 0 || x.at >= logTime {
		return nil
	}
	return refuse("at", "is before message %d, whose log time is %s: leave out seq for the state of that instant, or at for the one after the message", seq, instant(logTime))
}

// explainer makes one explanation.
type explainer struct {
	o    Options
	ask  *Ask
	seq  uint64
	at   int64 // 0 = the log time of the state
	made *explanation.Explanation

	asked   [1]projector.Asked
	route   projector.Route
	verdict *projector.Expected // of the fold, nil = the view answered
	answer  fairshare.Answer
	scratch answers.Scratch
}

func refuse(field, problem string, args ...any) error {
	var faults wire.Faults
	faults.Add(field, fmt.Sprintf(problem, args...))
	return faults.Err()
}

// place finds the message after which, and the instant at which, it was.
func (x *explainer) place(ctx context.Context) (err error) {
	first, last, err := x.o.Log.Bounds(ctx)
	if err != nil {
		return err
	}
	x.seq, x.at = x.ask.Seq, x.ask.At
	switch {
	case x.seq > last:
		return refuse("seq", "is %d, and the log ends at %d", x.seq, last)
	case x.seq != 0:
		return nil
	case x.at == 0:
		return refuse("at", "is missing: name the instant, a seq, or a decisionId")
	}
	if x.seq, err = x.o.SeqAt(ctx, x.at); err != nil {
		return err
	}
	if x.seq < first-1 || x.seq == 0 {
		return refuse("at", "is before the log begins, which is with message %d", first)
	}
	return nil
}

// play folds up to where the answer was given. The verdict on a hold is of its place
// within a message, so there the player listens to the fold.
func (x *explainer) play(ctx context.Context) (*Player, error) {
	before, err := x.begin(ctx)
	if err != nil {
		return nil, err
	}
	p, err := Open(ctx, x.o, before)
	if err != nil {
		return nil, err
	}
	if x.ofVerdict() {
		p.Expect(true, func(e *projector.Expected) {
			if e.Seq == x.seq && e.ID == x.made.Recorded.Reply.DecisionID {
				x.verdict = e
			}
		})
	}
	if x.seq > p.End() {
		err = refuse("seq", "is %d, and the log ends at %d", x.seq, p.End())
	} else {
		err = p.To(ctx, x.seq)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// begin returns the newest sequence of a snapshot to begin with. Of a request that may
// have waited for room, the fold gives the verdict to who saw it come.
func (x *explainer) begin(ctx context.Context) (uint64, error) {
	switch {
	case !x.ofVerdict():
		return x.seq, nil
	case !x.made.Question.Routed():
		return x.seq - 1, nil
	}
	came, err := x.o.SeqAt(ctx, x.at-x.made.Question.Wait()-1)
	return min(came, x.seq-1), err
}

// ofVerdict reports whether the fold may have given the answer: that of a question
// that reserved, unless it says that there was no verdict.
func (x *explainer) ofVerdict() bool {
	r := x.made.Recorded
	return r != nil && r.Question.Reserve && r.Reply.AsOf.Seq > 0
}

// tell makes the explanation of the state that the player has.
func (x *explainer) tell(ctx context.Context, p *Player) error {
	x.reply(p.State())
	if x.made.Reply.Err != nil {
		return refuse("question", "cannot be answered: %s", x.made.Reply.Err.Message)
	}
	x.compare(p.Missing().Count > 0)
	x.rules(p.State())
	x.holds(p.State())
	if p.Missing().Count == 0 {
		x.names(p.State())
	}
	x.made.Replay = explanation.Replay{
		Snapshot: p.Began().Seq, Seq: x.seq,
		Missing: p.Missing().Count, MissingFrom: p.Missing().First, MissingTo: p.Missing().Last,
	}
	lost, err := x.o.lost(ctx)
	if err != nil {
		return err
	}
	if lost != "" {
		x.note("%s", lost)
	}
	if n := p.Missing(); n.Count > 0 {
		x.note("%d of the messages from %d to %d are not in the log any more, so the state may lack what was in them", n.Count, n.First, n.Last)
	}
	return x.consumption(ctx, p)
}

// reply answers as it was answered.
func (x *explainer) reply(s *projector.State) {
	q, r, a := &x.made.Question, &x.made.Reply, &x.asked[0]
	view := answers.View{Seq: x.seq}
	to := &x.route
	id := adHoc
	if c := x.made.Recorded; c != nil {
		id = c.Reply.DecisionID
		// The answer says so much of how late it was, and no more.
		view.Behind = c.Reply.AsOf.LagMs
		if says(&c.Reply, answers.Lag) {
			view.Silent = 1 << 62
		}
	}
	switch {
	case x.verdict != nil:
		a, to, view.Folded = &x.verdict.Asked, &x.verdict.Route, true
	case q.Routed():
		s.GatherRoute(q, x.at, a, to)
	default:
		asked := *q
		asked.At = 0
		s.Gather([]questions.Question{asked}, x.at, x.asked[:])
	}
	r.Reset()
	now := *q
	now.At = 0
	x.answer = answers.Make(&now, a, to, r, &view, func() string { return id }, &x.scratch)
	if c := x.made.Recorded; c != nil && says(&c.Reply, answers.NoHold) {
		r.Degraded = append(r.Degraded, answers.NoHold)
		answers.CloseIfDegraded(r, a.Pool, "could not hold the request")
		x.note("the log gave no verdict on this hold in time: it was judged by what the decider had been told of other holds as well, of which the log knows nothing")
	}
	x.asked[0].Pool, x.at = a.Pool, a.Now
}

func says(r *questions.Reply, word string) bool {
	for _, d := range r.Degraded {
		if d == word {
			return true
		}
	}
	return false
}

func (x *explainer) note(text string, args ...any) {
	x.made.Notes = append(x.made.Notes, fmt.Sprintf(text, args...))
}

// compare holds the recorded answer to the one that the log gives. Where messages are
// missing another one proves nothing, and the recorded one stands.
func (x *explainer) compare(missing bool) {
	c := x.made.Recorded
	if c == nil {
		return
	}
	defer func() {
		if missing && len(x.made.Differs) > 0 {
			x.unproved()
		}
	}()
	if c.ReplyOf != "" {
		x.others(c)
		return
	}
	x.made.Differs = Differences(&c.Reply, &x.made.Reply)
	switch id := x.ask.DecisionID; {
	case c.Count == 1:
	case id == "" || id == c.Reply.DecisionID:
		x.note("the record is of %d equal answers within a second, and explained is the first of them", c.Count)
	default:
		x.note("the record is of %d equal answers within a second, and explained is the first of them, not decision %s: an earlier version recorded them, and not where and when each was given; ask by question and instant", c.Count, id)
	}
}

// others compares what all equal answers have in common, and completes the recorded
// answer with the derived one: its own was not kept. Where they differ in that, the rest
// of the derived one says nothing of it, and that of the first stands.
func (x *explainer) others(c *questions.Record) {
	x.made.Differs = commonDifferences(&c.Reply, &x.made.Reply)
	if len(x.made.Differs) > 0 {
		x.note("of equal answers within a second the reply of the first is recorded, and shown as recorded: that of decision %s", c.ReplyOf)
		return
	}
	x.note("of equal answers within a second the reply of the first is recorded, %s; of this one when it was given and from which state, and its reply is derived from that", c.ReplyOf)
	if c.Local || says(&c.Reply, answers.NoHold) {
		x.note("what it said beside its reason may have been otherwise: holds counted which the log did not have")
	}
	completed := *c
	completed.Reply = questions.Keep(&questions.Question{}, &x.made.Reply).Reply
	x.made.Recorded = &completed
}

// unproved shows the answer as it was recorded. Of the derived one there are the
// dimensions, which no record has.
func (x *explainer) unproved() {
	x.made.Unproved, x.made.Differs = true, nil
	derived, r := x.made.Reply, x.made.Recorded.Reply
	r.Dimensions, r.Explained, r.Traffic, r.HasTraffic = derived.Dimensions, derived.Explained, derived.Traffic, derived.HasTraffic
	x.made.Reply = r
	x.note("the answer is shown as it was recorded: of what the log still has another one follows, which proves nothing, and the dimensions are of that")
}

// rules takes in the documents in force.
func (x *explainer) rules(s *projector.State) {
	r := &x.made.Rules
	r.Settings, r.SetAt = s.SettingsAt()
	for _, id := range x.connections() {
		r.Plans = append(r.Plans, s.Plan(id))
	}
	if pool := x.asked[0].Pool; pool != nil {
		if v, ok := s.Pool(pool.ID); ok {
			r.Pool, r.PoolStamp, r.Enforcing, r.Warnings = v.Doc, v.Stamp, v.Enforcing, v.Warnings
		}
	}
	for _, signal := range s.Signals(x.at) {
		for _, id := range x.connections() {
			if signal.ConnectionID == id {
				x.made.Signals = append(x.made.Signals, signal)
			}
		}
	}
}

// connections are those that the answer depends on.
func (x *explainer) connections() (list []string) {
	q := &x.made.Question
	if p := x.asked[0].Pool; p != nil {
		for i := range p.Connections {
			list = append(list, p.Connections[i].ConnectionID)
		}
		return list
	}
	if q.ConnectionID != "" {
		return []string{q.ConnectionID}
	}
	for _, c := range q.Candidates {
		list = append(list, c.ConnectionID)
	}
	return list
}

// holds takes in who is in flight.
func (x *explainer) holds(s *projector.State) {
	p := x.asked[0].Pool
	if p == nil {
		return
	}
	unit := quota.Requests
	if r := &x.made.Reply; r.HasBinding {
		unit = r.Binding.Unit
	} else if len(r.Dimensions) > 0 {
		unit = r.Dimensions[0].Unit
	}
	list, total := s.Holdings(p, unit, x.at, x.ask.Top)
	x.made.Holds.Open = total
	for _, h := range list {
		x.made.Holds.Top = append(x.made.Holds.Top, explanation.Hold(h))
	}
}

// instant shows a time in a sentence.
func instant(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
