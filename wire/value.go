package wire

// Kind is the type of a Value.
type Kind uint8

// The kinds of value. Absent is the zero Value: a field that is not there.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
	// Of msgpack alone, and legal in no field of ours: bytes and extensions, and
	// floats that are NaN or infinite.
	Binary
	NotFinite
)

// Value is one node of a decoded document. A number is kept as its text in JSON
// number grammar (a msgpack float as its shortest decimal), because amounts
// are read from text, exactly.
type Value struct {
	Kind   Kind
	Bool   bool
	Text   string  // Number, String
	Items  []Value // Array
	Fields []Field // Object, in the order they came
}

// Field is one member of an object.
type Field struct {
	Name  string
	Value Value
}

// Encoding is the encoding of a message; a reply has that of its request.
type Encoding uint8

// The two encodings.
const (
	JSON Encoding = iota
	Msgpack
)
