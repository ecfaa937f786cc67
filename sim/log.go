package sim

import (
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/sim/model"
)

// log is the one stream of messages, and the broker's clock.
type log struct {
	w       *world
	entries []entry
	stopped bool
	waiting []*draft // came while it was stopped, and are stored when it goes on
	ahead   int64    // the broker's clock − ours, ms
	frozen  int64    // where the broker's clock stands still, 0 = it goes
	newest  uint64   // number of the newest draft stored
}

// entry is a stored message.
type entry struct {
	message events.Message
	means   model.Entry
}

// draft is a message that somebody publishes, once or again.
type draft struct {
	number  uint64 // in the order in which they were first sent
	subject string
	header  map[string][]string
	data    []byte
	events  []events.Event
	config  *model.Config
	stored  int // how often
}

// after returns at most n messages after the sequence.
func (l *log) after(seq uint64, n int) []entry {
	return l.entries[seq:min(seq+uint64(n), l.head())]
}

func (l *log) head() uint64 { return uint64(len(l.entries)) }

// clock is the broker's.
func (l *log) clock() int64 {
	if l.frozen != 0 {
		return l.frozen
	}
	return l.w.now + l.ahead
}

// take stores the message, unless the log takes none.
func (l *log) take(d *draft) bool {
	if l.stopped {
		if l.w.dice.chance(20) {
			l.waiting = append(l.waiting, d)
		}
		return false
	}
	l.store(d)
	return true
}

func (l *log) store(d *draft) {
	w := l.w
	m := events.Message{Subject: d.subject, Header: d.header, Data: d.data, Seq: l.head() + 1, Time: l.clock()}
	l.entries = append(l.entries, entry{m, model.Entry{Time: m.Time, Events: d.events, Config: d.config}})
	if d.number < l.newest {
		w.report.count(Reordered)
	}
	if d.stored > 0 {
		w.report.count(StoredAgain)
	}
	d.stored++
	l.newest = max(l.newest, d.number)
	w.say("log %d at %d: %s", m.Seq, m.Time-start, d)
	w.check.stored(&l.entries[m.Seq-1])
	for _, d := range w.deciders {
		d.wake()
	}
}

// stop lets the log take nothing for a while.
func (l *log) stop(ms int64) {
	if l.stopped {
		return
	}
	l.stopped = true
	l.w.report.count(LogStopped)
	l.w.say("the log stops for %d ms", ms)
	l.w.after(ms, l.resume)
}

func (l *log) resume() {
	l.stopped = false
	l.w.say("the log goes on, %d messages waited", len(l.waiting))
	for _, d := range l.waiting {
		l.store(d)
	}
	l.waiting = nil
}

// freeze lets the broker's clock stand still for a while. Then it says again what
// it would have said, or goes on from where it stood.
func (l *log) freeze(ms int64) {
	if l.frozen != 0 {
		return
	}
	l.frozen = l.clock()
	l.w.report.count(ClockStood)
	l.w.say("the broker's clock stands still for %d ms", ms)
	l.w.after(ms, func() {
		if l.w.dice.chance(50) {
			l.ahead = l.frozen - l.w.now
		}
		l.frozen = 0
	})
}

// publisher sends one draft until it is acknowledged or given up.
type publisher struct {
	w     *world
	draft *draft
	tries int
	over  bool
	end   func(acknowledged bool)
}

// publish sends the draft, tries times at most; end, which may be nil, is called
// once.
func (w *world) publish(d *draft, tries int, end func(acknowledged bool)) {
	w.arranged++
	d.number = w.arranged
	p := &publisher{w: w, draft: d, tries: tries, end: end}
	p.send()
}

// delay is how long a message is under way, in ms.
func (w *world) delay() int64 {
	switch w.dice.kind(60, 30, 8, 2) {
	case 0:
		return w.dice.between(0, 2)
	case 1:
		return w.dice.between(1, 20)
	case 2:
		return w.dice.between(20, 300)
	}
	return w.dice.between(300, 5_000)
}

func (p *publisher) send() {
	p.tries--
	p.w.after(p.w.delay(), p.arrive)
	p.w.after(p.w.dice.between(100, 1_000), p.overdue)
}

// arrive brings the message to the log. A network may bring it twice.
func (p *publisher) arrive() {
	w := p.w
	if !w.log.take(p.draft) {
		return
	}
	if w.dice.chance(3) {
		w.after(w.delay(), func() { w.log.take(p.draft) })
	}
	if w.dice.chance(5) {
		w.report.count(AckLost)
		return
	}
	w.after(w.delay(), func() { p.finish(true) })
}

func (p *publisher) overdue() {
	switch {
	case p.over:
	case p.tries > 0:
		p.w.report.count(SentAgain)
		p.send()
	default:
		p.finish(false)
	}
}

func (p *publisher) finish(acknowledged bool) {
	if p.over {
		return
	}
	p.over = true
	if p.end != nil {
		p.end(acknowledged)
	}
}
