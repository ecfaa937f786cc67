package events

import (
	"errors"
	"strings"

	"github.com/quotashare/quotashare/quota"
)

// ErrEscape is a subject token that EscapeID does not give for any id.
var ErrEscape = errors.New("is not escaped: write every byte outside A-Za-z0-9_- as % and two upper-case hex digits, and no other")

const upperHex = "0123456789ABCDEF"

func bare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// EscapeID returns the id as one token of a subject: every byte outside
// A-Za-z0-9_- as %XX. So '.', '*', '>' and spaces, which mean something to the
// broker, are safe, and different ids have different tokens.
func EscapeID(id string) string {
	var b strings.Builder
	b.Grow(len(id))
	for i := 0; i < len(id); i++ {
		if c := id[i]; bare(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
		}
	}
	return b.String()
}

// UnescapeID is the inverse of EscapeID. It takes no second form of an id: %41
// for A, or lower-case hex, would be two subjects, and so two histories, of one
// pool. It returns ErrEscape, or why the result is no id.
func UnescapeID(token string) (string, error) {
	var b strings.Builder
	b.Grow(len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c == '%' {
			if len(token)-i < 3 {
				return "", ErrEscape
			}
			high, low := strings.IndexByte(upperHex, token[i+1]), strings.IndexByte(upperHex, token[i+2])
			if high < 0 || low < 0 || bare(byte(high<<4|low)) {
				return "", ErrEscape
			}
			c = byte(high<<4 | low)
			i += 2
		} else if !bare(c) {
			return "", ErrEscape
		}
		b.WriteByte(c)
	}
	return b.String(), quota.ValidateID(b.String())
}
