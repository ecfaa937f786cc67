package wire

import (
	"strconv"

	"github.com/quotashare/quotashare/quota"
)

// Writer appends one document in either encoding, so that what a message holds
// is written down once. It allocates nothing but the growth of its buffer. The
// zero Writer writes JSON into a new buffer. Nothing checks that objects and
// arrays are ended, or that a Name precedes each field's value.
type Writer struct {
	enc   Encoding
	buf   []byte
	depth int
	open  [maxOpen]frame
}

// maxOpen is how deep a document of ours may be nested.
const maxOpen = 16

// frame is an object or array that is not ended.
type frame struct {
	at    int // of its header
	count int // of fields or items so far
	array bool
}

// NewWriter returns a writer that appends to dst.
func NewWriter(dst []byte, enc Encoding) Writer { return Writer{enc: enc, buf: dst} }

// Bytes returns dst and all that was appended to it.
func (w *Writer) Bytes() []byte { return w.buf }

// Object begins an object; End ends it.
func (w *Writer) Object() { w.begin(false, '{', 0x80) }

// Array begins an array; End ends it.
func (w *Writer) Array() { w.begin(true, '[', 0x90) }

func (w *Writer) begin(array bool, open, header byte) {
	w.item()
	w.open[w.depth] = frame{at: len(w.buf), array: array}
	w.depth++
	if w.enc == Msgpack {
		open = header
	}
	w.buf = append(w.buf, open)
}

// item counts a value of an array and parts it from the one before.
func (w *Writer) item() {
	if w.depth == 0 {
		return
	}
	if f := &w.open[w.depth-1]; f.array {
		w.next(f)
	}
}

func (w *Writer) next(f *frame) {
	if f.count > 0 && w.enc == JSON {
		w.buf = append(w.buf, ',')
	}
	f.count++
}

// End ends the object or array begun last.
func (w *Writer) End() {
	w.depth--
	f := w.open[w.depth]
	switch {
	case w.enc == Msgpack:
		w.setHeader(f)
	case f.array:
		w.buf = append(w.buf, ']')
	default:
		w.buf = append(w.buf, '}')
	}
}

// setHeader puts the count into the msgpack header. One byte was left for it;
// the rare long ones move what follows.
func (w *Writer) setHeader(f frame) {
	if f.count < 16 {
		w.buf[f.at] |= byte(f.count)
		return
	}
	var long [5]byte
	header := AppendMapHeader(long[:0], f.count)
	if f.array {
		header = AppendArrayHeader(long[:0], f.count)
	}
	w.buf = append(w.buf, header[1:]...)
	copy(w.buf[f.at+len(header):], w.buf[f.at+1:])
	copy(w.buf[f.at:], header)
}

// Name begins a field of the object; its value follows.
func (w *Writer) Name(name string) {
	w.next(&w.open[w.depth-1])
	w.string(name)
	if w.enc == JSON {
		w.buf = append(w.buf, ':')
	}
}

func (w *Writer) string(s string) {
	if w.enc == Msgpack {
		w.buf = AppendStr(w.buf, s)
		return
	}
	w.buf = AppendJSONString(w.buf, s)
}

// String appends a string.
func (w *Writer) String(s string) {
	w.item()
	w.string(s)
}

// Int appends an integer.
func (w *Writer) Int(n int64) {
	w.item()
	if w.enc == Msgpack {
		w.buf = AppendInt(w.buf, n)
		return
	}
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

// Uint appends an unsigned integer.
func (w *Writer) Uint(n uint64) {
	w.item()
	if w.enc == Msgpack {
		w.buf = AppendUint(w.buf, n)
		return
	}
	w.buf = strconv.AppendUint(w.buf, n, 10)
}

// Bool appends a boolean.
func (w *Writer) Bool(b bool) {
	w.item()
	if w.enc == Msgpack {
		w.buf = AppendBool(w.buf, b)
		return
	}
	w.buf = strconv.AppendBool(w.buf, b)
}

// Null appends null.
func (w *Writer) Null() {
	w.item()
	if w.enc == Msgpack {
		w.buf = AppendNil(w.buf)
		return
	}
	w.buf = append(w.buf, "null"...)
}

// Fixed appends v × 10^-digits: in JSON its exact decimal digits, in msgpack an
// integer when whole, else those digits as a string.
func (w *Writer) Fixed(v int64, digits int) {
	w.item()
	if w.enc == Msgpack {
		w.buf = AppendFixedStr(w.buf, v, digits)
		return
	}
	w.buf = quota.AppendFixed(w.buf, v, digits)
}

// Amount appends an amount of unit u.
func (w *Writer) Amount(a quota.Amount, u quota.Unit) { w.Fixed(int64(a), u.Digits()) }

// Ratio appends a ratio.
func (w *Writer) Ratio(r quota.Ratio) { w.Fixed(int64(r), quota.RatioDigits) }

// Instant appends a time in epoch milliseconds as a string, RFC 3339 UTC with
// milliseconds.
func (w *Writer) Instant(ms int64) {
	w.item()
	if w.enc == Msgpack {
		w.buf = append(w.buf, 0xa0|24)
		w.buf = quota.AppendInstant(w.buf, ms)
		return
	}
	w.buf = AppendJSONInstant(w.buf, ms)
}

// Value appends a parsed value, however deep; see AppendValue.
func (w *Writer) Value(v Value) {
	w.item()
	w.buf = AppendValue(w.buf, w.enc, v)
}
