package openapitest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pb33f/libopenapi/datamodel"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Faults tells what is wrong with the document itself, sorted: against the
// specification, and against the rules that ours has beyond it. Every field is
// described, and answers have no field that is not.
func (d *Document) Faults() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &faults{d: d, used: map[string]bool{}}
	f.metaschema()
	f.references(d.root, "")
	for _, o := range d.operations() {
		f.operation(o)
	}
	f.components()
	slices.Sort(f.list)
	return slices.Compact(f.list)
}

type faults struct {
	d    *Document
	list []string
	used map[string]bool // operation ids, and pointers that something refers to
}

func (f *faults) add(format string, args ...any) {
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

// metaschema compares with what every OpenAPI 3.1 document obeys, the schema of
// the OpenAPI Initiative.
func (f *faults) metaschema() {
	c := jsonschema.NewCompiler()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(datamodel.OpenAPI31SchemaData))
	if err == nil {
		err = c.AddResource("oas31.json", v)
	}
	var s *jsonschema.Schema
	if err == nil {
		s, err = c.Compile("oas31.json")
	}
	if err == nil {
		err = s.Validate(map[string]any(f.d.root))
	}
	if err != nil {
		f.add("specification: %v", err)
	}
}

// references finds those that lead nowhere.
func (f *faults) references(node any, at string) {
	switch n := node.(type) {
	case object:
		if ref := text(n, "$ref"); ref != "" {
			f.used[strings.TrimPrefix(ref, "#")] = true
			if _, _, err := f.d.resolve(strings.TrimPrefix(ref, "#")); err != nil || !strings.HasPrefix(ref, "#/") {
				f.add("%s: $ref %s leads nowhere", at, ref)
			}
		}
		for name, value := range n {
			f.references(value, pointer(at, name))
		}
	case []any:
		for i, item := range n {
			f.references(item, pointer(at, fmt.Sprint(i)))
		}
	}
}

func (f *faults) operation(o *operation) {
	id := text(o.node, "operationId")
	if id == "" || f.used[id] {
		f.add("%s: operationId %q is empty or not the only one", o, id)
	}
	f.used[id] = true
	if text(o.node, "summary") == "" {
		f.add("%s: summary is missing", o)
	}
	f.pathParameters(o)
	f.examples(o)
	for _, at := range f.d.responses(o) {
		f.answers(o, at)
	}
}

// pathParameters compares the parameters with the names in the path.
func (f *faults) pathParameters(o *operation) {
	var want, have []string
	for _, part := range strings.Split(o.path, "/") {
		if strings.HasPrefix(part, "{") {
			want = append(want, strings.Trim(part, "{}"))
		}
	}
	given := map[string]bool{}
	for _, p := range f.d.parameters(o) {
		if given[p.in+p.name] {
			f.add("%s: parameter %s is there twice", o, p.name)
		}
		given[p.in+p.name] = true
		if p.in == "path" && p.required {
			have = append(have, p.name)
		}
	}
	if !slices.Equal(want, have) {
		f.add("%s: parameters in the path are %q, declared and required are %q", o, want, have)
	}
}

// examples looks for one of each body that people write, and holds it against
// the schema.
func (f *faults) examples(o *operation) {
	node, at, err := f.d.resolve(pointer(o.pointer, "requestBody"))
	if err != nil {
		return
	}
	content, _ := node.(object)["content"].(object)
	for media, value := range content {
		examples, _ := value.(object)["examples"].(object)
		if len(examples) == 0 && !strings.HasSuffix(media, "msgpack") {
			f.add("%s: a body of %s has no example", o, media)
		}
		for name, example := range examples {
			s, err := f.d.schema(pointer(at, "content", media, "schema"))
			if err == nil {
				err = s.Validate(example.(object)["value"])
			}
			if err != nil {
				f.add("%s: example %q of %s: %v", o, name, media, err)
			}
		}
	}
}

// answers looks for schemas that would let unknown fields pass.
func (f *faults) answers(o *operation, at string) {
	for _, at := range f.d.bodies(at) {
		s, err := f.d.schema(at)
		if err != nil {
			f.add("%s: %v", o, err)
			continue
		}
		properties(s, map[string]bool{}, func(s *jsonschema.Schema, _ string) {
			if s.AdditionalProperties != false {
				f.add("%s: additionalProperties is not false, so an answer may have any field", strings.TrimPrefix(s.Location, location+"#"))
			}
		})
	}
}

// components finds what nobody refers to, and judges each schema.
func (f *faults) components() {
	components, _ := f.d.root["components"].(object)
	for kind, value := range components {
		list, _ := value.(object)
		for name, node := range list {
			at := pointer("/components", kind, name)
			if !f.used[at] && kind != "securitySchemes" {
				f.add("%s is referred to by nobody", at)
			}
			if o, ok := node.(object); ok && kind == "schemas" {
				f.schema(o, at, true)
			}
		}
	}
}

// keywords are those that our schemas use. Another one is a typing error, or
// one that the walks of this package would have to learn.
var keywords = []string{
	"$ref", "additionalProperties", "anyOf", "const", "contentEncoding", "default", "dependentRequired", "description", "enum", "exclusiveMinimum", "format",
	"items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minimum", "not", "oneOf", "pattern", "properties", "required", "type",
}

// schema judges one schema and those within it. A described one says what it is
// about; a choice, or a field that such a choice only judges further, need not.
func (f *faults) schema(s object, at string, described bool) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(keywords, name) {
			f.add("%s: %s is no keyword that we use", at, name)
		}
	}
	if described && f.description(s) == "" {
		f.add("%s: description is missing", at)
	}
	if _, err := f.d.schema(at); err != nil {
		f.add("%s: %v", at, err)
	}
	list, _ := s["properties"].(object)
	for name, value := range list {
		if p, ok := value.(object); ok {
			f.schema(p, pointer(at, "properties", name), described)
		}
	}
	for _, choice := range []string{"anyOf", "oneOf"} {
		items, _ := s[choice].([]any)
		for i, item := range items {
			if o, ok := item.(object); ok {
				f.schema(o, pointer(at, choice, fmt.Sprint(i)), false)
			}
		}
	}
	if items, ok := s["items"].(object); ok {
		f.schema(items, pointer(at, "items"), false)
	}
}

// description is the schema's own, or that of the one it refers to.
func (f *faults) description(s object) string {
	if own := text(s, "description"); own != "" || s["$ref"] == nil {
		return own
	}
	node, _, _ := f.d.resolve(strings.TrimPrefix(text(s, "$ref"), "#"))
	other, _ := node.(object)
	return text(other, "description")
}
