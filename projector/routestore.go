package projector

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// cutRoutes writes what changed of those that wait and of the lanes. One that came
// and went since the last cut leaves no trace.
func (s *State) cutRoutes(b Batch) (err error) {
	r := &s.routes
	for i := range r.gone {
		err = errors.Join(err, b.Delete(appendWaitingKey(s.keyBuf[:0], &r.gone[i])))
	}
	for _, id := range r.goneLanes {
		err = errors.Join(err, b.Delete(appendLaneKey(s.keyBuf[:0], id)))
	}
	for _, x := range r.dirty {
		x.dirty = false
		if !x.open {
			continue
		}
		x.stored = true
		s.keyBuf = appendWaitingKey(s.keyBuf[:0], &x.request)
		s.valBuf = s.appendWaiting(s.valBuf[:0], x)
		err = errors.Join(err, b.Set(s.keyBuf, s.valBuf))
	}
	for _, l := range r.dirtyLanes {
		l.dirty = false
		if p := s.pools[l.pool.doc.ID]; p == nil || p.lane != l {
			continue // its pool is no more
		}
		l.stored = true
		s.keyBuf = appendLaneKey(s.keyBuf[:0], l.pool.doc.ID)
		s.valBuf = l.append(s.valBuf[:0])
		err = errors.Join(err, b.Set(s.keyBuf, s.valBuf))
	}
	r.gone, r.goneLanes, r.dirty, r.dirtyLanes = r.gone[:0], r.goneLanes[:0], r.dirty[:0], r.dirtyLanes[:0]
	return err
}

// unwritten is how many records the next cut writes.
func (r *routes) unwritten() int {
	return len(r.gone) + len(r.goneLanes) + len(r.dirty) + len(r.dirtyLanes)
}

func appendWaitingKey(dst []byte, request *idHash) []byte {
	return append(append(dst, tagWaiting), request[:]...)
}

func appendLaneKey(dst []byte, pool string) []byte { return append(append(dst, tagLane), pool...) }

func (s *State) appendWaiting(dst []byte, x *seeker) []byte {
	dst = appendText(dst, x.lane.pool.doc.ID)
	dst = binary.AppendUvarint(dst, x.number)
	dst = binary.AppendUvarint(dst, uint64(x.Key))
	dst = appendText(dst, x.model)
	dst = appendAmounts(dst, &x.amounts)
	for _, at := range []int64{x.Arrived, x.Deadline, x.lease} {
		dst = binary.AppendVarint(dst, at)
	}
	dst = append(dst, x.event[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(x.candidates)))
	for i := range x.candidates {
		c := &x.candidates[i]
		dst = appendText(dst, c.ConnectionID)
		dst = binary.AppendVarint(dst, scoreOf(c))
	}
	return dst
}

// scoreOf is the score of a candidate, -1 when it has none.
func scoreOf(c *events.Candidate) int64 {
	if !c.HasScore {
		return -1
	}
	return int64(c.Score)
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

func (l *lane) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(l.credits)))
	for _, credit := range l.credits {
		dst = binary.AppendVarint(dst, credit)
	}
	b := l.backlog.Save()
	given := uint64(0)
	if b.Given {
		given = 1
	}
	dst = binary.AppendVarint(binary.AppendUvarint(dst, given), b.Wake)
	dst = binary.AppendUvarint(dst, uint64(len(b.Turns)))
	for _, t := range b.Turns {
		dst = binary.AppendVarint(binary.AppendUvarint(dst, uint64(t.Key)), int64(t.Deficit))
	}
	return dst
}

// loadWaiting puts a request that waits back; loadLane gives it its place. What the
// fold never writes is refused: a wait that would be over, or for longer than an event
// can say.
func (s *State) loadWaiting(key, value []byte) error {
	if len(key) != 1+len(idHash{}) {
		return corrupt("key of a waiting request", key)
	}
	d := decoder{b: value}
	x := &seeker{stored: true}
	x.request = idHash(key[1:])
	p := s.pools[d.text()]
	x.number = d.uint()
	name := d.ref()
	x.model = d.text()
	for u := range quota.Unit(quota.NumUnits) {
		x.amounts[u] = quota.Amount(d.int())
		d.bad = d.bad || x.amounts[u] < 0 || x.amounts[u] > u.Max()
	}
	x.Arrived, x.Deadline, x.lease = d.int(), d.int(), d.int()
	copy(x.event[:], d.bytes(len(x.event)))
	s.loadCandidates(&d, x)
	switch {
	case !d.done() || p == nil || name == 0 || name > s.names.len():
		return corrupt("waiting request", key)
	case x.Arrived > s.logTime || x.Deadline <= s.logTime || x.Arrived < x.Deadline-events.MaxWaitMs:
		return corrupt("wait", key)
	case x.lease <= 0 || x.lease > events.MaxLeaseMs:
		return corrupt("lease of a waiting request", key)
	}
	if x.candidates == nil {
		x.pool = p.doc.ID
	}
	x.apiKeyID, x.lane = s.names.id(name), p.lane
	x.Key, x.Want, x.Cost, x.Lease = routing.Key(name), x.want(), routing.Cost(&x.amounts), x.lease
	s.routes.number = max(s.routes.number, x.number)
	x.Ticket = routing.Ticket(len(s.routes.tickets))
	s.list(x)
	return nil
}

func (s *State) loadCandidates(d *decoder, x *seeker) {
	n := d.uint()
	for range min(n, events.MaxCandidates) {
		c := events.Candidate{ConnectionID: strings.Clone(d.text())}
		if score := d.int(); score >= 0 {
			c.Score, c.HasScore = quota.Ratio(score), true
		}
		x.candidates = append(x.candidates, c)
	}
	d.bad = d.bad || n > events.MaxCandidates
}

// loadLane puts the credits of a pool back, and its backlog into order. All that wait
// are loaded.
func (s *State) loadLane(key, value []byte) error {
	p := s.pools[string(key[1:])]
	d := decoder{b: value}
	n := d.uint()
	if p == nil || n != uint64(len(p.conns)) {
		return corrupt("routing of a pool", key)
	}
	l := p.lane
	l.stored = true
	for i := range l.credits {
		l.credits[i] = d.int()
	}
	given := d.uint()
	saved := routing.Saved{Given: given == 1, Wake: d.int()}
	turns := min(d.uint(), routing.MaxWaiting)
	queues := s.routes.queuesOf(l)
	for range turns {
		name := routing.Key(d.ref())
		list := queues[name]
		saved.Turns = append(saved.Turns, routing.Turn{Key: name, Deficit: quota.Amount(d.int()), Waiting: len(list)})
		saved.Waiters = append(saved.Waiters, list...)
	}
	b, err := routing.Restore(saved)
	err = errors.Join(err, routing.CheckCredits(l.credits, len(l.credits)))
	if !d.done() || err != nil || given > 1 {
		return errors.Join(corrupt("routing of a pool", key), err)
	}
	l.backlog = *b
	return nil
}

// queuesOf returns what waits in a lane, by key in the order in which they came.
func (r *routes) queuesOf(l *lane) map[routing.Key][]routing.Waiter {
	if _, known := r.find(l); !known {
		return nil
	}
	var all []*seeker
	for _, x := range r.tickets {
		if x.lane == l {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *seeker) int { return int(a.number) - int(b.number) })
	queues := make(map[routing.Key][]routing.Waiter)
	for _, x := range all {
		queues[x.Key] = append(queues[x.Key], x.Waiter)
	}
	return queues
}

// loaded checks that whoever waits has a place in a backlog, and works out when to
// look at them.
func (s *State) loaded() error {
	r := &s.routes
	n := 0
	for _, l := range r.busy {
		n += l.backlog.Len()
		l.dirty, l.due = false, s.dueOf(l)
		r.due = min(r.due, l.due)
	}
	r.dirtyLanes = r.dirtyLanes[:0]
	if n != r.len() || s.holds.len()+n > MaxHolds {
		return corrupt("number of waiting requests", nil)
	}
	return nil
}

// digestRoutes writes what each pool keeps for its choices and who waits for one, in
// the order in which they would pass if all cost the same.
func (s *State) digestRoutes(w *digester) {
	for _, p := range s.poolList {
		for _, credit := range p.lane.credits {
			w.int(credit)
		}
		b := p.lane.backlog.Save()
		given := uint64(0)
		if b.Given {
			given = 1
		}
		w.uint(given)
		w.int(b.Wake)
		w.uint(uint64(len(b.Turns)))
		for _, t := range b.Turns {
			w.bytes(s.names.raw(ref(t.Key)))
			w.int(int64(t.Deficit))
			w.uint(uint64(t.Waiting))
		}
		for i := range b.Waiters {
			s.digestWaiting(w, s.routes.tickets[b.Waiters[i].Ticket])
		}
	}
}

func (s *State) digestWaiting(w *digester, x *seeker) {
	w.bytes(x.request[:])
	w.bytes(x.event[:])
	w.bytes([]byte(x.model))
	for _, a := range x.amounts {
		w.int(int64(a))
	}
	for _, at := range []int64{x.Arrived, x.Deadline, x.lease} {
		w.int(at)
	}
	w.uint(uint64(len(x.candidates)))
	for i := range x.candidates {
		w.bytes([]byte(x.candidates[i].ConnectionID))
		w.int(scoreOf(&x.candidates[i]))
	}
}
