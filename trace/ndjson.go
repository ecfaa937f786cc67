package trace

import (
	"io"
	"slices"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// NewNDJSON reads events, one JSON document per line. A line is passed on as it
// is unless it lacks an id or has to be shifted; what it says is judged where
// all events are.
func NewNDJSON(src io.Reader, o Options) *Reader {
	r := newReader(src, o)
	r.parse = (*Reader).event
	return r
}

// event reads a line of NDJSON. One that is no object goes on unchanged: its
// error is better said once, by who takes the events.
func (r *Reader) event(line []byte) (Row, bool, error) {
	v, err := wire.ParseJSON(line)
	if err != nil || v.Kind != wire.Object {
		return Row{Event: line}, true, nil
	}
	row := Row{Event: line}
	changed := r.rebase(&v, &row)
	if field(&v, "id") == nil {
		id := wire.Value{Kind: wire.String, Text: r.id("import", wire.AppendValue(nil, wire.JSON, v))}
		v.Fields = append([]wire.Field{{Name: "id", Value: id}}, without(v.Fields, "id")...)
		changed = true
	}
	if changed {
		row.Event = wire.AppendValue(nil, wire.JSON, v)
	}
	return row, true, nil
}

// rebase shifts the event's time, if it has one that can be read. A CloudEvent
// has its time in the same place.
func (r *Reader) rebase(v *wire.Value, row *Row) bool {
	t := field(v, "time")
	if t == nil || (t.Kind != wire.String && t.Kind != wire.Number) {
		return false
	}
	ms, err := quota.ParseInstant(t.Text)
	if err != nil {
		return false
	}
	row.Time = ms + r.shift
	if r.shift == 0 {
		return false
	}
	*t = wire.Value{Kind: wire.String, Text: quota.FormatInstant(row.Time)}
	return true
}

// without drops a field that is null: it counts as absent, but a second one of
// its name would be an error.
func without(fields []wire.Field, name string) []wire.Field {
	return slices.DeleteFunc(fields, func(f wire.Field) bool { return f.Name == name })
}

// field returns what the object has under that name; null is absent.
func field(v *wire.Value, name string) *wire.Value {
	for i := range v.Fields {
		if f := &v.Fields[i]; f.Name == name && f.Value.Kind != wire.Null {
			return &f.Value
		}
	}
	return nil
}
