package projector

import (
	"encoding/binary"
	"errors"
)

// Cut writes everything that changed since the last cut, and the position it
// changed at, into the batch. The caller commits it and then calls Committed;
// until then no second cut may be taken. Cut reads what only the fold changes,
// so it holds no lock meanwhile and no reader waits for it.
func (s *State) Cut(b Batch) error {
	if s.last.Seq != 0 {
		s.pos.Hash = HashOf(&s.last)
	}
	return errors.Join(
		s.cutIDs(b, connTable, s.conns),
		s.cutIDs(b, nameTable, s.names),
		s.cutConnections(b),
		s.cutCounters(b),
		s.cutMeters(b),
		s.cutHistory(b),
		s.cutConfig(b),
		s.cutRejected(b),
		s.cutHolds(b),
		s.cutRoutes(b),
		s.dedup.cut(b),
		s.dedup.age(b, s.logTime),
		s.cutSettled(b),
		b.Set([]byte{tagPosition}, s.appendPosition(nil)),
		s.commits.next(b),
	)
}

// cutSettled writes the requests that were settled. They are all that is cut and is
// looked at by others than the fold: see State.over, which waits meanwhile.
func (s *State) cutSettled(b Batch) error {
	s.cutting.Lock()
	defer s.cutting.Unlock()
	return errors.Join(s.settled.cut(b), s.settled.age(b, s.logTime))
}

// Committed says that the last cut is in the store.
func (s *State) Committed() {
	s.dedup.committed()
	s.cutting.Lock()
	s.settled.committed()
	s.cutting.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.minutes.committed()
	s.verdicts.committed()
}

// Unwritten is how many events with an id wait for a cut: a measure of the
// next batch.
func (s *State) Unwritten() int {
	return len(s.dedup.fresh) + len(s.settled.fresh) + len(s.holds.dirty) + len(s.holds.gone) + len(s.counters.dirty) + len(s.counters.idle.gone) + len(s.meters.dirty) + len(s.rejected) + s.routes.unwritten()
}

// cutIDs writes the ids interned since the last cut.
func (s *State) cutIDs(b Batch, t table, in *interner) (err error) {
	for r := s.newIDs[t] + 1; r <= in.len(); r++ {
		s.keyBuf = appendIDKey(s.keyBuf[:0], t, r)
		err = errors.Join(err, b.Set(s.keyBuf, in.raw(r)))
	}
	s.newIDs[t] = in.len()
	return err
}

func (s *State) cutConnections(b Batch) (err error) {
	for _, r := range s.dirtyConns {
		c := s.conn(r)
		c.dirty = false
		s.keyBuf = appendConnectionKey(s.keyBuf[:0], r)
		s.valBuf = binary.AppendUvarint(s.valBuf[:0], uint64(c.provider))
		s.valBuf = binary.AppendVarint(s.valBuf, c.changed)
		err = errors.Join(err, b.Set(s.keyBuf, s.valBuf))
	}
	s.dirtyConns = s.dirtyConns[:0]
	return err
}

func (s *State) cutCounters(b Batch) (err error) {
	c := s.counters
	err = s.cutIdle(b) // before what came back since
	for _, i := range c.dirty {
		x := c.series.at(i)
		x.dirty = false
		s.keyBuf = appendSeriesKey(s.keyBuf[:0], c.pairs.at(x.pair).pairKey, x.unit)
		s.valBuf = binary.AppendVarint(s.valBuf[:0], x.changed)
		for _, w := range x.counter {
			s.valBuf = appendCounter(s.valBuf, w)
		}
		err = errors.Join(err, b.Set(s.keyBuf, s.valBuf))
	}
	for _, i := range c.dirtyM {
		x := c.models.at(i)
		x.dirty = false
		s.keyBuf = appendSeriesKey(s.keyBuf[:0], c.pairs.at(x.pair).pairKey, x.unit)
		s.valBuf = appendCounter(binary.AppendVarint(s.valBuf[:0], x.changed), x.counter)
		err = errors.Join(err, b.Set(s.keyBuf, s.valBuf))
	}
	c.dirty, c.dirtyM = c.dirty[:0], c.dirtyM[:0]
	return err
}

func (s *State) cutRejected(b Batch) (err error) {
	for i := range s.rejected {
		r := &s.rejected[i]
		s.keyBuf = appendRejectedKey(s.keyBuf[:0], r.seq, r.index)
		err = errors.Join(err, b.Set(s.keyBuf, r.value))
	}
	s.rejected = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdicts.cut()
	return err
}

// appendPosition encodes what a state is beside its records: the version that
// folded it, its position, its log time and its counts.
func (s *State) appendPosition(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, RulesVersion)
	dst = binary.AppendUvarint(dst, s.pos.Seq)
	dst = binary.AppendVarint(dst, s.pos.Time)
	dst = append(dst, s.pos.Hash[:]...)
	dst = binary.AppendVarint(dst, s.logTime)
	dst = binary.AppendUvarint(dst, s.lastConfig)
	for _, n := range s.counts.all() {
		dst = binary.AppendUvarint(dst, *n)
	}
	return dst
}
