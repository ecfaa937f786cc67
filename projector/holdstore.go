package projector

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// cutHolds writes the holds that changed. One that was opened and ended since the
// last cut leaves no trace.
func (s *State) cutHolds(b Batch) (err error) {
	h := s.holds
	for i := range h.gone {
		err = errors.Join(err, b.Delete(appendHoldKey(s.keyBuf[:0], &h.gone[i])))
	}
	for _, at := range h.dirty {
		x := h.at(at)
		x.dirty = false
		if !x.open {
			continue
		}
		x.stored = true
		s.keyBuf = appendHoldKey(s.keyBuf[:0], &x.id)
		s.valBuf = x.append(s.valBuf[:0])
		err = errors.Join(err, b.Set(s.keyBuf, s.valBuf))
	}
	h.gone, h.dirty = h.gone[:0], h.dirty[:0]
	return err
}

func appendHoldKey(dst []byte, id *idHash) []byte { return append(append(dst, tagHold), id[:]...) }

func (x *hold) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(x.key))
	dst = binary.AppendUvarint(dst, uint64(x.conn))
	dst = binary.AppendUvarint(dst, uint64(x.model))
	dst = appendAmounts(dst, &x.amounts)
	dst = binary.AppendVarint(dst, x.end)
	dst = binary.AppendVarint(dst, x.lease)
	return append(dst, x.event[:]...)
}

// loadHold opens a stored hold again. What the fold never writes is refused: a hold
// that would be over, or for longer than its lease, or of more than an event can
// have.
func (s *State) loadHold(key, value []byte) error {
	if len(key) != 1+len(idHash{}) {
		return corrupt("hold key", key)
	}
	d := decoder{b: value}
	x := hold{id: idHash(key[1:]), stored: true}
	x.key, x.conn, x.model = d.ref(), d.ref(), d.ref()
	for u := range quota.Unit(quota.NumUnits) {
		x.amounts[u] = quota.Amount(d.int())
		d.bad = d.bad || x.amounts[u] < 0 || x.amounts[u] > u.Max()
	}
	x.end, x.lease = d.int(), d.int()
	copy(x.event[:], d.bytes(len(x.event)))
	left := x.end - s.logTime
	known := x.conn != 0 && x.conn <= s.conns.len() && x.key != 0 && max(x.key, x.model) <= s.names.len()
	if !d.done() || !known || left <= 0 || left > x.lease || x.lease > events.MaxLeaseMs || s.holds.len() == MaxHolds {
		return corrupt("hold", key)
	}
	s.holds.add(x)
	return nil
}

// digestHolds writes every open hold in the order of ids.
func (s *State) digestHolds(w *digester) {
	list := make([]uint32, 0, s.holds.len())
	list = append(list, s.holds.ends...)
	slices.SortFunc(list, func(a, b uint32) int { return bytes.Compare(s.holds.at(a).id[:], s.holds.at(b).id[:]) })
	w.uint(uint64(len(list)))
	for _, at := range list {
		x := s.holds.at(at)
		w.bytes(x.id[:])
		w.bytes(s.names.raw(x.key))
		w.bytes(s.conns.raw(x.conn))
		w.bytes([]byte(s.names.id(x.model)))
		for _, a := range x.amounts {
			w.int(int64(a))
		}
		w.int(x.end)
		w.int(x.lease)
		w.bytes(x.event[:])
	}
}
