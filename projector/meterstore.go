package projector

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
)

// cutMeters writes the meters that changed, and of their rows those that did.
// The rows of cycles that are over go as one range, however many keys had one.
// Those that are gone are deleted.
func (s *State) cutMeters(b Batch) (err error) {
	for _, m := range s.meters.dirty {
		if m.gone {
			err = errors.Join(
				err, b.Delete(appendMeterKey(nil, tagMeter, m)),
				b.DeleteRange(appendMeterCycle(nil, m, 0), appendMeterCycle(nil, m, math.MaxUint64)),
			)
			continue
		}
		if from, to := m.Dropped(); from < to {
			err = errors.Join(err, b.DeleteRange(appendMeterCycle(nil, m, from), appendMeterCycle(nil, m, to)))
		}
		m.ChangedRows(func(cycle uint64, key uint32, u saturation.Usage) {
			s.keyBuf = appendMeterRow(s.keyBuf[:0], m, cycle, ref(key))
			s.valBuf = u.Append(s.valBuf[:0])
			err = errors.Join(err, b.Set(s.keyBuf, s.valBuf))
		})
		s.keyBuf = appendMeterKey(s.keyBuf[:0], tagMeter, m)
		s.valBuf = m.Head.Append(s.valBuf[:0])
		err = errors.Join(err, b.Set(s.keyBuf, s.valBuf))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.meters.dirty {
		m.Saved()
	}
	clear(s.meters.dirty)
	s.meters.dirty = s.meters.dirty[:0]
	return err
}

func appendMeterKey(dst []byte, tag byte, m *meter) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, tag), uint32(m.conn))
	return binary.BigEndian.AppendUint32(append(dst, byte(m.window)), uint32(m.scope))
}

// appendMeterCycle begins the keys of a cycle's rows. The cycle stands before
// the key so that it can be deleted as one range.
func appendMeterCycle(dst []byte, m *meter, cycle uint64) []byte {
	return binary.BigEndian.AppendUint64(appendMeterKey(dst, tagMeterRow, m), cycle)
}

func appendMeterRow(dst []byte, m *meter, cycle uint64, key ref) []byte {
	return binary.BigEndian.AppendUint32(appendMeterCycle(dst, m, cycle), uint32(key))
}

// meterKeyLen is the length of a meter's key, with which those of its rows begin.
const meterKeyLen = 1 + 4 + 1 + 4

// meterAt returns the meter that the front of a key names, where it is or
// belongs, and whether it is there; nil when nothing can have that name.
func (s *State) meterAt(key []byte) (m *meter, at int, found bool) {
	conn, w := ref(binary.BigEndian.Uint32(key[1:])), quota.Window(key[5])
	scope := ref(binary.BigEndian.Uint32(key[6:]))
	if conn == 0 || conn > s.conns.len() || w > quota.Rate || scope > s.names.len() {
		return nil, 0, false
	}
	m = s.newMeter(conn, w, scope)
	if at, found = s.findMeter(conn, w, m.id); found {
		m = s.metersOf(conn)[at]
	}
	return m, at, found
}

// loadMeter puts a meter back; its rows follow.
func (s *State) loadMeter(key, value []byte) error {
	if len(key) != meterKeyLen {
		return corrupt("meter key", key)
	}
	head, err := saturation.DecodeHead(value)
	m, at, found := s.meterAt(key)
	if err != nil || head.Number == 0 || m == nil || found {
		return corrupt("meter", key)
	}
	m.Meter = saturation.Restore(m.window, head)
	s.putMeter(at, m)
	return nil
}

// loadMeterRow gives a meter back what a key used in one of its cycles.
func (s *State) loadMeterRow(key, value []byte) error {
	if len(key) != meterKeyLen+8+4 {
		return corrupt("meter row key", key)
	}
	u, err := saturation.DecodeUsage(value)
	m, _, found := s.meterAt(key)
	of := ref(binary.BigEndian.Uint32(key[meterKeyLen+8:]))
	if err != nil || !found || m.scope != 0 || of == 0 || of > s.names.len() {
		return corrupt("meter row", key)
	}
	if m.PutRow(binary.BigEndian.Uint64(key[meterKeyLen:]), uint32(of), u) != nil {
		return corrupt("meter row", key)
	}
	return nil
}

// digestMeters writes every meter in the order of connection, window and scope,
// and of each the rows of the open cycle and then of the next, in the order of
// keys. Which number a cycle has is the store's: it is left out.
func (s *State) digestMeters(w *digester) {
	lists := slices.DeleteFunc(slices.Clone(s.meters.byConn), func(list []*meter) bool { return len(list) == 0 })
	slices.SortFunc(lists, func(a, b []*meter) int { return s.conns.compare(a[0].conn, b[0].conn) })
	for _, list := range lists {
		for _, m := range list {
			w.bytes(s.conns.raw(m.conn))
			w.uint(uint64(m.window))
			w.bytes([]byte(m.id))
			head := m.Head
			head.Number = 0
			w.bytes(head.Append(nil))
			s.digestMeterRows(w, m)
		}
	}
	w.bytes(nil) // no connection has the empty id: the end
}

func (s *State) digestMeterRows(w *digester, m *meter) {
	type row struct {
		key []byte
		saturation.Usage
	}
	var open, next []row
	m.Rows(func(cycle uint64, key uint32, u saturation.Usage) {
		if r := (row{s.names.raw(ref(key)), u}); cycle == m.Number {
			open = append(open, r)
		} else {
			next = append(next, r)
		}
	})
	for _, rows := range [...][]row{open, next} {
		slices.SortFunc(rows, func(a, b row) int { return bytes.Compare(a.key, b.key) })
		w.uint(uint64(len(rows)))
		for i := range rows {
			w.bytes(rows[i].key)
			w.bytes(rows[i].Append(nil))
		}
	}
}
