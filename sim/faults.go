package sim

import (
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector/memstore"
)

// trouble lets something go wrong, and more later.
func (w *world) trouble() {
	if w.closing {
		return
	}
	switch w.dice.kind(12, 6, 10, 12, 12, 14, 8, 6, 20) {
	case 0:
		w.log.stop(w.dice.between(500, 10_000))
	case 1:
		w.log.freeze(w.dice.between(1_000, 300_000))
	case 2:
		w.moveClock()
	case 3:
		w.kill()
	case 4:
		w.sendOld()
	case 5:
		w.levelAll()
	case 6:
		w.publish(w.garbage(), 1, nil)
	case 7:
		if len(w.deciders) < 4 {
			w.startDecider()
		}
	case 8:
		w.hint()
	}
	w.daemon(w.dice.between(0, 60_000), w.trouble)
}

// moveClock sets the broker's clock: ahead, as after a wrong setting was put
// right, or a little back, as when another broker takes over.
func (w *world) moveClock() {
	if w.log.ahead < -60_000 {
		w.log.ahead = 0
		return
	}
	if w.exact || w.dice.chance(60) {
		by := w.dice.between(1, 30_000)
		w.log.ahead -= by
		w.report.count(ClockWentBack)
		w.say("the broker's clock goes back by %d ms", by)
		return
	}
	by := w.dice.between(1, 2_400_000)
	w.log.ahead += by
	w.report.count(ClockJumped)
	w.say("the broker's clock jumps ahead by %d ms", by)
}

// kill crashes some decider.
func (w *world) kill() {
	if d := pick(w.dice, w.deciders); d.state != nil {
		d.stumble()
	}
}

// stumble is a crash, and a start some time later, now and then without the store.
func (d *decider) stumble() {
	w := d.w
	d.crash()
	w.after(w.dice.between(0, 90_000), func() {
		if w.dice.chance(20) {
			w.report.count(StoreLost)
			d.store = memstore.New()
		}
		d.start()
	})
}

// sendOld publishes again what was stored before, as it was or with other content
// under the same id.
func (w *world) sendOld() {
	var old *entry
	for range 20 {
		if n := len(w.log.entries); n > 0 {
			if old = &w.log.entries[w.dice.r.IntN(n)]; len(old.means.Events) > 0 {
				break
			}
		}
	}
	if old == nil || len(old.means.Events) == 0 || w.exact && old.means.Events[0].ID == "" {
		return
	}
	d := &draft{subject: old.message.Subject, header: old.message.Header, data: old.message.Data, events: old.means.Events}
	if !w.exact && w.dice.chance(40) {
		other := append([]events.Event(nil), old.means.Events...)
		other[0].APIKeyID = "b"
		d = w.draft(other...)
	}
	w.report.count(SentOld)
	w.publish(d, 1, nil)
}

// levelAll brings all that are up to the end of the log and compares digests.
func (w *world) levelAll() {
	for _, d := range w.deciders {
		if d.state != nil && w.err == nil {
			d.level()
		}
	}
}

// hint is what a decider writes when something fell due by time alone.
func (w *world) hint() { w.publish(w.draft(events.Event{Kind: events.Due}), 1, nil) }
