package sim

import (
	"math"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// decider has the real state, a real store and the real rules. What is simulated
// is everything around them: when it reads, commits, answers and dies.
type decider struct {
	w     *world
	name  string
	store *memstore.Store
	state *projector.State // nil = it is down
	life  int              // what was arranged in an earlier one is void
	skew  int64            // its clock − the world's, ms
	pace  int64            // longest pause between two looks at the log, ms
	cut   projector.Batch  // on its way into the store, nil = none
	// reading and committing say that it will soon look at the log, and soon cut or
	// commit: one that is level does neither until there is something new.
	reading, committing bool
	run                 projector.Run
	asked               [1]projector.Asked
	writer
}

// startDecider starts one with an empty store; it reads the log from its beginning.
func (w *world) startDecider() {
	d := &decider{w: w, name: w.names.id("decider "), store: memstore.New()}
	w.deciders = append(w.deciders, d)
	d.start()
	if w.log.head() > 0 {
		w.report.count(StartedLate)
	}
}

// start loads what the store has and goes on from there.
func (d *decider) start() {
	state, err := projector.Load(d.store)
	if err != nil {
		d.w.fail("%s does not start: %v", d.name, err)
		return
	}
	d.life++
	d.state, d.cut = state, nil
	d.writer = writer{d: d, waiting: make(map[string]*waiter)}
	d.skew = d.w.dice.between(-600_000, 600_000)
	d.pace = pick(d.w.dice, []int64{3, 3, 10, 50, 1_000, 30_000})
	d.w.say("%s starts at %d, its clock is %d ms off", d.name, state.Position().Seq, d.skew)
	d.reading, d.committing = false, false
	d.wake()
}

// crash loses what is in memory, and a commit that has not landed.
func (d *decider) crash() {
	d.w.report.count(Crashed)
	if d.state.Holds().Open > 0 {
		d.w.report.count(CrashedWithHolds)
	}
	if len(d.waiting) > 0 {
		d.w.report.count(CrashedWhileAsked)
	}
	d.w.say("%s crashes at %d", d.name, d.state.Position().Seq)
	d.state = nil
	d.life++
}

// after and daemon arrange what is void once the decider has crashed.
func (d *decider) after(ms int64, do func())  { d.w.after(ms, d.alive(do)) }
func (d *decider) daemon(ms int64, do func()) { d.w.daemon(ms, d.alive(do)) }

func (d *decider) alive(do func()) func() {
	life := d.life
	return func() {
		if d.life == life {
			do()
		}
	}
}

// at is how far it is, nowhere when it is down.
func (d *decider) at() uint64 {
	if d.state == nil {
		return math.MaxUint64
	}
	return d.state.Position().Seq
}

func (d *decider) clock() int64 { return d.w.now + d.skew }

// wake has the decider look at the log soon.
func (d *decider) wake() {
	if d.state != nil && !d.reading {
		d.reading = true
		d.daemon(d.w.dice.between(1, d.pace), d.read)
	}
}

// read folds some of what is there, and comes again for the rest.
func (d *decider) read() {
	d.fold(int(d.w.dice.between(1, 8)))
	d.reading = false
	if d.state.Position().Seq < d.w.log.head() {
		d.wake()
	}
	d.commitSoon()
}

func (d *decider) commitSoon() {
	if !d.committing {
		d.committing = true
		d.daemon(d.w.dice.between(1, 4_000), d.commit)
	}
}

// fold applies at most n messages together.
func (d *decider) fold(n int) {
	list := d.w.log.after(d.state.Position().Seq, n)
	if len(list) == 0 {
		return
	}
	d.run.Reset()
	for i := range list {
		d.run.Add(list[i].message)
	}
	watched := d.w.check.watch(d, list)
	if err := d.state.Apply(&d.run); err != nil {
		d.w.fail("%s does not fold %d: %v", d.name, list[0].message.Seq, err)
		return
	}
	d.w.say("%s folds %d..%d", d.name, list[0].message.Seq, d.state.Position().Seq)
	d.w.check.folded(d, list, watched)
	d.collect()
}

// commit cuts what is folded, or lets the cut of before land. Messages are folded
// between the two.
func (d *decider) commit() {
	d.committing = false
	if d.cut != nil {
		d.land()
		return
	}
	d.takeCut()
	d.commitSoon()
}

func (d *decider) takeCut() {
	d.cut = d.store.NewBatch()
	if err := d.state.Cut(d.cut); err != nil {
		d.w.fail("%s does not cut: %v", d.name, err)
	}
}

func (d *decider) land() {
	err := d.store.Commit(d.cut)
	d.cut = nil
	if err != nil {
		d.w.fail("%s does not commit: %v", d.name, err)
		return
	}
	d.state.Committed()
}

// level folds all there is, commits it and compares the digest.
func (d *decider) level() {
	for d.w.err == nil && d.state.Position().Seq < d.w.log.head() {
		d.fold(int(d.w.dice.between(1, 40)))
	}
	if d.cut != nil {
		d.land()
	}
	if d.w.err != nil || d.state.Position().Seq == 0 {
		return
	}
	d.takeCut()
	d.land()
	d.w.check.digest(d)
}

// answer is what a gateway hears.
type answer struct {
	allowed  bool
	held     bool // by the fold; else nobody counts the request
	degraded bool // no verdict came in time
	silent   bool // no answer came at all
	reason   string
	retryMs  int64 // of a block, -1 = never
}

// reserve is a question to be held.
type reserve struct {
	key, connection, model, request string
	estimate                        quota.Amounts
	given                           uint8
	lease                           int64
	closed                          bool // no verdict is a block
}

func (r *reserve) question() questions.Question {
	q := questions.Question{
		APIKeyID: r.key, ConnectionID: r.connection, Model: r.model, RequestID: r.request,
		Estimate: r.estimate, Reserve: true, LeaseMs: r.lease,
	}
	if r.given&given(quota.Requests) == 0 {
		q.Estimate[quota.Requests] = requests(1)
	}
	return q
}

func (r *reserve) event(id string) events.Event {
	return events.Event{
		Kind: events.Hold, ID: id, DecisionID: id, APIKeyID: r.key, ConnectionID: r.connection, Model: r.model,
		RequestID: r.request, Cost: r.estimate, Given: r.given, LeaseMs: r.lease,
	}
}

// ask judges on the view first. A block is answered at once, unless the request
// is held there: then the block must end its hold, which only the log can.
func (d *decider) ask(r reserve, end func(answer)) {
	q := r.question()
	d.state.Gather([]questions.Question{q}, d.clock(), d.asked[:])
	a := &d.asked[0]
	verdict := a.Facts.Decide(a.Now)
	d.w.check.viewed(d, &q, a)
	if !verdict.Allowed() && !d.state.HoldOpen(r.key, r.request) {
		d.w.report.count(BlockedAtOnce)
		end(answer{reason: verdict.Reason.String(), retryMs: verdict.RetryMs})
		return
	}
	d.reserve(r, q, verdict.Allowed(), end)
}
