package wire

import "github.com/quotashare/quotashare/quota"

// Scanner reads a document of the common form straight from its bytes: no
// values in between, and strings that share the document's memory. It knows what
// well-behaved programs send. At anything else (escapes in strings, numbers of
// the wrong type, whatever is malformed) it turns odd: from then on every method
// gives zero at once and every loop ends. The caller looks once, at the end, with
// Done, and if that is false takes the document to Parse and Reader, which give
// the same result for what is right and the error text for what is not. So the
// Scanner may give up on anything, but must never accept what they refuse.
//
// Names that come twice are the caller's to notice, because it knows the names.
type Scanner struct {
	doc string
	at  int
	enc Encoding
	odd bool
}

// NewScanner returns a scanner of one document.
func NewScanner(doc string, enc Encoding) Scanner { return Scanner{doc: doc, enc: enc} }

// GiveUp makes the scanner odd.
func (s *Scanner) GiveUp() { s.odd = true }

// Odd reports whether the scanner has given up.
func (s *Scanner) Odd() bool { return s.odd }

// Done reports whether the document was read to its end and nothing was odd.
func (s *Scanner) Done() bool {
	if s.enc == JSON {
		s.skip()
	}
	return !s.odd && s.at == len(s.doc)
}

// Offset returns the place in the document up to which it was read. At the
// start of an Item it is that of the item's first byte.
func (s *Scanner) Offset() int { return s.at }

// Places in an object or array: in msgpack the number of members to come, in
// JSON one of these.
const (
	jsonFirst = -1
	jsonNext  = -2
)

// Members says how far an object or array was read.
type Members int

// IsArray reports whether an array comes next.
func (s *Scanner) IsArray() bool {
	c := s.peek()
	if s.enc == Msgpack {
		return c>>4 == 9 || c == 0xdc || c == 0xdd
	}
	return c == '['
}

// peek returns the next byte that means something, 0 at the end.
func (s *Scanner) peek() byte {
	if s.enc == JSON {
		return s.skip()
	}
	if s.at < len(s.doc) {
		return s.doc[s.at]
	}
	return 0
}

// Object goes into an object; Field goes on in it.
func (s *Scanner) Object() Members {
	if s.enc == Msgpack {
		return s.header(0x80, 0xde)
	}
	s.take('{')
	return jsonFirst
}

// Field goes to the value of the next field; ok is false at the end.
func (s *Scanner) Field(m *Members) (name string, ok bool) {
	if !s.more(m, '}') {
		return "", false
	}
	name, _ = s.text()
	if s.enc == JSON {
		s.take(':')
	}
	return name, !s.odd
}

// Array goes into an array; Item goes on in it.
func (s *Scanner) Array() Members {
	if s.enc == Msgpack {
		return s.header(0x90, 0xdc)
	}
	s.take('[')
	return jsonFirst
}

// Item goes to the next item; ok is false at the end.
func (s *Scanner) Item(m *Members) (ok bool) {
	ok = s.more(m, ']')
	s.peek()
	return ok && !s.odd
}

// more goes to the next member, or past the end.
func (s *Scanner) more(m *Members, end byte) bool {
	if s.enc == Msgpack {
		if s.odd || *m == 0 {
			return false
		}
		*m--
		return true
	}
	first := *m == jsonFirst
	*m = jsonNext
	switch c := s.skip(); {
	case c == end:
		s.at++
		return false
	case first:
		return !s.odd
	}
	s.take(',') // that a member follows is seen by whoever reads it
	return !s.odd
}

// Null goes past a null and reports whether there was one.
func (s *Scanner) Null() bool {
	c := s.peek()
	if s.enc == Msgpack {
		if c == 0xc0 {
			s.at++
		}
		return c == 0xc0
	}
	return c == 'n' && s.word("null")
}

// Flag reads a boolean.
func (s *Scanner) Flag() bool {
	c := s.peek()
	switch {
	case s.enc == Msgpack && (c == 0xc2 || c == 0xc3):
		s.at++
		return c == 0xc3
	case s.enc == JSON && c == 't' && s.word("true"):
		return true
	case s.enc == JSON && c == 'f' && s.word("false"):
		return false
	}
	s.odd = true
	return false
}

// Skip goes past a string, number, boolean or null. What is nested is odd.
func (s *Scanner) Skip() {
	switch c := s.peek(); {
	case s.isText():
		s.text()
	case s.Null():
	case s.enc == JSON && (c == 't' || c == 'f'), s.enc == Msgpack && (c == 0xc2 || c == 0xc3):
		s.Flag()
	default:
		s.fixed(0)
	}
}

// String reads a string; it is valid UTF-8.
func (s *Scanner) String() string {
	text, _ := s.text()
	return text
}

// text reads a string; plain tells that it has none but plain bytes.
func (s *Scanner) text() (text string, plain bool) {
	if s.enc == Msgpack {
		return s.msgpackText()
	}
	return s.jsonText()
}

// ID reads an id that quota.ValidateID lets pass.
func (s *Scanner) ID() string {
	id, plain := s.text()
	if plain && len(id) > 0 && len(id) <= quota.MaxIDLength {
		return id // nothing else to check, and one pass is enough
	}
	if quota.ValidateID(id) != nil {
		s.odd = true
		return ""
	}
	return id
}

// Int reads a whole number, sent as a number or a string.
func (s *Scanner) Int() int64 {
	v, exact := s.fixed(0)
	if !exact {
		s.odd = true
	}
	return v
}

// Amount reads an amount of unit u, which may be negative.
func (s *Scanner) Amount(u quota.Unit) quota.Amount {
	v, _ := s.fixed(u.Digits())
	a := quota.Amount(v)
	if a > u.Max() || a < -u.Max() {
		s.odd = true
		return 0
	}
	return a
}

// Instant reads a time in any of its forms and returns it in epoch milliseconds.
func (s *Scanner) Instant() int64 {
	ms := s.instant()
	if ms < quota.MinInstant || ms > quota.MaxInstant {
		s.odd = true
		return 0
	}
	return ms
}

func (s *Scanner) instant() int64 {
	if !s.isText() {
		return s.Int()
	}
	text, _ := s.text()
	if ms, ok := parseUTC(text); ok {
		return ms
	}
	ms, err := quota.ParseInstant(text)
	if err != nil {
		s.odd = true
	}
	return ms
}

// isText reports whether a string comes next.
func (s *Scanner) isText() bool {
	c := s.peek()
	if s.enc == Msgpack {
		return c>>5 == 5 || c >= 0xd9 && c <= 0xdb
	}
	return c == '"'
}

// fixed reads a number as a count of 10^-digits; exact is false when something
// was rounded off.
func (s *Scanner) fixed(digits int) (v int64, exact bool) {
	var text string
	switch {
	case s.isText():
		text, _ = s.text()
	case s.enc == Msgpack:
		return s.msgpackNumber(digits)
	default:
		text = s.jsonNumber()
	}
	return s.parse(text, digits)
}

func (s *Scanner) parse(text string, digits int) (v int64, exact bool) {
	if v, ok := parseShort(text, digits); ok {
		return v, true
	}
	v, exact, err := quota.ParseFixed(text, digits)
	if err != nil {
		s.odd = true
	}
	return v, exact
}
