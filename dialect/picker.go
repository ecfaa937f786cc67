package dialect

import "bytes"

const (
	// tracked is how deep a document is looked into: what streams call text is
	// 7 levels down at most (choices[].delta.tool_calls[].function.arguments).
	tracked = 8
	// keep is how much of a string is remembered; model names and kinds of
	// events are far shorter.
	keep = 256
	// keepName is how much of a member's name is remembered. All that are known
	// are shorter.
	keepName = 40
)

// token is what a picker has read: the beginning of an object, or a scalar.
type token struct {
	kind byte   // '{', '"', or 0 for a number or a word
	text []byte // of a scalar, as it stands, its first 256 bytes
	size int64  // of a string, in bytes once decoded
}

// mode is what a picker is in the middle of.
type mode uint8

const (
	between mode = iota // tokens
	inString
	inEscape // after a backslash
	inUnit   // in the digits of \u
	inBare   // in a number or a word
)

// picker reads one JSON document in pieces cut anywhere and hands on the
// scalars that are not too deep, each with its path: "choices[].delta.content".
// It has constant memory, because an embedding or the last event of a response
// repeats megabytes of which some digits matter. It does not judge: what is no
// JSON yields some tokens or none.
type picker struct {
	take func(path []byte, t token)

	mode  mode
	depth int
	whole bool // the document, an object, has ended
	name  bool // the string that comes next, or is read, is a member's name
	// path leads to the value that comes next; base[i] is how much of it leads
	// to what is in the container i, array[i] whether that is an array.
	path  []byte
	base  [tracked]int
	array [tracked]bool

	text   []byte // of the scalar that is read
	size   int64
	unit   int // of an escape
	digits int
}

// reset makes p ready for another document.
func (p *picker) reset() {
	take, path, text := p.take, p.path[:0], p.text[:0]
	*p = picker{take: take, path: path, text: text}
}

// feed reads a piece.
func (p *picker) feed(b []byte) {
	for len(b) > 0 {
		if p.mode == inString {
			b = b[p.plain(b):]
			if len(b) == 0 {
				return
			}
		}
		p.step(b[0])
		b = b[1:]
	}
}

// plain reads the part of a string up to its end or the next escape.
func (p *picker) plain(b []byte) int {
	n := bytes.IndexByte(b, '"')
	if n < 0 {
		n = len(b)
	}
	if at := bytes.IndexByte(b[:n], '\\'); at >= 0 {
		n = at
	}
	p.size += int64(n)
	p.remember(b[:n])
	return n
}

func (p *picker) remember(b []byte) {
	p.text = append(p.text, b[:min(len(b), keep-len(p.text))]...)
}

func (p *picker) step(c byte) {
	switch p.mode {
	case between:
		p.structure(c)
	case inString:
		p.inString(c)
	case inEscape:
		p.escape(c)
	case inUnit:
		p.remember([]byte{c})
		p.unit, p.digits = p.unit<<4|hex(c), p.digits+1
		if p.digits == 4 {
			p.size += unitLen(p.unit)
			p.mode = inString
		}
	case inBare:
		if isBare(c) {
			p.remember([]byte{c})
			return
		}
		p.mode = between
		p.scalar(0)
		p.structure(c)
	}
}

// inString reads what ends a string or begins an escape.
func (p *picker) inString(c byte) {
	if c == '\\' {
		p.remember([]byte{c})
		p.mode = inEscape
		return
	}
	p.mode = between
	if p.name {
		p.named()
		return
	}
	p.scalar('"')
}

func (p *picker) escape(c byte) {
	p.remember([]byte{c})
	if c == 'u' {
		p.mode, p.unit, p.digits = inUnit, 0, 0
		return
	}
	p.size++
	p.mode = inString
}

// structure reads what stands between scalars, and begins them.
func (p *picker) structure(c byte) {
	switch c {
	case '{', '[':
		p.open(c == '[')
	case '}', ']':
		p.close()
	case ':':
		p.name = false
	case ',':
		p.name = p.depth > 0 && p.depth <= tracked && !p.array[p.depth-1]
		p.rewind()
	case '"':
		p.mode, p.text, p.size = inString, p.text[:0], 0
	case ' ', '\t', '\r', '\n':
	default:
		if isBare(c) {
			p.mode, p.text = inBare, append(p.text[:0], c)
		}
	}
}

func (p *picker) open(array bool) {
	if p.depth < tracked {
		if array {
			p.path = append(p.path, "[]"...)
		} else {
			p.scalar('{')
		}
		p.base[p.depth], p.array[p.depth] = len(p.path), array
	}
	p.depth++
	p.name = !array && p.depth <= tracked
}

func (p *picker) close() {
	if p.depth == 0 {
		return
	}
	p.depth--
	if p.depth < tracked { // back to where the container stands
		p.path = p.path[:p.base[p.depth]]
		if p.array[p.depth] {
			p.path = p.path[:len(p.path)-len("[]")]
		}
	}
	p.name = false
	p.whole = p.whole || p.depth == 0 && !p.array[0]
}

// rewind leads the path back to what is in the container.
func (p *picker) rewind() {
	switch {
	case p.depth == 0:
		p.path = p.path[:0]
	case p.depth <= tracked:
		p.path = p.path[:p.base[p.depth-1]]
	}
}

// named takes the string that was read as the name of the next value.
func (p *picker) named() {
	p.rewind()
	if len(p.path) > 0 {
		p.path = append(p.path, '.')
	}
	if len(p.text) > keepName {
		p.text = append(p.text[:0], '?')
	}
	p.path = append(p.path, p.text...)
}

// scalar hands on what was read, unless it lies too deep or behind the end.
func (p *picker) scalar(kind byte) {
	if p.depth > tracked || p.whole {
		return
	}
	p.take(p.path, token{kind, p.text, p.size})
}
