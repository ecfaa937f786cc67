package questions

import "github.com/quotashare/quotashare/wire"

// First bytes of msgpack values. The "fix" forms keep a small number, a length
// or a count in the low bits of the byte itself.
const (
	mpFixMap   = 0x80 // to 0x8f
	mpFixArray = 0x90 // to 0x9f
	mpFixStr   = 0xa0 // to 0xbf
	mpNil      = 0xc0
	mpFalse    = 0xc2
	mpTrue     = 0xc3
	mpUint8    = 0xcc
	mpUint64   = 0xcf
	mpInt8     = 0xd0
	mpInt16    = 0xd1
	mpInt32    = 0xd2
	mpInt64    = 0xd3
	mpStr8     = 0xd9
	mpStr16    = 0xda
	mpStr32    = 0xdb
	mpArray16  = 0xdc
	mpArray32  = 0xdd
	mpMap16    = 0xde
	mpMap32    = 0xdf
	mpNegative = 0xe0 // to 0xff: -32 to -1
)

// msgpackScanner scans msgpack. It leaves floats, negative integers and long
// texts to the tree.
type msgpackScanner struct {
	doc string
	pos int // of the next byte
}

func (s *msgpackScanner) end() bool { return s.pos == len(s.doc) }

func (s *msgpackScanner) peek() byte {
	if s.pos == len(s.doc) {
		return mpNil
	}
	return s.doc[s.pos]
}

func (s *msgpackScanner) kind() wire.Kind {
	switch c := s.peek(); {
	case c < mpFixMap, c >= mpUint8 && c <= mpInt64:
		return wire.Number
	case c < mpFixArray, c == mpMap16, c == mpMap32:
		return wire.Object
	case c < mpFixStr, c == mpArray16, c == mpArray32:
		return wire.Array
	case c < mpNil, c >= mpStr8 && c <= mpStr32:
		return wire.String
	}
	return wire.Absent
}

// open is called after kind has seen a map or an array.
func (s *msgpackScanner) open() (n int, ok bool) {
	c := s.doc[s.pos]
	s.pos++
	switch c {
	case mpMap16, mpArray16:
		v, ok := s.bigEndian(2)
		return int(v), ok
	case mpMap32, mpArray32:
		v, ok := s.bigEndian(4)
		return int(v), ok
	}
	return int(c & 0x0f), true
}

func (s *msgpackScanner) item(i, n int) (more, ok bool) { return i < n, true }

func (s *msgpackScanner) member(i, n int) (name string, more, ok bool) {
	if i == n {
		return "", false, true
	}
	name, ok = s.text()
	return name, true, ok
}

// bigEndian takes a number of size bytes.
func (s *msgpackScanner) bigEndian(size int) (v uint64, ok bool) {
	if len(s.doc)-s.pos < size {
		return 0, false
	}
	for _, c := range []byte(s.doc[s.pos : s.pos+size]) {
		v = v<<8 | uint64(c)
	}
	s.pos += size
	return v, true
}

func (s *msgpackScanner) text() (string, bool) {
	c := s.peek()
	n, ok := uint64(c&0x1f), true
	switch {
	case c == mpStr8:
		s.pos++
		n, ok = s.bigEndian(1)
	case c == mpStr16:
		s.pos++
		n, ok = s.bigEndian(2)
	case c >= mpFixStr && c < mpNil:
		s.pos++
	default:
		return "", false
	}
	if !ok || uint64(len(s.doc)-s.pos) < n {
		return "", false
	}
	text := s.doc[s.pos : s.pos+int(n)]
	s.pos += int(n)
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return "", false
		}
	}
	return text, true
}

func (s *msgpackScanner) flag() (value, ok bool) {
	c := s.peek()
	s.pos++
	return c == mpTrue, c == mpTrue || c == mpFalse
}

func (s *msgpackScanner) whole() (int64, bool) {
	c := s.peek()
	if c < mpFixMap {
		s.pos++
		return int64(c), true
	}
	size := 0
	switch {
	case c >= mpUint8 && c <= mpUint64:
		size = 1 << (c - mpUint8)
	case c >= mpInt8 && c <= mpInt64:
		size = 1 << (c - mpInt8)
	default:
		return 0, false
	}
	s.pos++
	v, ok := s.bigEndian(size)
	if c >= mpInt8 && v>>(8*size-1) == 1 {
		return 0, false // negative
	}
	return int64(v), ok && v < 1e15
}

func (s *msgpackScanner) number() (text string, whole int64, ok bool) {
	whole, ok = s.whole()
	return "", whole, ok
}
