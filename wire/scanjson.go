package wire

import (
	"strings"
	"unicode/utf8"
)

// skip goes past white space and returns the next byte, 0 at the end.
func (s *Scanner) skip() byte {
	for s.at < len(s.doc) {
		c := s.doc[s.at]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		s.at++
	}
	return 0
}

// take goes past white space and c, which must be there.
func (s *Scanner) take(c byte) {
	if s.skip() != c {
		s.odd = true
		return
	}
	s.at++
}

// word goes past a word; that nothing grows on its end is seen by what takes the
// next byte.
func (s *Scanner) word(w string) bool {
	if !strings.HasPrefix(s.doc[s.at:], w) {
		s.odd = true
		return false
	}
	s.at += len(w)
	return true
}

func (s *Scanner) jsonText() (text string, isPlain bool) {
	if s.skip() != '"' {
		s.odd = true
		return "", false
	}
	s.at++
	rest := s.doc[s.at:]
	for i := 0; i < len(rest); i++ {
		if plain[rest[i]] {
			continue
		}
		if rest[i] != '"' {
			break
		}
		s.at += i + 1
		return rest[:i], true
	}
	return s.jsonOtherText(rest), false
}

// jsonOtherText reads a string that has bytes beyond ASCII, up to its quote.
func (s *Scanner) jsonOtherText(rest string) string {
	end := strings.IndexByte(rest, '"')
	if end < 0 {
		s.odd = true
		return ""
	}
	text := rest[:end]
	for i := range len(text) {
		if text[i] < ' ' || text[i] == '\\' {
			s.odd = true
			return ""
		}
	}
	s.at += end + 1
	return s.valid(text)
}

// valid returns a text if it is valid UTF-8.
func (s *Scanner) valid(text string) string {
	if !utf8.ValidString(text) {
		s.odd = true
		return ""
	}
	return text
}

// jsonNumber returns the characters that a number may have; what reads them
// checks that they are one.
func (s *Scanner) jsonNumber() string {
	s.skip()
	start := s.at
	for s.at < len(s.doc) {
		switch c := s.doc[s.at]; {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
			s.at++
		default:
			return s.doc[start:s.at]
		}
	}
	return s.doc[start:s.at]
}
