package projector

import (
	"encoding/binary"
	"errors"
	"slices"
)

// idHash names an event, as the first half of a SHA-256 over kind, source and id,
// or a request, see requestOf.
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

// SettledFor is how long, in log time, a request that was settled is remembered: a
// hold of it that arrives later holds nothing. Milliseconds.
const SettledFor int64 = 3_600_000

// dedup remembers ids for a while: those of folded events for Horizon, with their
// content, and those of settled requests for SettledFor, without.
//
// The entries are in the store, under the span of time they came in, a day or an
// hour, so that a span ages by one range deletion. Memory holds a filter for each
// span and the entries that no commit has written yet. The alternative, one map of
// all ids, would be gigabytes for a busy week.
//
// A span's entries lie in buckets by the front of their hash, each one record
// that a cut merges its entries onto. A record for each entry would be found
// faster, but a store pays for records more than for bytes, and almost every id
// is written and, thanks to the filters, never looked up.
type dedup struct {
	store   Reader
	tag     byte
	span    int64 // ms
	horizon int64 // a whole number of spans, so that no id comes twice in one
	width   int   // of an entry in the store
	days    []day // ascending
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

// seenBuckets is the number of buckets of a span. A busy day of ten million ids
// puts 2,400 of them, 88 KB, into each.
const seenBuckets = 1 << 12

func bucketOf(h idHash) uint16 { return binary.BigEndian.Uint16(h[:]) >> 4 }

type day struct {
	number int64 // floor(log time / span)
	filter filter
}

// newDedup returns the memory of folded events.
func newDedup(store Reader) *dedup {
	d := newMemory(store, tagSeen, dayMillis, Horizon)
	d.width += len(contentHash{})
	return d
}

// newSettled returns the memory of settled requests.
func newSettled(store Reader) *dedup { return newMemory(store, tagSettled, SettledFor, SettledFor) }

func newMemory(store Reader, tag byte, span, horizon int64) *dedup {
	return &dedup{
		store: store, tag: tag, span: span, horizon: horizon, width: len(idHash{}) + 4,
		fresh: make(map[idHash]seen), flying: make(map[idHash]seen),
	}
}

// find returns the entry of the id if one is younger than the horizon at logTime.
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
			return e, ok && d.live(e, logTime), err
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

func (d *dedup) live(e seen, logTime int64) bool { return logTime-e.time < d.horizon }

// load reads the entry of that span from the store.
func (d *dedup) load(number int64, h idHash) (e seen, ok bool, err error) {
	d.keyBuf = d.appendKey(d.keyBuf[:0], number, bucketOf(h))
	d.valBuf, ok, err = d.store.Get(d.keyBuf, d.valBuf[:0])
	if err != nil || !ok {
		return e, false, err
	}
	if len(d.valBuf)%d.width != 0 {
		return e, false, corrupt("bucket of ids", d.keyBuf)
	}
	for v := d.valBuf; len(v) > 0; v = v[d.width:] {
		if idHash(v[:len(h)]) == h {
			return d.decode(number, v), true, nil
		}
	}
	return e, false, nil
}

// add remembers the id.
func (d *dedup) add(h idHash, content contentHash, logTime int64) {
	d.fresh[h] = seen{time: logTime, content: content}
	d.dayOf(logTime / d.span).add(h)
}

// dayOf returns the filter of that span. Log time never falls back, so a new
// span is always the last.
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
		if n := e.time / d.span; !slices.Contains(days, n) {
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

// cutBucket writes the entries of one span and bucket.
func (d *dedup) cutBucket(b Batch, number int64, bucket uint16) error {
	d.valBuf = d.valBuf[:0]
	for i := d.head[bucket]; i != 0; i = d.list[i-1].next {
		if e := &d.list[i-1]; e.time/d.span == number {
			d.valBuf = d.append(d.valBuf, e.id, e.seen)
		}
	}
	if len(d.valBuf) == 0 {
		return nil
	}
	d.keyBuf = d.appendKey(d.keyBuf[:0], number, bucket)
	return b.Merge(d.keyBuf, d.valBuf)
}

// committed forgets the entries that the store has now.
func (d *dedup) committed() { clear(d.flying) }

// age drops the spans of which every entry is past the horizon: the last instant
// of span n is (n+1)·span − 1, and an entry dies the horizon after its time.
func (d *dedup) age(b Batch, logTime int64) error {
	n := 0
	for n < len(d.days) && (d.days[n].number+1)*d.span-1+d.horizon <= logTime {
		n++
	}
	if n == 0 {
		return nil
	}
	end := d.days[n-1].number + 1
	d.days = append([]day(nil), d.days[n:]...)
	return b.DeleteRange(d.appendSpan(nil, 0), d.appendSpan(nil, end))
}

// restore puts a bucket of the store, which was written by logTime, into its span's
// filter. Buckets come in key order, so spans ascend.
func (d *dedup) restore(key, value []byte, logTime int64) error {
	number, err := d.decodeKey(key, value)
	if err != nil {
		return err
	}
	if number > logTime/d.span {
		return corrupt("span of ids", key) // it would never age, nor would those behind it
	}
	f := d.dayOf(number)
	for v := value; len(v) > 0; v = v[d.width:] {
		f.add(idHash(v[:len(idHash{})]))
	}
	return nil
}

func (d *dedup) appendSpan(dst []byte, number int64) []byte {
	return binary.BigEndian.AppendUint32(append(dst, d.tag), uint32(number))
}

func (d *dedup) appendKey(dst []byte, number int64, bucket uint16) []byte {
	return binary.BigEndian.AppendUint16(d.appendSpan(dst, number), bucket)
}

// decodeKey returns the span of a bucket and checks that its value is whole
// entries.
func (d *dedup) decodeKey(key, value []byte) (number int64, err error) {
	if len(key) != 1+4+2 || len(value)%d.width != 0 {
		return 0, corrupt("bucket of ids", key)
	}
	return int64(binary.BigEndian.Uint32(key[1:])), nil
}

// append encodes an entry: id, milliseconds of the span, and the content where
// that is kept.
func (d *dedup) append(dst []byte, h idHash, e seen) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, h[:]...), uint32(e.time%d.span))
	return append(dst, e.content[:d.width-len(h)-4]...)
}

// decode reads an entry of that span from the front of v.
func (d *dedup) decode(number int64, v []byte) (e seen) {
	v = v[len(idHash{}):d.width]
	e.time = number*d.span + int64(binary.BigEndian.Uint32(v))
	copy(e.content[:], v[4:])
	return e
}
