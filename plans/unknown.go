package plans

import (
	"strings"

	"github.com/quotashare/quotashare/wire"
)

// maxWarnings bounds the warnings of one answer. Who has that many reads them
// in several goes anyway.
const maxWarnings = 20

// field is one field that a document may have, and, when it is an array of
// objects, the fields that those may have.
type field struct {
	name  string
	items []field
}

var (
	poolFields = []field{
		{name: "id"},
		{name: "name"},
		{name: "provider"},
		{name: "mode"},
		{name: "rule"},
		{name: "reserve"},
		{name: "onDegraded"},
		{"connections", []field{{name: "connectionId"}, {name: "weight"}, {name: "maxConcurrent"}}},
		{name: "connectionIds"},
		{name: "connectionId"},
		{"allocations", allocationFields},
		{"modelCaps", []field{{name: "apiKeyId"}, {name: "model"}, {name: "capUnit"}, {name: "capValue"}}},
	}
	allocationFields = []field{
		{name: "apiKeyId"},
		{name: "weight"},
		{name: "policy"},
		{name: "suspended"},
		{"caps", []field{{name: "unit"}, {name: "window"}, {name: "value"}}},
		{name: "capUnit"},
		{name: "capValue"},
	}
	planFields = []field{
		{name: "connectionId"},
		{"dimensions", []field{{name: "unit"}, {name: "window"}, {name: "limit"}}},
	}
)

// What the server adds when it shows a document. It comes back with documents
// that were read, changed and sent, so it is no typo; nor is it ever the right
// word for one.
var (
	shownWithPools = []string{"revision", "updatedAt", "actor", "reason", "warnings", "enforcing", "createdAt"}
	shownWithPlans = []string{"revision", "updatedAt", "actor", "reason", "warnings", "provider", "poolId", "source"}
)

// UnknownPoolFields returns a warning for each field of a pool document, or of
// a patch of one, that nobody reads: most are typos, and what they say would
// otherwise silently not count. At most 20.
func UnknownPoolFields(doc wire.Value) wire.Faults {
	return unknownFields(doc, poolFields, shownWithPools)
}

// UnknownPlanFields is UnknownPoolFields for plan documents.
func UnknownPlanFields(doc wire.Value) wire.Faults {
	return unknownFields(doc, planFields, shownWithPlans)
}

func unknownFields(doc wire.Value, known []field, shown []string) wire.Faults {
	var found wire.Faults
	addUnknown(without(doc, shown...), "", known, &found)
	return found
}

// addUnknown adds the unknown fields of the object at the path, as far as there
// is room.
func addUnknown(object wire.Value, path string, known []field, found *wire.Faults) {
	r, _ := wire.Read(object, path, new(wire.Faults)) // what is no object has no fields, and its fault from the parser
	for _, f := range object.Fields {
		if len(*found) == maxWarnings {
			return
		}
		k, ok := findField(known, f.Name)
		if !ok {
			found.Add(r.Path(wire.Show(f.Name)), "is unknown and was ignored"+meant(f.Name, names(known)))
			continue
		}
		if k.items == nil {
			continue
		}
		for i, item := range f.Value.Items {
			addUnknown(item, r.ItemPath(f.Name, i), k.items, found)
		}
	}
}

func findField(known []field, name string) (field, bool) {
	for _, k := range known {
		if k.name == name {
			return k, true
		}
	}
	return field{}, false
}

func names(fields []field) []string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.name
	}
	return list
}

// meant returns ": did you mean …?" with the nearest of the words, "" when none
// is near. Case does not count. Near is at most two edits (a letter more, less
// or other; two swapped are two), and not more than one for every two letters:
// else "x" would be near to "id".
func meant(name string, words []string) string {
	name = strings.ToLower(name)
	best, least := "", min(2, len(name)/2)+1
	for _, w := range words {
		if d := edits(name, strings.ToLower(w), least); d < least {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}

// edits returns the Levenshtein distance of a and b in bytes, or some number
// that is not below most when it is not below most. It keeps one row of the
// table: row[j] is the distance between what was read of a and the first j
// bytes of b.
func edits(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most { // a name may be megabytes
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
