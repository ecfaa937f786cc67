package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quotashare/quotashare/quota"
)

// Reader reads the fields of one object and collects what is wrong with them,
// all of it, so that a document is put right in one go. A field that is null is
// absent. After a fault a method returns the zero value and reading goes on;
// the caller looks at the faults once, at the end.
//
// Methods that begin with Need make an absent field a fault.
type Reader struct {
	fields []Field
	path   string // of the object, "" at the root
	faults *Faults
}

// Read returns a reader of v, found at the path. A v that is no object is a
// fault, and the reader has no fields; so the Need methods add theirs to it
// only if v is an object.
func Read(v Value, path string, faults *Faults) (r Reader, ok bool) {
	r = Reader{v.Fields, path, faults}
	if v.Kind != Object {
		faults.Add(path, "is "+v.Kind.String()+", not an object")
	}
	return r, v.Kind == Object
}

// String names the kind with its article, for messages.
func (k Kind) String() string {
	return [...]string{"absent", "null", "a boolean", "a number", "a string", "an array", "an object", "binary data", "no finite number"}[k]
}

// Path returns the path of the field of that name.
func (r Reader) Path(name string) string {
	if r.path == "" {
		return name
	}
	return r.path + "." + name
}

// Fault adds a fault of the field.
func (r Reader) Fault(name, problem string) { r.faults.Add(r.Path(name), problem) }

// Get returns the field, Absent when it is not there or null.
func (r Reader) Get(name string) Value {
	for i := range r.fields {
		if r.fields[i].Name == name && r.fields[i].Value.Kind != Null {
			return r.fields[i].Value
		}
	}
	return Value{}
}

// Has reports whether the field is there and not null.
func (r Reader) Has(name string) bool { return r.Get(name).Kind != Absent }

// Names returns the names of the fields that are there and not null, in the
// order in which they came.
func (r Reader) Names() []string {
	var names []string
	for i := range r.fields {
		if r.fields[i].Value.Kind != Null {
			names = append(names, r.fields[i].Name)
		}
	}
	return names
}

// Only makes every field of another name a fault.
func (r Reader) Only(names ...string) {
	for _, f := range r.fields {
		if !slices.Contains(names, f.Name) {
			r.faults.Add(r.Path(Show(f.Name)), "is unknown: use "+strings.Join(names, ", "))
		}
	}
}

// Show makes a name from outside fit to be shown in a message: quoted unless it
// is an id, and cut when it is long.
func Show(name string) string {
	const most = 64
	if len(name) > most || quota.ValidateID(name) != nil {
		return strconv.QuoteToASCII(name[:min(len(name), most)])
	}
	return name
}

// Need makes an absent field a fault and reports whether it is there.
func (r Reader) Need(name string) bool {
	if r.Has(name) {
		return true
	}
	r.Fault(name, "is missing")
	return false
}

// kind returns the field if it is of that kind; another is a fault.
func (r Reader) kind(name string, k Kind) (Value, bool) {
	v := r.Get(name)
	if v.Kind != k && v.Kind != Absent {
		r.Fault(name, "is "+v.Kind.String()+", not "+k.String())
	}
	return v, v.Kind == k
}

// ID reads an id by quota.ValidateID; "" when absent.
func (r Reader) ID(name string) string {
	v, ok := r.kind(name, String)
	if !ok {
		return ""
	}
	if err := quota.ValidateID(v.Text); err != nil {
		r.Fault(name, err.Error())
		return ""
	}
	return v.Text
}

// NeedID is ID of a field that must be there.
func (r Reader) NeedID(name string) string {
	if !r.Need(name) {
		return ""
	}
	return r.ID(name)
}

// Text reads any string of at most most characters; "" when absent.
func (r Reader) Text(name string, most int) string {
	v, _ := r.kind(name, String)
	if utf8.RuneCountInString(v.Text) > most {
		r.Fault(name, fmt.Sprintf("has more than %d characters", most))
		return ""
	}
	return v.Text
}

// NeedText is Text of a field that must be there and not empty.
func (r Reader) NeedText(name string, most int) string {
	if !r.Need(name) {
		return ""
	}
	v := r.Get(name)
	if v.Kind == String && v.Text == "" {
		r.Fault(name, "is empty")
	}
	return r.Text(name, most)
}

// number returns the text of a number, sent as a number or as a string.
func (r Reader) number(name string) (string, bool) {
	v := r.Get(name)
	switch v.Kind {
	case Number, String:
		return v.Text, true
	case Absent:
	case NotFinite:
		r.Fault(name, "is not a finite number")
	default:
		r.Fault(name, "is "+v.Kind.String()+", not a number")
	}
	return "", false
}

// Amount reads an amount, which may be negative; ok is false when it is absent
// or a fault.
func (r Reader) Amount(name string, u quota.Unit) (a quota.Amount, ok bool) {
	text, ok := r.number(name)
	if !ok {
		return 0, false
	}
	a, err := quota.ParseAmount(text, u)
	switch err {
	case nil:
		return a, true
	case quota.ErrNumberRange:
		r.Fault(name, "is beyond "+u.Max().Format(u)+", the most that one amount may be")
	default:
		r.Fault(name, err.Error())
	}
	return 0, false
}

// Ratio reads a ratio within low..high; ok is false when it is absent or a
// fault.
func (r Reader) Ratio(name string, low, high quota.Ratio) (v quota.Ratio, ok bool) {
	text, ok := r.number(name)
	if !ok {
		return 0, false
	}
	v, err := quota.ParseRatio(text)
	if err == nil && (v < low || v > high) {
		err = fmt.Errorf("is not within %s to %s", low, high)
	}
	if err != nil {
		r.Fault(name, err.Error())
		return 0, false
	}
	return v, true
}

// Int reads a whole number within low..high; ok is false when it is absent or a
// fault.
func (r Reader) Int(name string, low, high int64) (n int64, ok bool) {
	text, ok := r.number(name)
	if !ok {
		return 0, false
	}
	n, err := quota.ParseInt(text)
	switch {
	case err == quota.ErrNumberDecimal:
		r.Fault(name, "is not a whole number")
	case err == quota.ErrNumberRange, err == nil && (n < low || n > high):
		r.Fault(name, fmt.Sprintf("is not within %d to %d", low, high))
	case err != nil:
		r.Fault(name, err.Error())
	default:
		return n, true
	}
	return 0, false
}

// NeedInt is Int of a field that must be there.
func (r Reader) NeedInt(name string, low, high int64) int64 {
	if !r.Need(name) {
		return 0
	}
	n, _ := r.Int(name, low, high)
	return n
}

// Flag reads a boolean; ok is false when it is absent or a fault.
func (r Reader) Flag(name string) (b, ok bool) {
	v, ok := r.kind(name, Bool)
	return v.Bool, ok
}

// Instant reads a time in epoch milliseconds; 0 when absent.
func (r Reader) Instant(name string) int64 {
	v := r.Get(name)
	switch v.Kind {
	case Absent:
		return 0
	case Number, String:
	default:
		r.Fault(name, quota.ErrNotInstant.Error())
		return 0
	}
	ms, err := quota.ParseInstant(v.Text)
	if err != nil {
		r.Fault(name, err.Error())
		return 0
	}
	return ms
}

// Enum reads a string that parse knows; legal names the words for the message.
// ok is false when it is absent or a fault.
func Enum[T any](r Reader, name string, parse func(string) (T, bool), legal string) (word T, ok bool) {
	v, ok := r.kind(name, String)
	if !ok {
		return word, false
	}
	if word, ok = parse(v.Text); !ok {
		r.Fault(name, "is "+Show(v.Text)+": use "+legal)
	}
	return word, ok
}

// Object reads an object; ok is false when it is absent or a fault.
func (r Reader) Object(name string) (o Reader, ok bool) {
	v, ok := r.kind(name, Object)
	return Reader{v.Fields, r.Path(name), r.faults}, ok
}

// Array reads an array of at most most items; ok is false when it is absent or
// a fault.
func (r Reader) Array(name string, most int) (items []Value, ok bool) {
	v, ok := r.kind(name, Array)
	if len(v.Items) > most {
		r.Fault(name, fmt.Sprintf("has %d items, more than %d", len(v.Items), most))
		return nil, false
	}
	return v.Items, ok
}

// Objects reads an array of at most most objects; an item that is none is a
// fault and left out. ok is false when the array is absent or a fault.
func (r Reader) Objects(name string, most int) (objects []Reader, ok bool) {
	items, ok := r.Array(name, most)
	for i, item := range items {
		if o, ok := Read(item, r.ItemPath(name, i), r.faults); ok {
			objects = append(objects, o)
		}
	}
	return objects, ok
}

// ItemPath returns the path of the i-th item of the array of that name.
func (r Reader) ItemPath(name string, i int) string {
	return r.Path(name) + "[" + strconv.Itoa(i) + "]"
}

// IDs reads an array of at most most ids; ok is false when the array is absent
// or a fault.
func (r Reader) IDs(name string, most int) (ids []string, ok bool) {
	items, ok := r.Array(name, most)
	for i, item := range items {
		err := quota.ValidateID(item.Text)
		switch {
		case item.Kind != String:
			r.faults.Add(r.ItemPath(name, i), "is "+item.Kind.String()+", not a string")
		case err != nil:
			r.faults.Add(r.ItemPath(name, i), err.Error())
		default:
			ids = append(ids, item.Text)
		}
	}
	return ids, ok
}
