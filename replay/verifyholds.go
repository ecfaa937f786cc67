package replay

import (
	"context"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// step folds a message of the range, and holds the fold's verdicts to those that the
// view of the state before gives.
func (a *auditor) step(ctx context.Context, m *events.Message) error {
	seq, counted := m.Seq, a.made.Holds
	clear(a.verdicts)
	clear(a.holds)
	s := a.p.State()
	before := s.Counts().Holds
	a.second.judge(a, m)
	if err := a.p.Step(ctx); err != nil {
		return err
	}
	a.at = seq
	a.made.Messages++
	after := s.Counts().Holds
	ended := after.Granted + after.TimedOut + after.Left - before.Granted - before.TimedOut - before.Left
	a.second.compare(a, ended > 0)
	a.waited(ended)
	if !a.judges(seq) {
		a.made.Holds = counted
	}
	return nil
}

// judges reports whether the holds of a message are of the range. Others are gone
// through for the sake of decisions that are.
func (a *auditor) judges(seq uint64) bool { return seq >= a.o.From && seq <= a.o.To }

// waited counts the verdicts on what waited. The view cannot give them: the state that
// it would have to be asked of is one within the serving of a backlog. The grant of a
// single one is asked of the state after it, where its own hold does not count.
func (a *auditor) waited(ended uint64) {
	told := uint64(0)
	for id, x := range a.verdicts {
		if !x.Route.Waited {
			continue
		}
		told++
		a.made.Holds.Verdicts++
		a.made.Holds.Alone++
		a.made.Holds.Waited++
		if q := a.waiting[id]; q != nil {
			a.holds[id] = q
			delete(a.waiting, id)
		}
	}
	a.untold = ended > told
}

// secondOpinion judges the holds of a message on the view of the state before it, at
// the message's time, as questions that reserve; and lets those that it would open
// count beside the state for the ones behind them, as local holds do.
//
// The fold alone can judge
//   - when waits ended with the message: who waited has taken places before or after;
//   - behind a hold that took the place of another one, of its own message too, or whose
//     wait began or ended: what does not count any more, the view still counts;
//   - a choice behind another choice: that one has paid for its turn.
type secondOpinion struct {
	list  []opinion
	local []string // ids of the holds that count beside the state
}

// opinion is what the view says of a hold.
type opinion struct {
	question questions.Question
	id       string
	index    int
	reply    questions.Reply
	alone    bool // the view cannot know
	counted  bool // it counts beside the state for those behind it
}

// judge makes the opinions on a message that is not folded yet.
func (o *secondOpinion) judge(a *auditor, m *events.Message) {
	o.list, o.local = o.list[:0], o.local[:0]
	if m.Subject != events.Hold.String() {
		return
	}
	s := a.p.State()
	_, now := s.At()
	now = max(now, m.Time)
	alone, chosen := false, false
	named := map[[2]string]bool{} // keys and requests so far
	for i, it := range events.Decode(m, nil) {
		if it.Err != nil || it.Event.Kind != events.Hold {
			continue
		}
		e := &it.Event
		x := opinion{question: questionOf(e), id: e.ID, index: i, alone: alone}
		a.holds[x.id] = &x.question
		a.view(&x, now, m.Seq)
		if routed := x.question.Routed(); routed {
			x.alone = x.alone || chosen
			chosen = chosen || x.reply.Allow
		}
		request := [2]string{e.APIKeyID, e.RequestID}
		alone = alone || named[request] || s.HoldOpen(e.APIKeyID, e.RequestID) || s.Waits(e.APIKeyID, e.RequestID)
		named[request] = true
		if x.reply.Allow {
			x.counted = s.Hold(besides(e, &x.reply, now), now)
			o.local = append(o.local, x.id)
		}
		o.list = append(o.list, x)
	}
}

// questionOf is the question that a hold's event was made of.
func questionOf(e *events.Event) questions.Question {
	q := questions.Question{
		APIKeyID: e.APIKeyID, ConnectionID: e.ConnectionID, Pool: e.Pool, Candidates: e.Candidates, Model: e.Model,
		RequestID: e.RequestID, Estimate: e.Cost, Reserve: true, MaxWaitMs: -1,
	}
	if q.Routed() {
		q.MaxWaitMs = e.MaxWaitMs
	}
	return q
}

// keep makes a copy of a question that is good when its message is gone.
func keep(q *questions.Question) *questions.Question {
	c := questions.Keep(q, new(questions.Reply)).Question
	c.Candidates = slices.Clone(q.Candidates)
	for i := range c.Candidates {
		c.Candidates[i].ConnectionID = strings.Clone(c.Candidates[i].ConnectionID)
	}
	return &c
}

// besides is the hold as it counts until it is folded.
func besides(e *events.Event, r *questions.Reply, now int64) *projector.LocalHold {
	h := &projector.LocalHold{
		ID: e.ID, APIKeyID: e.APIKeyID, ConnectionID: e.ConnectionID, Model: e.Model, RequestID: e.RequestID, Amounts: e.Cost,
		End: now + e.LeaseMs, Own: true,
	}
	if r.ConnectionID != "" {
		h.ConnectionID = r.ConnectionID
	}
	return h
}

// view asks the view.
func (a *auditor) view(x *opinion, now int64, seq uint64) {
	s := a.p.State()
	if x.question.Routed() {
		s.GatherRoute(&x.question, now, &a.asked[0], &a.route)
	} else {
		s.Gather([]questions.Question{x.question}, now, a.asked[:])
	}
	x.reply = a.answer(x, &a.asked[0], &a.route, seq)
}

// answer is that to a hold's question.
func (a *auditor) answer(x *opinion, asked *projector.Asked, to *projector.Route, seq uint64) (r questions.Reply) {
	r.Reset()
	r.DecisionID = x.id
	answers.Make(&x.question, asked, to, &r, &answers.View{Seq: seq, Folded: true}, nil, &a.scratch)
	return r
}

// compare holds the fold's verdicts to the opinions; ended says that waits ended with
// the message.
func (o *secondOpinion) compare(a *auditor, ended bool) {
	s := a.p.State()
	for _, id := range o.local {
		s.Locals.Remove(id)
	}
	alone := ended
	for i := range o.list {
		x := &o.list[i]
		v := a.verdicts[x.id]
		switch {
		case v != nil && !v.Route.Waited:
			a.made.Holds.Verdicts++
			a.hold(x, v, alone)
			alone = alone || v.Held != x.counted
		case s.Waits(x.question.APIKeyID, x.question.RequestID):
			a.made.Holds.Waiting++
			a.waiting[x.id] = keep(&x.question)
			a.waits(x, alone)
			alone = true
		default: // the log had it before
			alone = alone || x.counted
		}
	}
}

// hold compares one verdict.
func (a *auditor) hold(x *opinion, v *projector.Expected, alone bool) {
	if alone || x.alone {
		a.made.Holds.Alone++
		return
	}
	folded := a.answer(x, &v.Asked, &v.Route, v.Seq)
	fields := differing(&questions.Record{Reply: folded}, &x.reply)
	if !slices.Equal(folded.Candidates, x.reply.Candidates) {
		fields = append(fields, FieldDifference{"candidates", valueOf(&folded, "candidates"), valueOf(&x.reply, "candidates")})
	}
	a.agree(x, v.Seq, fields)
}

// waits holds against a wait what the view would have said: it must be for want of
// room, or of one's turn.
func (a *auditor) waits(x *opinion, alone bool) {
	if alone || x.alone || x.reply.Allow || x.reply.Reason == fairshare.Capacity.String() {
		return
	}
	a.made.Holds.Different++
	a.tell(&Difference{
		Seq: a.at, Index: x.index, Hold: true, DecisionID: x.id, Question: x.question,
		Fields: []FieldDifference{{"decision", "waits for room", valueOf(&x.reply, "reason")}},
	})
}

func (a *auditor) agree(x *opinion, seq uint64, fields []FieldDifference) {
	if len(fields) == 0 {
		a.made.Holds.Agreed++
		return
	}
	a.made.Holds.Different++
	a.tell(&Difference{Seq: seq, Index: x.index, Hold: true, DecisionID: x.id, Question: x.question, Fields: fields})
}
