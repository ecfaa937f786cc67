package wire

import (
	"math"
	"strconv"
)

// take1 goes past one byte and returns it.
func (s *Scanner) take1() byte {
	if s.at >= len(s.doc) {
		s.odd = true
		return 0
	}
	s.at++
	return s.doc[s.at-1]
}

// uint reads a big-endian number of size bytes.
func (s *Scanner) uint(size int) uint64 {
	if len(s.doc)-s.at < size {
		s.odd = true
		return 0
	}
	n := uint64(0)
	for _, c := range []byte(s.doc[s.at : s.at+size]) {
		n = n<<8 | uint64(c)
	}
	s.at += size
	return n
}

// header reads the header of a map or array. A count beyond the bytes that are
// left is odd at once, so that no loop turns four billion times.
func (s *Scanner) header(short, code16 byte) Members {
	c := s.take1()
	n := uint64(0)
	switch {
	case c&0xf0 == short:
		n = uint64(c & 0x0f)
	case c == code16:
		n = s.uint(2)
	case c == code16+1:
		n = s.uint(4)
	default:
		s.odd = true
	}
	if n > uint64(len(s.doc)-s.at) {
		s.odd = true
		return 0
	}
	return Members(n)
}

func (s *Scanner) msgpackText() (text string, isPlain bool) {
	c := s.take1()
	size := uint64(0)
	switch {
	case c&0xe0 == 0xa0:
		size = uint64(c & 0x1f)
	case c >= 0xd9 && c <= 0xdb:
		size = s.uint(1 << (c - 0xd9))
	default:
		s.odd = true
	}
	if s.odd || size > uint64(len(s.doc)-s.at) {
		s.odd = true
		return "", false
	}
	text = s.doc[s.at : s.at+int(size)]
	s.at += int(size)
	for i := range len(text) {
		if !plain[text[i]] {
			return s.valid(text), false
		}
	}
	return text, true
}

// pow10 has the powers of ten that fit an int64.
var pow10 = func() (p [19]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// msgpackNumber reads an integer or a float as a count of 10^-digits.
func (s *Scanner) msgpackNumber(digits int) (v int64, exact bool) {
	if c := s.peek(); c == 0xca || c == 0xcb {
		return s.msgpackFloat(digits)
	}
	n := s.msgpackInt()
	if limit := math.MaxInt64 / pow10[digits]; n > limit || n < -limit {
		s.odd = true
		return 0, false
	}
	return n * pow10[digits], true
}

func (s *Scanner) msgpackInt() int64 {
	switch c := s.take1(); c {
	case 0xcc:
		return int64(s.uint(1))
	case 0xcd:
		return int64(s.uint(2))
	case 0xce:
		return int64(s.uint(4))
	case 0xcf:
		n := s.uint(8)
		if n > math.MaxInt64 {
			s.odd = true
		}
		return int64(n)
	case 0xd0:
		return int64(int8(s.uint(1)))
	case 0xd1:
		return int64(int16(s.uint(2)))
	case 0xd2:
		return int64(int32(s.uint(4)))
	case 0xd3:
		return int64(s.uint(8))
	default:
		if c > 0x7f && c < 0xe0 {
			s.odd = true
		}
		return int64(int8(c))
	}
}

// msgpackFloat reads a float from its shortest decimal, as the parser does. The
// words for what is not finite are no numbers, and so odd.
func (s *Scanner) msgpackFloat(digits int) (v int64, exact bool) {
	bits := 64
	var f float64
	if s.take1() == 0xca {
		bits = 32
		f = float64(math.Float32frombits(uint32(s.uint(4))))
	} else {
		f = math.Float64frombits(s.uint(8))
	}
	var room [32]byte
	return s.parse(string(strconv.AppendFloat(room[:0], f, 'g', -1, bits)), digits)
}
