package wire

import "slices"

// MergePatch applies a JSON Merge Patch (RFC 7396): objects merge field by
// field, null removes a field, everything else replaces what is there. A patch
// that is no object replaces the whole target. Neither argument is changed; the
// result shares memory with both. Fields of the target keep their places, new
// ones follow in the order of the patch.
func MergePatch(target, patch Value) Value {
	if patch.Kind != Object {
		return patch
	}
	var fields []Field
	if target.Kind == Object {
		fields = slices.Clone(target.Fields)
	}
	// A map, for a patch may have very many fields: comparing each with each
	// would take the square of the message's length.
	places := make(map[string]int, len(fields))
	for i := range fields {
		places[fields[i].Name] = i
	}
	for _, f := range patch.Fields {
		i, there := places[f.Name]
		switch {
		case there && f.Value.Kind == Null:
			fields[i].Value = Value{} // Absent: taken out below, so that places stay right
		case there:
			fields[i].Value = MergePatch(fields[i].Value, f.Value)
		case f.Value.Kind != Null:
			fields = append(fields, Field{f.Name, MergePatch(Value{}, f.Value)})
		}
	}
	return Value{Kind: Object, Fields: slices.DeleteFunc(fields, Field.absent)}
}

func (f Field) absent() bool { return f.Value.Kind == Absent }
