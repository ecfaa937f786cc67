package projector

import (
	"encoding/binary"
	"math"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// The first byte of a key says what the record is. Numbers in keys are big
// endian, so byte order is number order; values are varints. Drawn in
// docs/format/state.md, which also names the tags that are kept free for what
// is not folded yet.
const (
	tagPosition   = 'p' // one record: version, position, log time, counts
	tagCommits    = 'k' // two records: commits counted (merged), and how many there were
	tagID         = 'i' // table, ref → id
	tagConnection = 'n' // connection → provider
	tagSeries     = 'c' // connection, key, unit → five counters
	tagModel      = 'm' // connection, key, model, unit → hourly counter
	tagIdle       = 'g' // one record: until when something weighed that was collected
	tagMeter      = 'M' // connection, window, scope → head
	tagMeterRow   = 'K' // connection, window, scope, cycle, key → usage
	tagSeen       = 'd' // day, bucket → id hash, time, content hash, … (merged)
	tagHold       = 'H' // hold id → key, connection, model, amounts, end, lease
	tagSettled    = 'S' // hour, bucket → hold id, time, … (merged)
	tagWaiting    = 'W' // hold id → pool, place, key, model, amounts, times, candidates
	tagLane       = 'R' // pool id → routing credits, order of the backlog
	tagHistory    = 'h' // day, connection, key, minute → amounts (merged)
	tagPool       = 'o' // pool id → document
	tagPlan       = 'l' // connection id → document
	tagSettings   = 's' // one record: document
	tagRejected   = 'r' // sequence, index → rejection not published yet
)

// table says which interner an id record belongs to.
type table byte

const (
	connTable table = iota
	nameTable
)

func appendIDKey(dst []byte, t table, r ref) []byte {
	return binary.BigEndian.AppendUint32(append(dst, tagID, byte(t)), uint32(r))
}

func appendConnectionKey(dst []byte, conn ref) []byte {
	return binary.BigEndian.AppendUint32(append(dst, tagConnection), uint32(conn))
}

func appendSeriesKey(dst []byte, k pairKey, u quota.Unit) []byte {
	tag := byte(tagSeries)
	if k.model != 0 {
		tag = tagModel
	}
	dst = binary.BigEndian.AppendUint32(append(dst, tag), uint32(k.conn))
	dst = binary.BigEndian.AppendUint32(dst, uint32(k.key))
	if k.model != 0 {
		dst = binary.BigEndian.AppendUint32(dst, uint32(k.model))
	}
	return append(dst, byte(u))
}

func decodeSeriesKey(key []byte) (k pairKey, u quota.Unit, err error) {
	want := 1 + 4 + 4 + 1
	if key[0] == tagModel {
		want += 4
	}
	if len(key) != want || !quota.Unit(key[want-1]).Valid() {
		return k, 0, corrupt("counter key", key)
	}
	k.conn = ref(binary.BigEndian.Uint32(key[1:]))
	k.key = ref(binary.BigEndian.Uint32(key[5:]))
	if key[0] == tagModel {
		k.model = ref(binary.BigEndian.Uint32(key[9:]))
	}
	return k, quota.Unit(key[want-1]), nil
}

func appendCounter(dst []byte, c windows.Counter) []byte {
	dst = binary.AppendVarint(dst, c.Index)
	dst = binary.AppendVarint(dst, int64(c.Curr))
	return binary.AppendVarint(dst, int64(c.Prev))
}

func appendRejectedKey(dst []byte, seq uint64, index int) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, tagRejected), seq)
	return binary.BigEndian.AppendUint32(dst, uint32(index))
}

// decoder reads varints off the front of a record; after a fault it stays
// failed, so that callers check once.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	return take(d, v, n)
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	return take(d, v, n)
}

// ref reads a ref; what is no ref is one that there cannot be.
func (d *decoder) ref() ref { return ref(min(d.uint(), math.MaxUint32)) }

func take[T int64 | uint64](d *decoder, v T, n int) T {
	if n <= 0 || d.bad {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes(n int) []byte {
	if d.bad || n < 0 || len(d.b) < n {
		d.bad = true
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes(int(min(d.uint(), 1<<20)))) }

func (d *decoder) counter() windows.Counter {
	return windows.Counter{Index: d.int(), Curr: quota.Amount(d.int()), Prev: quota.Amount(d.int())}
}

// done reports whether the record was read whole and well.
func (d *decoder) done() bool { return !d.bad && len(d.b) == 0 }

// MergeOnto merges newer onto a key's value, in its memory where that has room,
// and returns the value: of minute rows the sums, held at the ends of int64; of
// de-dup buckets the entries of both, of commits how many. Stores merge with it, in any
// grouping.
func MergeOnto(key, value, newer []byte) ([]byte, error) {
	if len(key) > 0 && (key[0] == tagSeen || key[0] == tagSettled) {
		return append(value, newer...), nil
	}
	if len(key) > 0 && key[0] == tagCommits {
		return mergeCommits(key, value, newer)
	}
	x, err := decodeHistory(value)
	if err != nil {
		return nil, err
	}
	y, err := decodeHistory(newer)
	if err != nil {
		return nil, err
	}
	x.add(&y)
	return appendHistory(value[:0], &x), nil
}
