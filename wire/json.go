package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

var byteOrderMark = []byte{0xef, 0xbb, 0xbf}

// parseJSON lets encoding/json judge the grammar and adds what it lets pass:
// invalid UTF-8 and lone surrogates (it puts U+FFFD there, so two ids could
// become one), names that come twice (the last wins), and data after the end.
func parseJSON(data []byte, most int) (Value, [][]byte, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if !utf8.Valid(data) {
		return Value{}, nil, ErrUTF8
	}
	p := jsonParser{budget: budget{most: most}, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	// The first document alone, to find data after it and to know that the walk
	// below sees nothing malformed: Token by itself is looser than the grammar.
	var whole json.RawMessage
	if err := p.dec.Decode(&whole); err != nil {
		return Value{}, nil, &SyntaxError{err}
	}
	if len(bytes.Trim(data[p.dec.InputOffset():], " \t\r\n")) > 0 {
		return Value{}, nil, ErrTrailing
	}
	if loneSurrogate(whole) {
		return Value{}, nil, ErrSurrogate
	}
	p.dec = json.NewDecoder(bytes.NewReader(data))
	p.dec.UseNumber()
	v, err := p.value()
	return v, p.items, err
}

// SyntaxError is a document that is not well formed.
type SyntaxError struct{ Err error }

// Error describes what was found.
func (e *SyntaxError) Error() string { return "the message is not well formed: " + e.Err.Error() }

// Unwrap returns the library's error.
func (e *SyntaxError) Unwrap() error { return e.Err }

// loneSurrogate reports whether a string in well-formed JSON escapes half of a
// surrogate pair.
func loneSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++
		if data[i] != 'u' {
			continue
		}
		switch r := hex4(data[i+1:]); {
		case r >= 0xdc00 && r <= 0xdfff:
			return true
		case r >= 0xd800 && r <= 0xdbff:
			if next := data[i+5:]; next[0] != '\\' || next[1] != 'u' || hex4(next[2:])&^0x3ff != 0xdc00 {
				return true
			}
			i += 6
		}
	}
	return false
}

// hex4 reads the four hex digits of a \u escape that is known to be one.
func hex4(b []byte) uint64 {
	if len(b) < 4 {
		return 0
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return 0
	}
	return n
}

type jsonParser struct {
	budget
	data []byte
	dec  *json.Decoder
}

func (p *jsonParser) value() (Value, error) {
	t, err := p.dec.Token()
	if err != nil {
		return Value{}, &SyntaxError{err}
	}
	return p.from(t)
}

// from makes a value of its first token t.
func (p *jsonParser) from(t json.Token) (Value, error) {
	if err := p.budget.value(); err != nil {
		return Value{}, err
	}
	switch t := t.(type) {
	case json.Delim:
		if err := p.enter(); err != nil {
			return Value{}, err
		}
		defer func() { p.depth-- }()
		if t == '[' {
			return p.array()
		}
		return p.object()
	case json.Number:
		return Value{Kind: Number, Text: t.String()}, nil
	case string:
		return Value{Kind: String, Text: t}, nil
	case bool:
		return Value{Kind: Bool, Bool: t}, nil
	}
	return Value{Kind: Null}, nil
}

func (p *jsonParser) array() (Value, error) {
	v := Value{Kind: Array}
	for p.dec.More() {
		if err := p.room(); err != nil {
			return Value{}, err
		}
		start := p.dec.InputOffset()
		item, err := p.value()
		if err != nil {
			return Value{}, err
		}
		v.Items = append(v.Items, item)
		p.item(bytes.TrimLeft(p.data[start:p.dec.InputOffset()], ", \t\r\n"))
	}
	_, err := p.dec.Token() // the ]
	return v, err
}

func (p *jsonParser) object() (Value, error) {
	v := Value{Kind: Object}
	var seen names
	for p.dec.More() {
		t, err := p.dec.Token()
		if err != nil {
			return Value{}, &SyntaxError{err}
		}
		name, _ := t.(string)
		if err := seen.check(v.Fields, name); err != nil {
			return Value{}, err
		}
		value, err := p.value()
		if err != nil {
			return Value{}, err
		}
		v.Fields = append(v.Fields, Field{name, value})
	}
	_, err := p.dec.Token() // the }
	return v, err
}
