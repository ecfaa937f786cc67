package projector

import (
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

const (
	minuteMillis  int64 = 60_000
	minutesPerDay int64 = 1440
)

// historyKey names a minute row: what a key used on a connection in a minute.
// Key 0 is the total over all keys of the connection, which has rows of its own:
// a chart of a pool would else read those of every key.
type historyKey struct {
	minute int64 // floor(epoch ms / minute)
	conn   ref
	key    ref
}

// historyRow is a minute row, or what has been added to it since the last cut.
type historyRow struct {
	historyKey
	used
}

// used is what was consumed, and what adjustments changed. The two are kept apart
// because adjustments take no part in burn rates.
type used struct{ consumed, adjusted quota.Amounts }

// add adds up, held at the ends of int64.
func (x *used) add(y *used) {
	for u := range x.consumed {
		x.consumed[u] = quota.AddSat(x.consumed[u], y.consumed[u])
		x.adjusted[u] = quota.AddSat(x.adjusted[u], y.adjusted[u])
	}
}

// minutes are the additions to minute rows that the store may not have yet; the
// rows themselves are in the store alone, which sums. Readers see them, under the
// lock of the state.
type minutes struct {
	// fresh are the additions since the last cut, flying those of a cut whose
	// commit is under way. The two take turns, so that neither has to grow again.
	fresh, flying []historyRow
	cutAt         uint64 // sequence that flying belongs to
	// lent is set by a reader that goes on reading flying without the lock: it
	// is not used again then.
	lent atomic.Bool
}

// cut makes the fresh additions the flying ones.
func (m *minutes) cut(seq uint64) {
	m.fresh, m.flying = m.flying[:0], m.fresh
	m.cutAt = seq
}

func (m *minutes) committed() {
	if m.lent.Swap(false) {
		m.flying = nil
	}
	m.flying = m.flying[:0]
}

// addHistory adds the amounts to the minute row of the pair at that place.
//
// A pair mostly adds to the row it added to last, so it remembers the place. The
// row there tells whether it still is that one, as rows go with every cut.
func (s *State) addHistory(place uint32, minute int64, kind events.Kind, cost *quota.Amounts) {
	p := s.counters.pairs.at(place)
	k := historyKey{minute: minute, conn: p.conn, key: p.key}
	if rows := s.minutes.fresh; p.row >= uint32(len(rows)) || rows[p.row].historyKey != k {
		p.row = s.historyPlace(k)
	}
	row := &s.minutes.fresh[p.row]
	sums := &row.consumed
	if kind == events.Adjustment {
		sums = &row.adjusted
	}
	for u := range sums {
		sums[u] = quota.AddSat(sums[u], cost[u])
	}
}

// historyPlace returns the place of the fresh row and makes it when needed.
func (s *State) historyPlace(k historyKey) uint32 {
	i, ok := s.historyAt[k]
	if !ok {
		i = uint32(len(s.minutes.fresh))
		s.historyAt[k] = i
		s.minutes.fresh = append(s.minutes.fresh, historyRow{historyKey: k})
	}
	return i
}

// DropHistory has the next cut delete the minute rows of the days that end before
// an instant, epoch ms. What comes late for such a day makes rows again, until the
// next time. The caller must be the one that folds.
func (s *State) DropHistory(before int64) {
	s.rowsFrom = max(0, before/dayMillis)
}

func (s *State) cutHistory(b Batch) (err error) {
	s.mu.Lock()
	s.minutes.cut(s.pos.Seq)
	s.mu.Unlock()
	clear(s.historyAt)
	if s.rowsFrom > 0 {
		err = b.DeleteRange(appendHistoryDay(nil, 0), appendHistoryDay(nil, s.rowsFrom))
		s.rowsFrom = 0
	}
	for i := range s.minutes.flying {
		row := &s.minutes.flying[i]
		s.keyBuf = appendHistoryKey(s.keyBuf[:0], row.historyKey)
		s.valBuf = appendHistory(s.valBuf[:0], &row.used)
		err = errors.Join(err, b.Merge(s.keyBuf, s.valBuf))
	}
	return err
}

// appendHistoryKey puts the day first, so that old days can be deleted as one
// range, and the minute last, so that a chart reads one stretch a day.
func appendHistoryKey(dst []byte, k historyKey) []byte {
	dst = appendHistoryRun(dst, k.minute/minutesPerDay, k.conn, k.key)
	return binary.BigEndian.AppendUint16(dst, uint16(k.minute%minutesPerDay))
}

// appendHistoryRun begins the keys of one day, connection and key.
func appendHistoryRun(dst []byte, day int64, conn, key ref) []byte {
	dst = binary.BigEndian.AppendUint32(appendHistoryDay(dst, day), uint32(conn))
	return binary.BigEndian.AppendUint32(dst, uint32(key))
}

// appendHistoryDay begins the keys of one day.
func appendHistoryDay(dst []byte, day int64) []byte {
	return binary.BigEndian.AppendUint32(append(dst, tagHistory), uint32(day))
}

func decodeHistoryKey(key []byte) (k historyKey, err error) {
	if len(key) != 1+4+4+4+2 {
		return k, corrupt("history key", key)
	}
	day, minute := binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint16(key[13:])
	k.minute = int64(day)*minutesPerDay + int64(minute)
	k.conn, k.key = ref(binary.BigEndian.Uint32(key[5:])), ref(binary.BigEndian.Uint32(key[9:]))
	return k, nil
}

// appendHistory writes what was consumed, and what adjustments changed when they
// did: most rows have none.
func appendHistory(dst []byte, x *used) []byte {
	dst = appendAmounts(dst, &x.consumed)
	if x.adjusted != (quota.Amounts{}) {
		dst = appendAmounts(dst, &x.adjusted)
	}
	return dst
}

func appendAmounts(dst []byte, a *quota.Amounts) []byte {
	for _, v := range a {
		dst = binary.AppendVarint(dst, int64(v))
	}
	return dst
}

func decodeHistory(v []byte) (x used, err error) {
	d := decoder{b: v}
	x.consumed = d.amounts()
	if len(d.b) > 0 {
		x.adjusted = d.amounts()
	}
	if !d.done() {
		return x, corrupt("history row", v)
	}
	return x, nil
}

func (d *decoder) amounts() (a quota.Amounts) {
	for u := range a {
		a[u] = quota.Amount(d.int())
	}
	return a
}
