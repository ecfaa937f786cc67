package projector

import (
	"encoding/binary"
	"errors"
	"slices"
)

// idHash names an event: the first half of a SHA-256 over kind, source and id.
type idHash [16]byte

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
//
// A day's entries lie in buckets by the front of their hash, each one record
// that a cut merges its entries onto. A record for each entry would be found
// faster, but a store pays for records more than for bytes, and almost every id
// is written and, thanks to the filters, never looked up.
type dedup struct {
	store Reader
	days  []day // ascending
	// fresh are the entries since the last cut, flying those being committed.
	// The two maps take turns, so that neither has to grow again.
	fresh, flying map[idHash]seen
	keyBuf        []byte
	valBuf        []byte

	// Scratch of cut: the entries, chained by bucket. A place is counted from 1.
	list []remembered
	head [seenBuckets]uint32
}

// remembered is one entry with its id and the place of the next in its bucket.
type remembered struct {
	id idHash
	seen
	next uint32
}

// seenBuckets is the number of buckets of a day. A busy day of ten million ids
// puts 2,400 of them, 88 KB, into each.
const seenBuckets = 1 << 12

func bucketOf(h idHash) uint16 { return binary.BigEndian.Uint16(h[:]) >> 4 }

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
	d.keyBuf = appendSeenKey(d.keyBuf[:0], number, bucketOf(h))
	d.valBuf, ok, err = d.store.Get(d.keyBuf, d.valBuf[:0])
	if err != nil || !ok {
		return e, false, err
	}
	if len(d.valBuf)%seenLen != 0 {
		return e, false, corrupt("de-dup bucket", d.keyBuf)
	}
	for v := d.valBuf; len(v) > 0; v = v[seenLen:] {
		if idHash(v[:len(h)]) == h {
			return decodeSeen(number, v), true, nil
		}
	}
	return e, false, nil
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
// the commit is done. Buckets go in the order of their keys: a store that sorts,
// as Pebble does, then finds the place of each beside the one before it.
func (d *dedup) cut(b Batch) (err error) {
	d.fresh, d.flying = d.flying, d.fresh
	d.list = d.list[:0]
	clear(d.head[:])
	var days []int64
	for h, e := range d.flying {
		at := &d.head[bucketOf(h)]
		d.list = append(d.list, remembered{h, e, *at})
		*at = uint32(len(d.list))
		if n := e.time / dayMillis; !slices.Contains(days, n) {
			days = append(days, n)
		}
	}
	for _, number := range days {
		for bucket := range d.head {
			err = errors.Join(err, d.cutBucket(b, number, uint16(bucket)))
		}
	}
	return err
}

// cutBucket writes the entries of one day and bucket.
func (d *dedup) cutBucket(b Batch, number int64, bucket uint16) error {
	d.valBuf = d.valBuf[:0]
	for i := d.head[bucket]; i != 0; i = d.list[i-1].next {
		if e := &d.list[i-1]; e.time/dayMillis == number {
			d.valBuf = appendSeen(d.valBuf, e.id, e.seen)
		}
	}
	if len(d.valBuf) == 0 {
		return nil
	}
	d.keyBuf = appendSeenKey(d.keyBuf[:0], number, bucket)
	return b.Merge(d.keyBuf, d.valBuf)
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

// restore puts a bucket of the store into its day's filter. Buckets come in key
// order, so days ascend.
func (d *dedup) restore(key, value []byte) error {
	number, err := decodeSeenKey(key, value)
	if err != nil {
		return err
	}
	f := d.dayOf(number)
	for v := value; len(v) > 0; v = v[seenLen:] {
		f.add(idHash(v[:len(idHash{})]))
	}
	return nil
}

func appendSeenDay(dst []byte, number int64) []byte {
	return binary.BigEndian.AppendUint32(append(dst, tagSeen), uint32(number))
}

func appendSeenKey(dst []byte, number int64, bucket uint16) []byte {
	return binary.BigEndian.AppendUint16(appendSeenDay(dst, number), bucket)
}

// decodeSeenKey returns the day of a bucket and checks that its value is whole
// entries.
func decodeSeenKey(key, value []byte) (number int64, err error) {
	if len(key) != 1+4+2 || len(value)%seenLen != 0 {
		return 0, corrupt("de-dup bucket", key)
	}
	return int64(binary.BigEndian.Uint32(key[1:])), nil
}

// seenLen is the length of an entry: id, milliseconds of the day, content.
const seenLen = len(idHash{}) + 4 + len(contentHash{})

func appendSeen(dst []byte, h idHash, e seen) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, h[:]...), uint32(e.time%dayMillis))
	return append(dst, e.content[:]...)
}

// decodeSeen reads an entry of that day from the front of v.
func decodeSeen(number int64, v []byte) (e seen) {
	v = v[len(idHash{}):]
	e.time = number*dayMillis + int64(binary.BigEndian.Uint32(v))
	copy(e.content[:], v[4:])
	return e
}
