package projector

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// Minute is what was used in one minute, at that minute's times, whenever it
// arrived.
type Minute struct {
	Minute   int64         // floor(epoch ms / 60,000)
	Consumed quota.Amounts // by consumption alone
	Adjusted quota.Amounts // what adjustments changed, signed
}

// History is the minute rows of some connections, together, as of one position.
// It is for one goroutine, keeps the fold waiting for nothing once it is there,
// and must be closed.
type History struct {
	state   *State
	snap    Snapshot
	seq     uint64
	logTime int64
	conns   []ref
	// rows are what the snapshot does not have, by key and minute.
	rows []historyRow
	day  [minutesPerDay]used // scratch: one day of one key
}

// History returns the minute rows of the connections, each counted once, as of
// the last message folded: those of the store, which was loaded or is written by
// this state, and what it does not have yet. It waits for no commit. An error is
// the store's, ErrClosed when that is closed.
func (s *State) History(store Snapshotter, connectionIDs []string) (*History, error) {
	h := &History{state: s}
	flying, cutAt, err := h.begin(store, connectionIDs)
	if err != nil {
		return nil, err
	}
	seq, err := storedSeq(h.snap)
	if err != nil {
		return nil, errors.Join(err, h.snap.Close())
	}
	if seq < cutAt { // the commit has not landed: the store writes rows and position at once
		h.pick(flying)
	}
	slices.SortFunc(h.rows, func(a, b historyRow) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.minute, b.minute))
	})
	return h, nil
}

// begin takes the snapshot and the fresh rows. Under the lock no cut is taken, so
// the snapshot is that of the last cut or of the one before, whose rows are flying.
func (h *History) begin(store Snapshotter, connectionIDs []string) (flying []historyRow, cutAt uint64, err error) {
	s := h.state
	s.mu.RLock()
	defer s.mu.RUnlock()
	if h.snap, err = store.Snapshot(); err != nil {
		return nil, 0, err
	}
	h.seq, h.logTime = s.pos.Seq, s.logTime
	for _, id := range connectionIDs {
		if r := s.conns.find(id); r != 0 {
			h.conns = append(h.conns, r)
		}
	}
	slices.Sort(h.conns)
	h.conns = slices.Compact(h.conns)
	h.pick(s.minutes.fresh)
	if len(s.minutes.flying) > 0 {
		s.minutes.lent.Store(true)
	}
	return s.minutes.flying, s.minutes.cutAt, nil
}

// pick takes the rows of the connections. It is in the way of the fold, so it
// looks a row's connection up in a list of flags.
func (h *History) pick(rows []historyRow) {
	if len(h.conns) == 0 {
		return
	}
	wanted := make([]bool, h.conns[len(h.conns)-1]+1)
	for _, c := range h.conns {
		wanted[c] = true
	}
	for i := range rows {
		if c := rows[i].conn; int(c) < len(wanted) && wanted[c] {
			h.rows = append(h.rows, rows[i])
		}
	}
}

// storedSeq returns the sequence that a store's records belong to.
func storedSeq(store Reader) (uint64, error) {
	value, ok, err := store.Get([]byte{tagPosition}, nil)
	if err != nil || !ok {
		return 0, err
	}
	d := decoder{b: value}
	_, seq := d.uint(), d.uint()
	if d.bad {
		return 0, corrupt("position", value)
	}
	return seq, nil
}

// At returns the sequence of the last message that is in the rows, and the log
// time after it.
func (h *History) At() (seq uint64, logTime int64) { return h.seq, h.logTime }

// Close lets the rows go. A second Close does nothing.
func (h *History) Close() error { return h.snap.Close() }

// Minutes calls fn for each minute in [from, to) in which the key, or with key ""
// all keys together, used anything on the connections, in order of time. An
// error, ErrClosed after Close or that of the store, ends it midway.
func (h *History) Minutes(key string, from, to int64, fn func(Minute)) error {
	k := h.state.keyRef(key)
	if k == 0 && key != "" || len(h.conns) == 0 {
		return nil
	}
	// No event stands further ahead of the log, and a day must fit its key.
	from, to = max(from, 0), min(to, (h.logTime+MaxAhead)/minuteMillis+1)
	for from < to {
		day, err := h.nextDay(k, from/minutesPerDay, (to-1)/minutesPerDay)
		if err != nil || day < 0 {
			return err
		}
		first := day * minutesPerDay
		if err := h.sum(k, max(from, first), min(to, first+minutesPerDay)); err != nil {
			return err
		}
		for i := range h.day {
			if h.day[i] != (used{}) {
				fn(Minute{Minute: first + int64(i), Consumed: h.day[i].consumed, Adjusted: h.day[i].adjusted})
			}
		}
		from = first + minutesPerDay
	}
	return nil
}

// keyRef returns the ref of a key, 0 when it was never named.
func (s *State) keyRef(id string) ref {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.names.find(id)
}

// nextDay returns the first day, of those, that may have rows of the key; -1 = no
// day has. Without it a range that begins long ago would read one empty day after
// the other.
func (h *History) nextDay(key ref, day, last int64) (int64, error) {
	next := int64(-1)
	err := h.snap.Scan(appendHistoryDay(nil, day), appendHistoryDay(nil, last+1), func(k, _ []byte) error {
		x, err := decodeHistoryKey(k)
		if err != nil {
			return err
		}
		next = x.minute / minutesPerDay
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		return -1, err
	}
	if i := h.find(key, day*minutesPerDay); i < len(h.rows) && h.rows[i].key == key {
		if own := h.rows[i].minute / minutesPerDay; own <= last && (next < 0 || own < next) {
			next = own
		}
	}
	return next, nil
}

// find returns the place in rows where the key's begin that are not before the
// minute.
func (h *History) find(key ref, minute int64) int {
	i, _ := slices.BinarySearchFunc(h.rows, historyKey{minute: minute, key: key}, func(x historyRow, k historyKey) int {
		return cmp.Or(cmp.Compare(x.key, k.key), cmp.Compare(x.minute, k.minute))
	})
	return i
}

// sum fills day with the sums of the key's rows in [from, to), which is within a
// day.
func (h *History) sum(key ref, from, to int64) error {
	clear(h.day[:])
	for _, c := range h.conns {
		if err := h.sumStored(c, key, from, to); err != nil {
			return err
		}
	}
	for _, x := range h.rows[h.find(key, from):h.find(key, to)] {
		h.day[x.minute%minutesPerDay].add(&x.used)
	}
	return nil
}

func (h *History) sumStored(conn, key ref, from, to int64) error {
	lo := appendHistoryRun(nil, from/minutesPerDay, conn, key)
	hi := binary.BigEndian.AppendUint16(slices.Clone(lo), uint16((to-1)%minutesPerDay)+1)
	lo = binary.BigEndian.AppendUint16(lo, uint16(from%minutesPerDay))
	return h.snap.Scan(lo, hi, func(k, v []byte) error {
		at, err := decodeHistoryKey(k)
		if err != nil {
			return err
		}
		x, err := decodeHistory(v)
		if err != nil {
			return err
		}
		h.day[at.minute%minutesPerDay].add(&x)
		return nil
	})
}
