package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// Errors of the msgpack parser.
var (
	ErrNotFinite = errors.New("the document has a number that is not finite: send a finite number or leave it out")
	ErrBinary    = errors.New("the document has binary data: send a string")
	ErrExtension = errors.New("the document has a msgpack extension type: send times as RFC 3339 strings or epoch milliseconds")
	ErrKey       = errors.New("the document has a map key that is not a string: send field names")
)

func parseMsgpack(data []byte, most int) (Value, [][]byte, error) {
	r := bytes.NewReader(data)
	p := msgpackParser{budget: budget{most: most}, data: data, r: r, dec: msgpack.NewDecoder(r)}
	v, err := p.value()
	switch {
	case err != nil:
		return Value{}, nil, err
	case r.Len() > 0:
		return Value{}, nil, ErrTrailing
	}
	return v, p.items, nil
}

type msgpackParser struct {
	budget
	data []byte
	r    *bytes.Reader
	dec  *msgpack.Decoder
}

func (p *msgpackParser) offset() int { return len(p.data) - p.r.Len() }

func (p *msgpackParser) value() (Value, error) {
	if err := p.budget.value(); err != nil {
		return Value{}, err
	}
	code, err := p.dec.PeekCode()
	if err != nil {
		return Value{}, malformed(err)
	}
	switch {
	case msgpcode.IsString(code):
		text, err := p.text()
		return Value{Kind: String, Text: text}, err
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return p.nested(p.object)
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return p.nested(p.array)
	}
	return p.scalar(code)
}

func (p *msgpackParser) scalar(code byte) (Value, error) {
	switch {
	case code == msgpcode.Nil:
		return Value{Kind: Null}, malformed(p.dec.DecodeNil())
	case code == msgpcode.True, code == msgpcode.False:
		b, err := p.dec.DecodeBool()
		return Value{Kind: Bool, Bool: b}, malformed(err)
	case code == msgpcode.Float, code == msgpcode.Double:
		return p.float(code)
	case code == msgpcode.Uint64:
		n, err := p.dec.DecodeUint64()
		return Value{Kind: Number, Text: strconv.FormatUint(n, 10)}, malformed(err)
	case msgpcode.IsFixedNum(code), code >= msgpcode.Uint8 && code <= msgpcode.Int64:
		n, err := p.dec.DecodeInt64()
		return Value{Kind: Number, Text: strconv.FormatInt(n, 10)}, malformed(err)
	case msgpcode.IsBin(code):
		return Value{}, ErrBinary
	case msgpcode.IsExt(code):
		return Value{}, ErrExtension
	}
	return Value{}, &SyntaxError{fmt.Errorf("0x%02x begins no value", code)}
}

// float gives a float's shortest decimal that reads back as that float, with
// the float's own size: 0.1 sent in 32 bits is 0.1 and not 0.10000000149.
func (p *msgpackParser) float(code byte) (Value, error) {
	bits := 64
	if code == msgpcode.Float {
		bits = 32
	}
	f, err := p.dec.DecodeFloat64()
	if err != nil {
		return Value{}, malformed(err)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{}, ErrNotFinite
	}
	return Value{Kind: Number, Text: strconv.FormatFloat(f, 'g', -1, bits)}, nil
}

// text reads a string. A length beyond the rest of the message is refused
// before the library makes room for it.
func (p *msgpackParser) text() (string, error) {
	n, err := p.dec.DecodeBytesLen()
	if err != nil {
		return "", malformed(err)
	}
	if n < 0 || n > p.r.Len() {
		return "", malformed(io.ErrUnexpectedEOF)
	}
	at := p.offset()
	if _, err := p.r.Seek(int64(n), io.SeekCurrent); err != nil {
		return "", malformed(err)
	}
	text := p.data[at : at+n]
	if !utf8.Valid(text) {
		return "", ErrUTF8
	}
	return string(text), nil
}

func (p *msgpackParser) nested(read func() (Value, error)) (Value, error) {
	if err := p.enter(); err != nil {
		return Value{}, err
	}
	defer func() { p.depth-- }()
	return read()
}

// array appends item by item and makes no room for the length that the header
// claims: five bytes may claim four billion.
func (p *msgpackParser) array() (Value, error) {
	n, err := p.dec.DecodeArrayLen()
	if err != nil {
		return Value{}, malformed(err)
	}
	v := Value{Kind: Array}
	for range n {
		if err := p.room(); err != nil {
			return Value{}, err
		}
		start := p.offset()
		item, err := p.value()
		if err != nil {
			return Value{}, err
		}
		v.Items = append(v.Items, item)
		p.item(p.data[start:p.offset()])
	}
	return v, nil
}

func (p *msgpackParser) object() (Value, error) {
	n, err := p.dec.DecodeMapLen()
	if err != nil {
		return Value{}, malformed(err)
	}
	v := Value{Kind: Object}
	var seen names
	for range n {
		code, err := p.dec.PeekCode()
		switch {
		case err != nil:
			return Value{}, malformed(err)
		case !msgpcode.IsString(code):
			return Value{}, ErrKey
		}
		name, err := p.text()
		if err != nil {
			return Value{}, err
		}
		if err := seen.check(v.Fields, name); err != nil {
			return Value{}, err
		}
		value, err := p.value()
		if err != nil {
			return Value{}, err
		}
		v.Fields = append(v.Fields, Field{name, value})
	}
	return v, nil
}

func malformed(err error) error {
	switch err {
	case nil:
		return nil
	case io.EOF, io.ErrUnexpectedEOF:
		return &SyntaxError{errors.New("it ends in the middle of a value")}
	}
	return &SyntaxError{err}
}
