package projector

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// idHash names an event: the first half of a SHA-256 over kind, source and id.
type idHash [16]byte

// front is the number that the first bytes of the hash are, which sorts like
// them.
func (h idHash) front() uint64 { return binary.BigEndian.Uint64(h[:8]) }

// contentHash is the first half of the SHA-256 over an event's content.
type contentHash [16]byte

// Horizon is how long, in log time, an id is remembered: a duplicate that
// arrives later counts again. Milliseconds.
const Horizon int64 = 7 * dayMillis

const dayMillis int64 = 86_400_000

// seen is one remembered id: when it was folded (log time) and its content.
type seen struct {
	time    int64
	content contentHash
}

// dedup remembers the ids of folded events for Horizon.
//
// The entries are in the store, under the day they were folded, so that a day
// ages by one range deletion. Memory holds a filter for each day and the
// entries that no commit has written yet. The alternative, one map of all ids,
// would be gigabytes for a busy week.
type dedup struct {
	store Reader
	days  []day // ascending
	// fresh are the entries since the last cut, flying those being committed.
	// The two maps take turns, so that neither has to grow again.
	fresh, flying map[idHash]seen
	sorted        []remembered // scratch of cut
	keyBuf        []byte
	valBuf        []byte
}

// remembered is one entry with its id.
type remembered struct {
	id idHash
	seen
}

type day struct {
	number int64 // floor(log time / day)
	filter filter
}

func newDedup(store Reader) *dedup {
	return &dedup{store: store, fresh: make(map[idHash]seen), flying: make(map[idHash]seen)}
}

// find returns the entry of the id if one is younger than Horizon at logTime.
// The newest comes first: an id may be taken again after the horizon while its
// older entry still lies in the store.
//
// The filters come before everything else, because they know the entries in
// memory too: a new id is looked up in no map.
func (d *dedup) find(h idHash, logTime int64) (seen, bool, error) {
	m := mask(h)
	for i := len(d.days) - 1; i >= 0; i-- {
		if !d.days[i].filter.perhaps(h, &m) {
			continue
		}
		e, ok, err := d.entry(d.days[i].number, h)
		if err != nil || ok {
			return e, ok && live(e, logTime), err
		}
	}
	return seen{}, false, nil
}

// entry returns the entry of the id in memory, of whatever day, else that of
// the day in the store.
func (d *dedup) entry(number int64, h idHash) (seen, bool, error) {
	if e, ok := d.fresh[h]; ok {
		return e, true, nil
	}
	if e, ok := d.flying[h]; ok {
		return e, true, nil
	}
	return d.load(number, h)
}

func live(e seen, logTime int64) bool { return logTime-e.time < Horizon }

// load reads the entry of that day from the store.
func (d *dedup) load(number int64, h idHash) (e seen, ok bool, err error) {
	d.keyBuf = appendSeenKey(d.keyBuf[:0], number, h)
	d.valBuf, ok, err = d.store.Get(d.keyBuf, d.valBuf[:0])
	if err != nil || !ok {
		return e, false, err
	}
	e, err = decodeSeen(d.valBuf)
	return e, err == nil, err
}

// add remembers the id.
func (d *dedup) add(h idHash, content contentHash, logTime int64) {
	d.fresh[h] = seen{time: logTime, content: content}
	d.dayOf(logTime / dayMillis).add(h)
}

// dayOf returns the filter of that day. Log time never falls back, so a new
// day is always the last.
func (d *dedup) dayOf(number int64) *filter {
	if n := len(d.days); n == 0 || d.days[n-1].number != number {
		d.days = append(d.days, day{number: number})
	}
	return &d.days[len(d.days)-1].filter
}

// cut writes the fresh entries into the batch and keeps them findable until
// the commit is done. They go in the order of their keys: a store that sorts,
// as Pebble does, then finds the place of each beside the one before it, which
// halves the cost of a commit. Half of the hash is order enough for that.
func (d *dedup) cut(b Batch) (err error) {
	d.fresh, d.flying = d.flying, d.fresh
	d.sorted = d.sorted[:0]
	for h, e := range d.flying {
		d.sorted = append(d.sorted, remembered{h, e})
	}
	slices.SortFunc(d.sorted, func(x, y remembered) int { return cmp.Compare(x.id.front(), y.id.front()) })
	for i := range d.sorted {
		e := &d.sorted[i]
		d.keyBuf = appendSeenKey(d.keyBuf[:0], e.time/dayMillis, e.id)
		d.valBuf = appendSeen(d.valBuf[:0], e.seen)
		err = errors.Join(err, b.Set(d.keyBuf, d.valBuf))
	}
	return err
}

// committed forgets the entries that the store has now.
func (d *dedup) committed() { clear(d.flying) }

// age drops the days of which every entry is past the horizon: the last
// instant of day n is (n+1)·day − 1, and an entry dies Horizon after its time.
func (d *dedup) age(b Batch, logTime int64) error {
	n := 0
	for n < len(d.days) && (d.days[n].number+1)*dayMillis-1+Horizon <= logTime {
		n++
	}
	if n == 0 {
		return nil
	}
	end := d.days[n-1].number + 1
	d.days = append([]day(nil), d.days[n:]...)
	return b.DeleteRange(appendSeenDay(nil, 0), appendSeenDay(nil, end))
}

// restore puts an entry of the store into its day's filter. Entries come in
// key order, so days ascend.
func (d *dedup) restore(key []byte) error {
	number, h, err := decodeSeenKey(key)
	if err == nil {
		d.dayOf(number).add(h)
	}
	return err
}

func appendSeenDay(dst []byte, number int64) []byte {
	return binary.BigEndian.AppendUint32(append(dst, tagSeen), uint32(number))
}

func appendSeenKey(dst []byte, number int64, h idHash) []byte {
	return append(appendSeenDay(dst, number), h[:]...)
}

func decodeSeenKey(key []byte) (number int64, h idHash, err error) {
	if len(key) != 1+4+len(h) {
		return 0, h, corrupt("de-dup key", key)
	}
	copy(h[:], key[5:])
	return int64(binary.BigEndian.Uint32(key[1:])), h, nil
}

func appendSeen(dst []byte, e seen) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(e.time)), e.content[:]...)
}

func decodeSeen(v []byte) (e seen, err error) {
	if len(v) != 8+len(e.content) {
		return e, corrupt("de-dup entry", v)
	}
	e.time = int64(binary.BigEndian.Uint64(v))
	copy(e.content[:], v[8:])
	return e, nil
}
