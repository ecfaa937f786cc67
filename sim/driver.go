package sim

import (
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// Options say what to run. A run is a function of them: equal options give the
// same run on every machine.
type Options struct {
	Seed  uint64
	Steps int // how many things happen before nothing new begins; 0 = DefaultSteps
	// Trace, when set, is called with every line of what happens.
	Trace func(line string)
}

// DefaultSteps is a run of a few hundred messages.
const DefaultSteps = 4_000

// Run runs one world, and returns what happened in it. The error says which check
// failed, what happened last, and how to run it again.
func Run(o Options) (Report, error) {
	w := newWorld(o)
	w.begin()
	w.run()
	return *w.report, w.err
}

func newWorld(o Options) *world {
	if o.Steps == 0 {
		o.Steps = DefaultSteps
	}
	w := &world{Options: o, dice: newDice(o.Seed), now: start, report: &Report{}, names: newNames(), told: make(map[string]quota.Amount)}
	w.exact = w.dice.chance(20)
	w.paced = !w.exact && w.dice.chance(45)
	w.silent = pick(w.dice, []string{"", "c1", "c1:"})
	w.log = &log{w: w}
	w.check = newChecker(w)
	return w
}

func (w *world) run() {
	for w.err == nil && w.steps < w.Steps {
		w.step()
	}
	w.end()
}

func (w *world) begin() {
	w.setUp()
	for range w.dice.between(1, 3) {
		w.startDecider()
	}
	quiet := int64(0)
	if !w.exact && !w.paced && w.dice.chance(90) {
		w.tug()
		quiet = 5_000
	}
	w.daemon(quiet, w.arrive)
	w.daemon(10_000, w.trouble)
	if !w.exact {
		w.daemon(60_000, w.operate)
		w.daemon(30_000, w.tell)
	}
}

// end lets everything that is under way come to its end, lets every lease end, and
// compares all deciders and one that starts from nothing.
func (w *world) end() {
	w.closing = true
	for w.err == nil && w.owed > 0 {
		w.step()
	}
	if w.err != nil {
		return
	}
	w.log.frozen, w.log.ahead = 0, max(w.log.ahead, w.check.model.Time-w.now)
	w.now += 3_600_001
	w.log.store(w.draft(events.Event{Kind: events.Due}))
	w.startDecider()
	for _, d := range w.deciders {
		if d.state == nil {
			d.start()
		}
	}
	w.levelAll()
	if w.err == nil {
		w.check.ended()
	}
}
