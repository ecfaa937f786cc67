package questions

import (
	"strings"

	"github.com/quotashare/quotashare/wire"
)

// jsonScanner scans JSON. It leaves every escape, sign, exponent and byte
// beyond ASCII to the tree.
type jsonScanner struct {
	doc string
	pos int // of the next byte
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *jsonScanner) peek() byte {
	if s.pos < len(s.doc) && s.doc[s.pos] > ' ' {
		return s.doc[s.pos]
	}
	return s.skip()
}

func (s *jsonScanner) skip() byte {
	for ; s.pos < len(s.doc); s.pos++ {
		switch c := s.doc[s.pos]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

// take skips white space and c.
func (s *jsonScanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

func (s *jsonScanner) end() bool { return s.peek() == 0 && s.pos == len(s.doc) }

func (s *jsonScanner) kind() wire.Kind {
	switch c := s.peek(); {
	case c == '{':
		return wire.Object
	case c == '[':
		return wire.Array
	case c == '"':
		return wire.String
	case c >= '0' && c <= '9':
		return wire.Number
	}
	return wire.Absent
}

// open is called after kind has seen the bracket.
func (s *jsonScanner) open() (n int, ok bool) {
	s.pos++
	return -1, true
}

func (s *jsonScanner) item(i, _ int) (more, ok bool) {
	if s.take(']') {
		return false, true
	}
	return true, i == 0 || s.take(',')
}

// member reads the name up to the next quote and leaves what is between to the
// comparison with the known names, none of which has an escape.
func (s *jsonScanner) member(i, _ int) (name string, more, ok bool) {
	c := s.peek()
	if c == ',' && i > 0 {
		s.pos++
		c = s.peek()
	} else if c == '}' || i > 0 {
		s.pos++
		return "", false, c == '}'
	}
	if c != '"' {
		return "", false, false
	}
	rest := s.doc[s.pos+1:]
	end := strings.IndexByte(rest, '"')
	if end < 0 {
		return "", false, false
	}
	s.pos += end + 2
	return rest[:end], true, s.take(':')
}

func (s *jsonScanner) text() (string, bool) {
	if !s.take('"') {
		return "", false
	}
	rest := s.doc[s.pos:]
	for i := range len(rest) {
		if plain[rest[i]] {
			continue
		}
		s.pos += i + 1
		return rest[:i], rest[i] == '"'
	}
	return "", false
}

// plain has the bytes that stand for themselves in a JSON string and need no
// second look in an id: printable ASCII.
var plain = func() (t [256]bool) {
	for c := ' '; c <= '~'; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

func (s *jsonScanner) flag() (value, ok bool) {
	s.peek()
	switch rest := s.doc[s.pos:]; {
	case len(rest) > 4 && rest[:4] == "true":
		s.pos += 4
		return true, true
	case len(rest) > 5 && rest[:5] == "false":
		s.pos += 5
		return false, true
	}
	return false, false
}

func (s *jsonScanner) whole() (int64, bool) {
	text, n, ok := s.number()
	return n, ok && text == ""
}

// maxWholeDigits keeps an integer within int64 while it is read.
const maxWholeDigits = 15

func (s *jsonScanner) number() (text string, whole int64, ok bool) {
	s.peek()
	start := s.pos
	for ; s.pos < len(s.doc) && isDigit(s.doc[s.pos]); s.pos++ {
		whole = whole*10 + int64(s.doc[s.pos]-'0') // wraps only beyond maxWholeDigits
	}
	digits := s.pos - start
	switch {
	case digits == 0 || digits > maxWholeDigits || (digits > 1 && s.doc[start] == '0'):
		return "", 0, false
	case s.pos == len(s.doc):
		return "", whole, true
	case s.doc[s.pos] != '.':
		return "", whole, s.doc[s.pos] != 'e' && s.doc[s.pos] != 'E'
	}
	for s.pos++; s.pos < len(s.doc) && isDigit(s.doc[s.pos]); s.pos++ {
	}
	text = s.doc[start:s.pos]
	if s.pos < len(s.doc) && (s.doc[s.pos] == 'e' || s.doc[s.pos] == 'E') {
		return "", 0, false
	}
	return text, 0, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
