package projector

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// pairKey names what a counter counts: one key on one connection, and with a
// model one key's use of that model. Key 0 is the total over all keys.
type pairKey struct{ conn, key, model ref }

// pair is one (connection, key[, model]) that was consumed. series holds, for
// each unit, the place + 1 of its counters, 0 while there are none; the links are
// those of its chains, see chain. A place of pairs that is free has connection 0.
type pair struct {
	pairKey
	series [quota.NumUnits]uint32
	ofConn link
	ofKey  link
	row    uint32 // place in history of the minute row it was added to last, see addHistory
}

// series is the counters of one pair in one unit: all five windows, or, for a
// pair with a model, the hourly one alone.
type series struct {
	pair    uint32
	unit    quota.Unit
	dirty   bool
	changed int64 // log time of the last change, epoch ms
	counter [quota.NumWindows]windows.Counter
}

// counters are all counters of a state. Model counters are few windows of many
// pairs, so they have series of their own shape.
type counters struct {
	byKey  map[pairKey]uint32 // pointer-free: the collector skips it
	pairs  arena[pair]
	series arena[series]
	models arena[modelSeries]
	byConn arena[chain] // by connection ref
	byName arena[chain] // by name ref; those of keys alone are used
	dirty  []uint32     // places in series
	dirtyM []uint32     // places in models
	idle   idle         // what was collected
	most   int          // pairs in byKey since it was made
}

type modelSeries struct {
	pair    uint32
	unit    quota.Unit
	dirty   bool
	changed int64
	counter windows.Counter
}

func newCounters() *counters { return &counters{byKey: make(map[pairKey]uint32)} }

// find returns the pair of that name, or nil.
func (c *counters) find(k pairKey) *pair {
	if i, ok := c.byKey[k]; ok {
		return c.pairs.at(i)
	}
	return nil
}

// need returns the place of the pair of that name and makes it when it is new.
func (c *counters) need(k pairKey) uint32 {
	if i, ok := c.byKey[k]; ok {
		return i
	}
	return c.create(k)
}

// create makes the pair of that name, which there is not.
func (c *counters) create(k pairKey) uint32 {
	i, p := c.pairs.add()
	p.pairKey = k
	c.byKey[k] = i
	return i
}

// get returns the counter of the pair, unit and window; the empty one when
// nothing was counted.
func (c *counters) get(p *pair, u quota.Unit, w quota.Window) windows.Counter {
	if p == nil || p.series[u] == 0 {
		return windows.Counter{}
	}
	if p.model != 0 {
		if w != quota.Hourly {
			return windows.Counter{}
		}
		return c.models.at(p.series[u] - 1).counter
	}
	return c.series.at(p.series[u] - 1).counter[w]
}

// seriesOf returns the series of pair i in unit u and makes it when needed.
func (c *counters) seriesOf(i uint32, u quota.Unit) *series {
	p := c.pairs.at(i)
	if p.series[u] == 0 {
		c.chain(i, p)
		at, s := c.series.add()
		s.pair, s.unit = i, u
		p.series[u] = at + 1
	}
	return c.series.at(p.series[u] - 1)
}

func (c *counters) modelSeriesOf(i uint32, u quota.Unit) *modelSeries {
	p := c.pairs.at(i)
	if p.series[u] == 0 {
		at, s := c.models.add()
		s.pair, s.unit = i, u
		p.series[u] = at + 1
	}
	return c.models.at(p.series[u] - 1)
}

// buckets are the bucket indexes of one instant, for every window.
type buckets [quota.NumWindows]int64

func bucketsAt(t int64) (b buckets) {
	for w := range quota.Window(quota.NumWindows) {
		b[w], _ = windows.Bucket(t, w.Millis())
	}
	return b
}

// fits reports whether the amounts can be added to the pair at that place
// without passing the bound of any bucket that still weighs at log time, whose
// buckets are now. One that does not may have been collected, so an event is not
// refused for what is in it.
func (c *counters) fits(i uint32, b, now *buckets, cost *quota.Amounts) bool {
	p := c.pairs.at(i)
	full := func(x windows.Counter, w quota.Window, amount quota.Amount) bool {
		return b[w] >= now[w]-1 && x.Check(b[w], amount) == windows.Overflow
	}
	for u, amount := range cost {
		switch {
		case amount == 0 || p.series[u] == 0: // one amount always fits an empty counter
		case p.model != 0:
			if full(c.models.at(p.series[u]-1).counter, quota.Hourly, amount) {
				return false
			}
		default:
			s := c.series.at(p.series[u] - 1)
			for w := range quota.Window(quota.NumWindows) {
				if full(s.counter[w], w, amount) {
					return false
				}
			}
		}
	}
	return true
}

// add adds the amounts to the pair at that place and reports whether some
// window was too far ahead to take them, or full where it weighs no more. The
// caller has made sure that they fit.
func (c *counters) add(i uint32, b *buckets, cost *quota.Amounts, logTime int64) (late bool) {
	model := c.pairs.at(i).model != 0
	for u := range quota.Unit(quota.NumUnits) {
		switch {
		case cost[u] == 0:
		case model:
			late = c.addModel(i, u, b, cost[u], logTime) || late
		default:
			late = c.addSeries(i, u, b, cost[u], logTime) || late
		}
	}
	return late
}

func (c *counters) addSeries(i uint32, u quota.Unit, b *buckets, amount quota.Amount, logTime int64) (late bool) {
	s := c.seriesOf(i, u)
	s.changed = logTime
	for w := range s.counter {
		late = s.counter[w].Add(b[w], amount) != windows.Added || late
	}
	if !s.dirty {
		s.dirty = true
		c.dirty = append(c.dirty, c.pairs.at(i).series[u]-1)
	}
	return late
}

func (c *counters) addModel(i uint32, u quota.Unit, b *buckets, amount quota.Amount, logTime int64) (late bool) {
	s := c.modelSeriesOf(i, u)
	s.changed = logTime
	late = s.counter.Add(b[quota.Hourly], amount) != windows.Added
	if !s.dirty {
		s.dirty = true
		c.dirtyM = append(c.dirtyM, c.pairs.at(i).series[u]-1)
	}
	return late
}
