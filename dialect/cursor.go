package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// maxDepth is how deep a request may be nested. encoding/json stops at 10,000;
// the schemas of tools need a few dozen.
const maxDepth = 1000

// SyntaxError is a request's body that is no JSON object.
type SyntaxError struct {
	Offset int // in bytes
	What   string
}

// Error says where the body is wrong.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("the body is no JSON object, at byte %d: %s", e.Offset, e.What)
}

// cursor walks JSON text where it lies. It keeps offsets, which encoding/json
// does not tell, and decodes nothing that is not asked for: bodies have
// megabytes, and of most we need the length alone. It takes a little more than
// JSON is, any bytes in a string: to refuse those is the provider's business.
type cursor struct {
	b     []byte
	i     int
	depth int
}

func (c *cursor) fail(what string) error { return &SyntaxError{c.i, what} }

// next skips white space and returns the byte it comes to, 0 at the end.
func (c *cursor) next() byte {
	for ; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case ' ', '\t', '\n', '\r':
		default:
			return c.b[c.i]
		}
	}
	return 0
}

// document visits the members of the object that is the whole text, and
// returns the offset of its closing brace.
func (c *cursor) document(visit func(name string) error) (end int, err error) {
	if c.next() != '{' {
		return 0, c.fail("send an object")
	}
	if err := c.members(visit); err != nil {
		return 0, err
	}
	end = c.i - 1
	if c.next(); c.i < len(c.b) {
		return 0, c.fail("something follows it")
	}
	return end, nil
}

// members visits each member of the object at the cursor; visit consumes the
// value.
func (c *cursor) members(visit func(name string) error) error {
	return c.list('}', func() error {
		if c.next() != '"' {
			return c.fail("a member needs a name")
		}
		raw, err := c.str()
		if err != nil {
			return err
		}
		if c.next() != ':' {
			return c.fail("a name needs a colon")
		}
		c.i++
		return visit(text(raw))
	})
}

// list visits what stands between the bracket at the cursor and end.
func (c *cursor) list(end byte, visit func() error) error {
	if c.depth++; c.depth > maxDepth {
		return c.fail("it is nested too deep")
	}
	defer func() { c.depth-- }()
	c.i++
	if c.next() == end {
		c.i++
		return nil
	}
	for {
		if err := visit(); err != nil {
			return err
		}
		switch c.next() {
		case ',':
			c.i++
		case end:
			c.i++
			return nil
		default:
			return c.fail("a comma or a closing bracket is missing")
		}
	}
}

// str consumes the string at the cursor and returns what is between its
// quotes, as it stands.
func (c *cursor) str() ([]byte, error) {
	start := c.i + 1
	for at := start; ; {
		n := bytes.IndexByte(c.b[at:], '"')
		if n < 0 {
			return nil, c.fail("a string has no end")
		}
		// A quote is part of the string when an odd number of backslashes
		// stands before it.
		slashes := 0
		for at+n-1-slashes >= start && c.b[at+n-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			c.i = at + n + 1
			return c.b[start : at+n], nil
		}
		at += n + 1
	}
}

// bare consumes a number or a word and returns it.
func (c *cursor) bare() ([]byte, error) {
	start := c.i
	for c.i < len(c.b) && isBare(c.b[c.i]) {
		c.i++
	}
	if !json.Valid(c.b[start:c.i]) {
		c.i = start
		return nil, c.fail("a value is missing")
	}
	return c.b[start:c.i], nil
}

// isBare reports whether c can be in a number, true, false or null.
func isBare(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// value consumes the next value, whatever it is, and returns it as it stands.
func (c *cursor) value() ([]byte, error) {
	c.next()
	start := c.i
	err := c.weigh(nil)
	return c.b[start:c.i], err
}

// text decodes what is between the quotes of a JSON string.
func text(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var s string
	quoted := append(append([]byte{'"'}, raw...), '"')
	if json.Unmarshal(quoted, &s) != nil {
		return string(raw)
	}
	return s
}
