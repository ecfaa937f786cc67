package projector

import (
	"context"
	"errors"
	"maps"
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
	conns   []ref        // in order
	rows    []historyRow // what the snapshot does not have
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

// Minutes calls fn for the minute rows in [from, to) of the keys, with the key's
// place in keys; key "" is all keys together, and no key may be there twice. The
// rows come in no order, and those of one minute of a key, which are of several
// connections or not all in the store yet, are to be added up. An error ends it
// midway: that of fn, of the context, of the store, or ErrClosed after Close.
func (h *History) Minutes(ctx context.Context, keys []string, from, to int64, fn func(key int, m Minute) error) error {
	// No event stands further ahead of the log, and a day must fit its key.
	from, to = max(from, 0), min(to, (h.logTime+MaxAhead)/minuteMillis+1)
	places := h.state.placesOf(keys)
	if len(h.conns) == 0 || len(places) == 0 || from >= to {
		return nil
	}
	s := &sweep{
		wanted: wanted{conns: h.conns, keys: slices.Sorted(maps.Keys(places)), from: from, to: to},
		err:    ctx.Err,
		take: func(k historyKey, x *used) error {
			return fn(places[k.key], Minute{Minute: k.minute, Consumed: x.consumed, Adjusted: x.adjusted})
		},
	}
	for i := range h.rows {
		if x := &h.rows[i]; s.wants(x.historyKey) {
			if err := s.take(x.historyKey, &x.used); err != nil {
				return err
			}
		}
	}
	return s.stored(h.snap)
}

// placesOf returns the places of the keys that were ever named, by ref.
func (s *State) placesOf(keys []string) map[ref]int {
	places := make(map[ref]int, len(keys))
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, id := range keys {
		if r := s.names.find(id); r != 0 || id == "" {
			places[r] = i
		}
	}
	return places
}
