package wire

import (
	"errors"
	"fmt"
)

// Bounds of one document. They hold time and memory to a small multiple of the
// document's length, whatever its headers claim.
const (
	MaxDepth  = 200     // arrays and objects within each other
	MaxValues = 1 << 19 // values of all kinds
)

// Errors of the parsers. What is malformed beyond these is described by the
// error of the library that found it.
var (
	ErrEmpty     = errors.New("the message is empty")
	ErrTrailing  = errors.New("there is data after the end of the document: send one document, or an array")
	ErrDepth     = fmt.Errorf("the document is nested deeper than %d levels", MaxDepth)
	ErrValues    = fmt.Errorf("the document has more than %d values: split it", MaxValues)
	ErrItems     = errors.New("the array has too many items: split it")
	ErrUTF8      = errors.New("the document is not valid UTF-8")
	ErrSurrogate = errors.New(`the document has half of a surrogate pair (\ud800 to \udfff): send whole characters`)
)

// DuplicateError is a name that an object has twice.
type DuplicateError struct{ Name string }

// Error names the field.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("the field %q is there twice in one object: send it once", e.Name)
}

// Parse reads one document of the given encoding, strictly: a name twice in one
// object, data after the end, invalid UTF-8, NaN and infinities are errors.
func Parse(enc Encoding, data []byte) (Value, error) {
	v, _, err := ParseItems(enc, data)
	return v, err
}

// ParseJSON is Parse for JSON. A byte order mark at the start is skipped.
func ParseJSON(data []byte) (Value, error) { return Parse(JSON, data) }

// ParseMsgpack is Parse for msgpack. Binary data, extensions and keys that are
// no strings are errors.
func ParseMsgpack(data []byte) (Value, error) { return Parse(Msgpack, data) }

// ParseItems is Parse, and for an array also the bytes of each of its items,
// which share memory with data.
func ParseItems(enc Encoding, data []byte) (Value, [][]byte, error) {
	return ParseUpTo(enc, data, MaxValues)
}

// ParseUpTo is ParseItems for an array of at most most items. A longer one is
// ErrItems, found without parsing all of it.
func ParseUpTo(enc Encoding, data []byte, most int) (Value, [][]byte, error) {
	if len(data) == 0 {
		return Value{}, nil, ErrEmpty
	}
	if enc == Msgpack {
		return parseMsgpack(data, most)
	}
	return parseJSON(data, most)
}

// budget counts what one document has used up of the bounds.
type budget struct {
	depth  int
	values int
	most   int      // items of the outermost array
	items  [][]byte // their bytes
}

func (b *budget) value() error {
	if b.values++; b.values > MaxValues {
		return ErrValues
	}
	return nil
}

func (b *budget) enter() error {
	if b.depth++; b.depth > MaxDepth {
		return ErrDepth
	}
	return nil
}

// item keeps the bytes of an item of the outermost array; room tells whether
// there may be another. Within the last item there are not yet as many.
func (b *budget) item(raw []byte) {
	if b.depth == 1 {
		b.items = append(b.items, raw)
	}
}

func (b *budget) room() error {
	if len(b.items) == b.most {
		return ErrItems
	}
	return nil
}

// manyFields is where looking a name up in a map becomes cheaper than comparing
// it with every name before it.
const manyFields = 16

// names finds a name that comes twice, in linear time.
type names struct{ seen map[string]struct{} }

func (n *names) check(fields []Field, name string) error {
	if len(fields) < manyFields {
		for i := range fields {
			if fields[i].Name == name {
				return &DuplicateError{name}
			}
		}
		return nil
	}
	if n.seen == nil {
		n.seen = make(map[string]struct{}, 2*manyFields)
		for i := range fields {
			n.seen[fields[i].Name] = struct{}{}
		}
	}
	if _, twice := n.seen[name]; twice {
		return &DuplicateError{name}
	}
	n.seen[name] = struct{}{}
	return nil
}
