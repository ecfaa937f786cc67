package projector

import (
	"encoding/binary"
	"errors"
	"maps"
	"sync/atomic"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// Collection drops counters that nobody used for long and that read 0 for good. It
// changes no digest and no decision, whenever it runs: an event that comes after it
// for one of them makes it anew, and where the old one would have refused the event
// as late, the new one takes it in and reads 0 all the same.
//
// A pair goes with its last counter, but for that of a connection's total: it says
// that somebody used the connection.
type Collection struct {
	// What last changed before goes, epoch ms of log time: records of five counters,
	// and the hourly ones of models.
	Counters, Models int64

	Dropped int // records, of both kinds
	Pairs   int // that went with them

	at    uint32 // the next pair to look at
	found []uint32
}

// What a collection does at a time. Looking takes no lock, but the fold waits for
// it; dropping takes about half a microsecond, and decisions wait too.
const (
	pairsPerLook = 1 << 14
	dropsPerLock = 256
)

// idle is what of the counters was collected, and what keeps more from being.
type idle struct {
	// walkers go along chains with a part under each lock. Nothing is dropped
	// meanwhile: its place would be taken by another.
	walkers atomic.Int32
	gone    []goneSeries // since the last cut
	// weighed is an instant before which something that is gone weighed, epoch ms.
	// A question about that time cannot be answered.
	weighed    int64
	weighedNew bool // since the last cut
}

type goneSeries struct {
	pairKey
	unit quota.Unit
}

// hold keeps every pair in its place until letGo. The caller holds the lock, for
// reading at least.
func (x *idle) hold() { x.walkers.Add(1) }

func (x *idle) letGo() { x.walkers.Add(-1) }

// Collect looks at the next pairs and drops what is idle. It reports whether it is
// done with all. The caller must be the one that folds.
func (s *State) Collect(c *Collection) (done bool) {
	now := bucketsAt(s.logTime)
	pairs := &s.counters.pairs
	c.found = c.found[:0]
	next := min(c.at+pairsPerLook, pairs.n)
	for i := c.at; i < next; i++ {
		p, there := pairs.find(i)
		if !there || !s.counters.hasIdle(p, c, &now) {
			continue
		}
		if len(c.found) == dropsPerLock {
			next = i
			break
		}
		c.found = append(c.found, i)
	}
	if !s.drop(c, &now) {
		return false // somebody goes along the chains: once more
	}
	if c.at = next; next < pairs.n {
		return false
	}
	s.shrink()
	return true
}

// drop drops what was found idle, unless somebody goes along the chains.
func (s *State) drop(c *Collection, now *buckets) bool {
	if len(c.found) == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counters.idle.walkers.Load() > 0 {
		return false
	}
	for _, i := range c.found {
		s.counters.collect(i, c, now)
	}
	return true
}

// hasIdle reports whether collect would drop something of the pair.
func (c *counters) hasIdle(p *pair, g *Collection, now *buckets) bool {
	if p.conn == 0 {
		return false // a free place
	}
	for u := range quota.Unit(quota.NumUnits) {
		if c.isIdle(p, u, g, now) {
			return true
		}
	}
	return !p.counted() && p.key != 0
}

// isIdle reports whether the pair has counters of the unit that may go. Those that
// a cut has to write are in use.
func (c *counters) isIdle(p *pair, u quota.Unit, g *Collection, now *buckets) bool {
	if p.series[u] == 0 {
		return false
	}
	if p.model != 0 {
		m := c.models.at(p.series[u] - 1)
		return !m.dirty && m.changed < g.Models && isOver(m.counter, now[quota.Hourly])
	}
	s := c.series.at(p.series[u] - 1)
	if s.dirty || s.changed >= g.Counters {
		return false
	}
	for w := range s.counter {
		if !isOver(s.counter[w], now[w]) {
			return false
		}
	}
	return true
}

// isOver reports whether the counter reads 0 from that bucket on, and would take in
// every event of it and of the one before as an empty one does.
func isOver(c windows.Counter, now int64) bool { return c.Index <= now && c.Rotate(now).Empty() }

// collect drops what is idle of pair i, and the pair when nothing is left.
func (c *counters) collect(i uint32, g *Collection, now *buckets) {
	p := c.pairs.at(i)
	chained := p.model == 0 && p.key != 0 && p.counted()
	for u := range quota.Unit(quota.NumUnits) {
		if c.isIdle(p, u, g, now) {
			c.dropSeries(p, u)
			g.Dropped++
		}
	}
	if p.counted() || p.key == 0 {
		return
	}
	if chained {
		c.unhang(c.byConn.at(uint32(p.conn)), i, connLink)
		c.unhang(c.byName.at(uint32(p.key)), i, keyLink)
	}
	delete(c.byKey, p.pairKey)
	c.pairs.drop(i)
	g.Pairs++
}

func (c *counters) dropSeries(p *pair, u quota.Unit) {
	at := p.series[u] - 1
	p.series[u] = 0
	c.idle.gone = append(c.idle.gone, goneSeries{p.pairKey, u})
	if p.model != 0 {
		c.idle.note(c.models.at(at).counter, quota.Hourly)
		c.models.drop(at)
		return
	}
	for w, x := range c.series.at(at).counter {
		c.idle.note(x, quota.Window(w))
	}
	c.series.drop(at)
}

// note keeps in mind until when a counter weighed that goes; before its bucket it
// would have been another.
func (x *idle) note(c windows.Counter, w quota.Window) {
	x.until(max(c.Index*w.Millis(), c.End(w.Millis())))
}

// until keeps in mind that something that is gone weighed until then.
func (x *idle) until(end int64) {
	if end > x.weighed {
		x.weighed, x.weighedNew = end, true
	}
}

// shrink gives back the memory of what was dropped. Who asks meanwhile looks at
// none of it, so only the exchange of the index takes the lock.
func (s *State) shrink() {
	c := s.counters
	c.pairs.release()
	c.series.release()
	c.models.release()
	c.most = max(c.most, len(c.byKey))
	if len(c.byKey) > c.most/2 {
		return
	}
	// A map never gets smaller.
	smaller := make(map[pairKey]uint32, len(c.byKey))
	maps.Copy(smaller, c.byKey)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.byKey, c.most = smaller, len(smaller)
}

// cutIdle deletes the records of what was collected.
func (s *State) cutIdle(b Batch) (err error) {
	x := &s.counters.idle
	for _, k := range x.gone {
		s.keyBuf = appendSeriesKey(s.keyBuf[:0], k.pairKey, k.unit)
		err = errors.Join(err, b.Delete(s.keyBuf))
	}
	x.gone = nil
	if x.weighedNew {
		x.weighedNew = false
		err = errors.Join(err, b.Set([]byte{tagIdle}, binary.AppendVarint(nil, x.weighed)))
	}
	return err
}

func (s *State) loadIdle(key, value []byte) error {
	d := decoder{b: value}
	s.counters.idle.weighed = d.int()
	if len(key) != 1 || !d.done() {
		return corrupt("end of what was collected", key)
	}
	return nil
}
