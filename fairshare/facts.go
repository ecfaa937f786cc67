package fairshare

import (
	"slices"

	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// Facts is everything one question depends on, and the scratch to judge it. It
// is reused from question to question and belongs to one goroutine at a time.
// The zero Facts is ready for Gather.
type Facts struct {
	q     Question
	conns int
	lines []line

	// One entry per line and connection, at line*conns + connection.
	keys     []windows.Counter
	totals   []windows.Counter
	readings []Reading
	scopedAt []int // end of its scoped levels in scoped

	scoped []Level

	// Of the instant of Gather: what is held, per line, and the verdict on the
	// connection judged last.
	at     int64
	held   []holding
	judged int
	first  Verdict

	// What is held later, when the list was asked for.
	listed bool
	holds  []Hold
	falls  falls
	// The block ends when there is room for one more hold; then the list is not
	// needed.
	roomFrees bool

	// How the other allocations stand, under the rule guarantee, unless the question
	// shares that with others.
	peers     peers
	dimension guarantee.Dimension // scratch

	measured  int64
	numbers   []numbers // of that instant, per line
	stretches []int64
	tails     []tail // under the rule guarantee
	free      []int
	spanned   []int
}

// kind tells the lines apart.
type kind uint8

const (
	dimension kind = iota
	capped         // a cap of its own window
	modelCapped
)

// line is one thing that is judged: first the dimensions of the plan in their
// order, then the caps of the allocation, then those of the model.
type line struct {
	kind     kind
	unit     quota.Unit
	window   quota.Window
	limit    quota.Amount // 0 = unknown
	share    quota.Amount // when the asker has an allocation
	cap      quota.Amount // 0 = none
	perConns []quota.Amount
}

// Gather takes in what the question depends on. The facts are then good for any
// instant from now on, except that when holds end is known only where the retry
// instant depends on it: else they count later as they do now. Those of a Brief
// question are good for this instant and for the search. Nothing of c is kept.
func (f *Facts) Gather(q *Question, c Counters, now int64) {
	f.reset()
	f.q = *q
	if q.Pool != nil && len(q.Pool.Pool.Connections) > 0 {
		f.conns = len(q.Pool.Pool.Connections)
		f.addDimensions()
		f.addCaps()
		for i := range f.lines {
			f.read(&f.lines[i], c)
		}
	}
	f.crowd().begin(q, c, now)
	f.readHeld(c, now)
	if f.judgeFirst() && f.searches() && !f.waitsForRoom(c) {
		f.needPeers(c)
		f.holds, f.listed = c.Holds(f.holds), true
	}
	if !q.Brief {
		f.needPeers(c)
	}
	f.crowd().from = nil
}

// reset forgets the last question, and keeps the room it took.
func (f *Facts) reset() {
	f.conns, f.lines = 0, f.lines[:0]
	f.keys, f.totals, f.readings = f.keys[:0], f.totals[:0], f.readings[:0]
	f.scopedAt, f.scoped, f.held = f.scopedAt[:0], f.scoped[:0], f.held[:0]
	f.roomFrees, f.listed, f.holds, f.falls.ends = false, false, f.holds[:0], f.falls.ends[:0]
}

// readHeld gathers what is held at instant now, and measures that.
func (f *Facts) readHeld(c Counters, now int64) {
	f.at, f.held = now, f.held[:0]
	for i := range f.lines {
		f.held = append(f.held, f.lines[i].holding(c, now))
	}
	if p := f.crowd(); p.known && p.heldAt != now {
		f.holdPeers(c, now)
	}
	f.sum(now)
}

// judgeFirst judges the connections that may answer, up to one that lets pass, and
// reports whether there is none.
func (f *Facts) judgeFirst() bool {
	from, to := f.asked()
	for f.judged = from; ; f.judged++ {
		f.first = f.verdict(f.judged, f.at)
		if blocked := f.first.Reason.Blocks(); !blocked || f.judged >= to-1 {
			return blocked
		}
	}
}

// searches reports whether the end of a block is to be searched for.
func (f *Facts) searches() bool {
	return f.conns > 0 && f.first.Reason != Suspended && !f.q.NoRetry
}

// waitsForRoom reports whether the question may pass as soon as there is room for
// its hold. The state is asked for the sums of that instant instead of the list,
// which would be at its longest just then.
func (f *Facts) waitsForRoom(c Counters) bool {
	if f.first.Reason != Capacity || f.q.Connection == AnyConnection {
		return false
	}
	now := f.at
	f.readHeld(c, f.roomOn(f.q.Connection))
	f.roomFrees = !f.judgeFirst()
	f.readHeld(c, now)
	f.judgeFirst()
	return f.roomFrees
}

// asked returns the connections that may answer, from..to-1.
func (f *Facts) asked() (from, to int) {
	if f.q.Connection == AnyConnection {
		return 0, f.conns
	}
	return f.q.Connection, f.q.Connection + 1
}

// allocation returns the asker's allocation, nil when it has none.
func (f *Facts) allocation() *plans.Allocation {
	if f.q.Pool == nil || f.q.Allocation < 0 {
		return nil
	}
	return &f.q.Pool.Pool.Allocations[f.q.Allocation]
}

func (f *Facts) addDimensions() {
	a := f.allocation()
	for i := range f.q.Pool.Dimensions {
		d := &f.q.Pool.Dimensions[i]
		l := line{unit: d.Unit, window: d.Window, limit: d.Limit, perConns: d.PerConnection}
		if a != nil {
			l.share = d.Shares[f.q.Allocation]
			if a.CapUnit == d.Unit {
				l.cap = a.CapValue
			}
		}
		f.lines = append(f.lines, l)
	}
}

func (f *Facts) addCaps() {
	if a := f.allocation(); a != nil {
		for _, c := range a.Caps {
			f.lines = append(f.lines, line{kind: capped, unit: c.Unit, window: c.Window, cap: c.Value})
		}
	}
	if f.q.Model == "" {
		return
	}
	for _, c := range f.q.Pool.ModelCaps(f.q.APIKeyID) {
		if c.Model == f.q.Model {
			f.lines = append(f.lines, line{kind: modelCapped, unit: c.CapUnit, window: quota.Hourly, cap: c.CapValue})
		}
	}
}

// read gathers one line over the pool's connections. Readings matter to every
// dimension (the provider's word on that window) and to caps in percent (the
// key's part of it).
func (f *Facts) read(l *line, c Counters) {
	for conn := range f.conns {
		var key, total windows.Counter
		var r Reading
		if l.kind == modelCapped {
			key = c.Model(conn, l.unit)
		} else {
			key = c.Key(conn, l.unit, l.window)
		}
		if l.kind == dimension {
			total = c.Total(conn, l.unit, l.window)
			if f.q.Model != "" {
				f.scoped = c.Scoped(conn, l.window, f.scoped)
			}
		}
		if l.kind == dimension || l.kind == capped && l.unit == quota.Percent {
			r = c.Reading(conn, l.window)
		}
		f.keys = append(f.keys, key)
		f.totals = append(f.totals, total)
		f.readings = append(f.readings, r)
		f.scopedAt = append(f.scopedAt, len(f.scoped))
	}
}

// Later reports whether a counter or reading that the question uses already
// lies after instant at: its bucket starts later, or the provider spoke later,
// or usage came later that the key's part of its points counts. Then the past at
// that instant is gone, and only a replay can answer.
func (f *Facts) Later(at int64) bool {
	for i := range f.lines {
		l := &f.lines[i]
		bucket, _ := windows.Bucket(at, l.window.Millis())
		for k := i * f.conns; k < (i+1)*f.conns; k++ {
			r := &f.readings[k]
			if f.keys[k].Index > bucket || f.totals[k].Index > bucket || r.later(at) || l.unit == quota.Percent && r.partLater(at) {
				return true
			}
		}
	}
	return slices.ContainsFunc(f.scoped, func(l Level) bool { return l.Observed > at })
}

// Binding names what a verdict's Line was; ok is false when nothing bound.
func (f *Facts) Binding(v Verdict) (u quota.Unit, w quota.Window, model string, ok bool) {
	if v.Line < 0 {
		return 0, 0, "", false
	}
	l := &f.lines[v.Line]
	if l.kind == modelCapped || v.Scope == ScopeModel {
		model = f.q.Model
	}
	return l.unit, l.window, model, true
}

// Listed returns how many holds the scratch of the facts has room for. It grows to
// the most that a blocked question found; who keeps facts for later may rather let
// large ones go.
func (f *Facts) Listed() int { return cap(f.holds) }
