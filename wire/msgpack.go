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

// ErrKey is the error of a msgpack map with keys that are no names.
var ErrKey = errors.New("the document has a map key that is not a string: send field names")

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
		n, err := p.dec.DecodeBytesLen()
		return p.binary(n, err)
	case msgpcode.IsExt(code):
		_, n, err := p.dec.DecodeExtHeader()
		return p.binary(n, err)
	}
	return Value{}, &SyntaxError{fmt.Errorf("0x%02x begins no value", code)}
}

// float gives a float's shortest decimal that reads back as that float, with
// the float's own size: 0.1 sent in 32 bits is 0.1 and not 0.10000000149. NaN and
// the infinities are a kind of their own: a fault of the field they are in, while
// an array's other events stand.
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
		return Value{Kind: NotFinite}, nil
	}
	return Value{Kind: Number, Text: strconv.FormatFloat(f, 'g', -1, bits)}, nil
}

// binary passes over bytes that no field of ours can have. They are a fault of
// the field they are in, and none where fields are ignored.
func (p *msgpackParser) binary(n int, err error) (Value, error) {
	if err == nil {
		_, err = p.take(n)
	}
	return Value{Kind: Binary}, malformed(err)
}

// take returns the next n bytes. A length beyond the rest of the message is
// refused before the library makes room for it.
func (p *msgpackParser) take(n int) ([]byte, error) {
	if n < 0 || n > p.r.Len() {
		return nil, io.ErrUnexpectedEOF
	}
	at := p.offset()
	_, err := p.r.Seek(int64(n), io.SeekCurrent)
	return p.data[at : at+n], err
}

// text reads a string.
func (p *msgpackParser) text() (string, error) {
	n, err := p.dec.DecodeBytesLen()
	if err != nil {
		return "", malformed(err)
	}
	text, err := p.take(n)
	if err != nil {
		return "", malformed(err)
	}
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
