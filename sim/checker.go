package sim

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/sim/model"
)

// checker compares everything that a decider says with the model, which has
// folded the log to its end: what a decider says of an earlier place is compared
// with what the model said when it was there.
type checker struct {
	w       *world
	model   *model.Model
	seen    []seen // by sequence − 1
	digests map[uint64]digest
	views   map[string]bool // by hold: what its writer's view said
	asked   [1]projector.Asked
	lines   []questions.Dimension
}

// seen is what the model says after a message.
type seen struct {
	rulings []ruling
	logTime int64
	open    int
	probe   probe
	held    asked // a request
	isHeld  bool
}

type ruling struct {
	model.Ruling
	id string
}

// probe is a question without consequences, and its answer.
type probe struct {
	question     model.Question
	verdict      model.Verdict
	alternatives []string
	lines        []model.Line
}

type digest struct {
	of  projector.Digest
	who string
}

func newChecker(w *world) *checker {
	return &checker{w: w, model: model.New(), digests: make(map[uint64]digest), views: make(map[string]bool)}
}

// stored has the model fold the message.
func (c *checker) stored(e *entry) {
	before := c.model.Time
	o := c.model.Fold(&e.means)
	if c.model.Time < before {
		c.w.fail("log time falls from %d to %d at %d", before, c.model.Time, e.message.Seq)
	}
	s := seen{logTime: c.model.Time, open: c.model.Open()}
	for _, r := range o.Rulings {
		x := ruling{Ruling: r, id: e.means.Events[r.Index].ID}
		if r.Fate != model.Copied {
			c.noteRuling(&x)
		}
		s.rulings = append(s.rulings, x)
	}
	if len(c.w.names.asked) > 0 {
		s.held = pick(c.w.dice, c.w.names.asked)
		s.isHeld = c.model.HoldOpen(s.held.key, s.held.request)
	}
	s.probe = c.draw()
	c.seen = append(c.seen, s)
	c.noteOutcome(&o)
	if c.w.exact {
		c.withinLimits(e.message.Seq)
	}
}

// draw asks the model something that every decider is asked at the same place: as
// one of the requests in flight, which does not count itself, or as anybody.
func (c *checker) draw() (p probe) {
	d := c.w.dice
	p.question = model.Question{Key: pick(d, c.w.names.keys), Connection: pick(d, c.w.names.connections), Model: pick(d, c.w.names.models)}
	p.question.Estimate, _ = c.w.estimate()
	if len(c.w.names.asked) > 0 && d.chance(50) {
		last := pick(d, c.w.names.asked)
		p.question.Key, p.question.Request, p.question.Reserve = last.key, last.request, true
	}
	p.verdict = c.model.Judge(&p.question, c.model.Time)
	p.alternatives = c.model.Alternatives(&p.question, c.model.Time)
	p.lines = c.model.Lines(&p.question, c.model.Time)
	c.noteLines(p.lines)
	return p
}

// withinLimits is what an exact run is for: nothing that was ever used and is now
// held together passes a limit.
func (c *checker) withinLimits(seq uint64) {
	p := c.model.Pools["p"]
	if p == nil {
		return // the run has just begun
	}
	q := model.Question{Key: "a", Connection: p.Connections[0].ConnectionID}
	for _, l := range c.model.Lines(&q, c.model.Time) {
		switch t := l.Total + l.AllHeld; {
		case t > l.Limit:
			c.w.fail("at %d, %d of %s/%s are used and %d are held, together more than the limit %d", seq, l.Total, l.Unit, l.Window, l.AllHeld, l.Limit)
		case t == l.Limit:
			c.w.report.count(FullToTheBrim)
		}
	}
}

// watch has the decider expect every hold event that it is about to fold, those
// that others wrote too.
func (c *checker) watch(d *decider, list []entry) map[string]*projector.Expected {
	watched := make(map[string]*projector.Expected)
	for i := range list {
		for k := range list[i].means.Events {
			e := &list[i].means.Events[k]
			if e.Kind != events.Hold || watched[e.ID] != nil {
				continue
			}
			if own := d.waiting[e.ID]; own != nil {
				watched[e.ID] = &own.expected
				continue
			}
			x := &projector.Expected{ID: e.ID, Question: questionOf(e), Done: make(chan struct{}, 1)}
			d.state.Expect(x)
			watched[e.ID] = x
		}
	}
	return watched
}

func questionOf(e *events.Event) questions.Question {
	q := questions.Question{
		APIKeyID: e.APIKeyID, ConnectionID: model.ConnectionOf(e), Model: e.Model, RequestID: e.RequestID,
		Estimate: e.Cost, Reserve: true, LeaseMs: e.LeaseMs,
	}
	if e.Given&given(quota.Requests) == 0 {
		q.Estimate[quota.Requests] = requests(1)
	}
	return q
}

// folded compares the verdicts on the holds of these messages, and the state
// after the last of them.
func (c *checker) folded(d *decider, list []entry, watched map[string]*projector.Expected) {
	for i := range list {
		seq := list[i].message.Seq
		for k := range c.seen[seq-1].rulings {
			r := &c.seen[seq-1].rulings[k]
			if r.Fate != model.Copied {
				c.ruled(d, seq, r, watched[r.id])
				delete(watched, r.id)
			}
		}
	}
	for id, x := range watched { // copies of what was folded before
		if d.waiting[id] == nil && d.state.Unexpect(x) {
			c.w.fail("%s judges the hold %s again at %d", d.name, id, x.Seq)
		}
	}
	c.sighted(d)
}

func (c *checker) ruled(d *decider, seq uint64, r *ruling, x *projector.Expected) {
	if x == nil || len(x.Done) == 0 && d.waiting[r.id] == nil {
		c.w.fail("%s has no verdict on hold %s at (%d, %d)", d.name, r.id, seq, r.Index)
		return
	}
	got, answer := verdictOf(&x.Asked)
	where := fmt.Sprintf("%s, hold %s at (%d, %d)", d.name, r.id, seq, r.Index)
	switch {
	case x.Seq != seq || x.Index != r.Index:
		c.w.fail("%s was judged at (%d, %d)", where, x.Seq, x.Index)
	case x.Asked.Now != c.seen[seq-1].logTime:
		c.w.fail("%s was judged at instant %d, log time is %d", where, x.Asked.Now, c.seen[seq-1].logTime)
	case got != r.Verdict:
		c.w.fail("%s: verdict %+v, the model says %+v", where, got, r.Verdict)
	case x.Held != r.Held():
		c.w.fail("%s: held is %t, the model says %t", where, x.Held, r.Held())
	case !slices.Equal(answer, r.Alternatives):
		c.w.fail("%s: alternatives %q, the model says %q", where, answer, r.Alternatives)
	}
}

// verdictOf puts the verdict into the words of the model.
func verdictOf(a *projector.Asked) (v model.Verdict, alternatives []string) {
	answer := a.Facts.Decide(a.Now)
	v = model.Verdict{
		Reason: answer.Reason.String(), Observe: answer.Observe, Deprioritize: answer.Deprioritize, Scope: string(answer.Scope),
		Detail: answer.Detail,
	}
	v.Unit, v.Window, v.Model, v.Bound = a.Facts.Binding(answer.Verdict)
	for _, i := range answer.Alternatives {
		alternatives = append(alternatives, a.Pool.Connections[i].ConnectionID)
	}
	return v, alternatives
}

// sighted compares what a decider shows at the place where it is.
func (c *checker) sighted(d *decider) {
	seq, logTime := d.state.At()
	s := &c.seen[seq-1]
	if logTime != s.logTime {
		c.w.fail("%s: log time is %d at %d, the model says %d", d.name, logTime, seq, s.logTime)
	}
	if got := d.state.Holds().Open; got != s.open {
		c.w.fail("%s: %d holds are open at %d, the model says %d", d.name, got, seq, s.open)
	}
	if got := d.state.HoldOpen(s.held.key, s.held.request); got != s.isHeld {
		c.w.fail("%s: %q of %q is held: %t at %d, the model says %t", d.name, s.held.request, s.held.key, got, seq, s.isHeld)
	}
	p := &s.probe
	a := c.gather(d, &p.question, 0)
	got, alternatives := verdictOf(a)
	where := fmt.Sprintf("%s, asked at %d %+v", d.name, seq, p.question)
	switch {
	case got != p.verdict:
		c.w.fail("%s: verdict %+v, the model says %+v", where, got, p.verdict)
	case !slices.Equal(alternatives, p.alternatives):
		c.w.fail("%s: alternatives %q, the model says %q", where, alternatives, p.alternatives)
	}
	c.compareLines(where, a, p)
}

func (c *checker) gather(d *decider, q *model.Question, clock int64) *projector.Asked {
	d.state.Gather([]questions.Question{{
		APIKeyID: q.Key, ConnectionID: q.Connection, Model: q.Model, RequestID: q.Request, Estimate: q.Estimate,
		Reserve: q.Reserve, Explain: true,
	}}, clock, c.asked[:])
	return &c.asked[0]
}

func (c *checker) compareLines(where string, a *projector.Asked, p *probe) {
	c.lines = c.lines[:0]
	if a.Pool != nil && a.Pool.Mode != plans.Off {
		place := slices.IndexFunc(a.Pool.Connections, func(x plans.Connection) bool { return x.ConnectionID == p.question.Connection })
		c.lines = a.Facts.Explain(place, a.Now, c.lines)
		if len(c.lines) != len(p.lines) {
			c.w.fail("%s: %d dimensions, the model has %d", where, len(c.lines), len(p.lines))
			return
		}
	}
	for i := range c.lines {
		x, want := &c.lines[i], &p.lines[i]
		got := model.Line{
			Unit: x.Unit, Window: x.Window, Limit: x.Limit, Share: x.FairShare, Consumed: x.Consumed, Held: x.Held,
			Total: x.ConsumedTotal, AllHeld: x.HeldTotal, Strict: x.Mode == "strict",
			Guaranteed: x.Mode == "guarantee", Promised: x.Promised, Kept: x.Kept, Headroom: x.Headroom,
		}
		switch shown := want.Shown(); {
		case !reflect.DeepEqual(got, shown):
			c.w.fail("%s: explains %+v, the model says %+v", where, got, shown)
		case x.HasRemaining != (want.Limit > 0) || x.HasRemaining && !want.IsMost(x.Remaining):
			c.w.fail("%s: %d of %s/%s remain, which is not the most that the model lets pass", where, x.Remaining, x.Unit, x.Window)
		}
	}
}

// viewed compares a judgement on the view of a decider that is level with the log,
// at its own clock, and proves when to come again.
func (c *checker) viewed(d *decider, q *questions.Question, a *projector.Asked) {
	if d.state.Position().Seq != c.w.log.head() {
		return
	}
	c.w.report.count(ViewsCompared)
	question := model.Question{Key: q.APIKeyID, Request: q.RequestID, Connection: q.ConnectionID, Model: q.Model, Estimate: q.Estimate, Reserve: q.Reserve}
	now := max(d.clock(), c.model.Time)
	got, alternatives := verdictOf(a)
	want := c.model.Judge(&question, now)
	where := fmt.Sprintf("%s, asked at its clock %d: %+v", d.name, now, question)
	switch {
	case a.Now != now:
		c.w.fail("%s: judged at %d", where, a.Now)
	case got != want:
		c.w.fail("%s: verdict %+v, the model says %+v", where, got, want)
	case !slices.Equal(alternatives, c.model.Alternatives(&question, now)):
		c.w.fail("%s: alternatives %q", where, alternatives)
	case want.Blocks():
		c.proveRetry(where, &question, now, a.Facts.Decide(now).RetryMs)
	}
}

// proveRetry asks the model at the instant that was told and the one before.
func (c *checker) proveRetry(where string, q *model.Question, now, ms int64) {
	if ms < 0 {
		if far := now + 100*86_400_000; !c.model.Judge(q, far).Blocks() {
			c.w.fail("%s: never allowed again, but in 100 days it is", where)
		}
		return
	}
	c.w.report.count(RetriesProved)
	if p := c.model.PoolOf(q.Connection); p != nil && p.Rule == plans.Guarantee {
		c.w.report.count(GuaranteedRetriesProved)
	}
	if v := c.model.Judge(q, now+ms); v.Blocks() {
		c.w.fail("%s: asked again after %d ms it is still %s", where, ms, v.Reason)
	}
	for _, early := range []int64{ms - 1, c.w.dice.between(0, max(ms-1, 0))} {
		if v := c.model.Judge(q, now+early); early < ms && !v.Blocks() {
			c.w.fail("%s: it is allowed after %d ms already, not after %d", where, early, ms)
		}
	}
}

// digest compares the digest of a decider that is committed with those of others
// that were at the same place.
func (c *checker) digest(d *decider) {
	of, err := d.state.Digest()
	if err != nil {
		c.w.fail("%s has no digest: %v", d.name, err)
		return
	}
	seq := d.state.Position().Seq
	old, known := c.digests[seq]
	switch {
	case !known:
		c.digests[seq] = digest{of, d.name}
		return
	case old.of != of:
		c.w.fail("%s and %s are both at %d and have other digests", d.name, old.who, seq)
	case old.who != d.name:
		c.w.report.count(DigestsCompared)
	}
}

// ended checks that nothing is left once every lease is over.
func (c *checker) ended() {
	if n := c.model.Open(); n != 0 {
		c.w.fail("the model holds %d after the last lease", n)
	}
	for _, d := range c.w.deciders {
		if n := d.state.Holds().Open; n != 0 {
			c.w.fail("%s holds %d after the last lease", d.name, n)
		}
		for _, l := range c.lines {
			if l.HeldTotal != 0 {
				c.w.fail("%s counts %d as held after the last lease", d.name, l.HeldTotal)
			}
		}
	}
}
