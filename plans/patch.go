package plans

import (
	"bytes"
	"slices"

	"github.com/quotashare/quotashare/wire"
)

// PatchPool returns the pool with a JSON Merge Patch (RFC 7396) applied to its
// document, and names every fault of the result by its field. now is not
// changed. The pool is returned with its faults as by ParsePool, nil only when
// the patch is no object or the document too large to be patched.
//
// The patch differs from the plain RFC where that would surprise: connections,
// connectionIds and connectionId are three spellings of one thing, so a patch
// with one of them drops the others, and connections that are only named keep
// the weight and maxConcurrent they have. The id and createdAt stay; the fields
// that only the server writes are ignored, so that a client may send back what
// it was shown.
func PatchPool(now *Pool, patch wire.Value) (*Pool, wire.Faults) {
	var faults wire.Faults
	r, ok := wire.Read(patch, "", &faults)
	if !ok {
		return nil, faults
	}
	doc, err := wire.ParseJSON(AppendPoolJSON(nil, now))
	if err != nil { // more values than a message may have, once every default is written out
		faults.Add("", "is too large to be patched: "+err.Error())
		return nil, faults
	}
	checkSameID(patch, now.ID, &faults)
	// Null takes away the two that the document has; the third it never has.
	if has(patch, "connections") || has(patch, "connectionIds") || r.Has("connectionId") {
		doc = without(doc, "connections", "connectionIds")
	}
	p, more := ParsePool(now.ID, wire.MergePatch(doc, without(patch, "id", "createdAt")))
	if !r.Has("connections") {
		p.adoptConnections(now.Connections)
	}
	return p, append(faults, more...)
}

// checkSameID looks at the id of a patch. Null would take the id away, and is
// no less a fault than another one.
func checkSameID(patch wire.Value, id string, faults *wire.Faults) {
	for _, f := range patch.Fields {
		if f.Name == "id" && (f.Value.Kind != wire.String || f.Value.Text != id) {
			faults.Add("id", "is not "+id+": a pool keeps its id")
		}
	}
}

// has reports whether the object has a field of that name, null or not: in a
// patch null says something.
func has(object wire.Value, name string) bool {
	return slices.ContainsFunc(object.Fields, func(f wire.Field) bool { return f.Name == name })
}

// without returns the object without the fields of these names.
func without(object wire.Value, names ...string) wire.Value {
	object.Fields = slices.DeleteFunc(slices.Clone(object.Fields), func(f wire.Field) bool {
		return slices.Contains(names, f.Name)
	})
	return object
}

// adoptConnections gives each connection what was set for it before.
func (p *Pool) adoptConnections(before []Connection) {
	known := make(map[string]Connection, len(before))
	for _, c := range before {
		known[c.ConnectionID] = c
	}
	for i, c := range p.Connections {
		if was, ok := known[c.ConnectionID]; ok {
			p.Connections[i] = was
		}
	}
}

// Equal reports whether both pools say the same, whenever they were created.
// It compares canonical documents: a field added to Pool is in them, or it is
// not stored either.
func (p *Pool) Equal(q *Pool) bool {
	return bytes.Equal(p.canonical(), q.canonical())
}

func (p *Pool) canonical() []byte {
	undated := *p
	undated.CreatedAt = 0
	return AppendPoolJSON(nil, &undated)
}
