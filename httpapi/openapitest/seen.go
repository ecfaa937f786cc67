package openapitest

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// place names a property of the schema, parameter or header there.
func place(at, name string) string { return strings.TrimPrefix(at, location+"#") + ": " + name }

// mark remembers the properties that the value has.
func (d *Document) mark(s *jsonschema.Schema, v any) {
	for _, other := range applied(s, v) {
		d.mark(other, v)
	}
	switch v := v.(type) {
	case object:
		for name, value := range v {
			if p, ok := s.Properties[name]; ok {
				d.seen[place(s.Location, name)] = true
				d.mark(p, value)
			}
		}
	case []any:
		if s.Items2020 == nil {
			return
		}
		for _, item := range v {
			d.mark(s.Items2020, item)
		}
	}
}

// applied are the schemas that judge the same value: of a choice those that it
// fits.
func applied(s *jsonschema.Schema, v any) (list []*jsonschema.Schema) {
	if s.Ref != nil {
		list = append(list, s.Ref)
	}
	list = append(list, s.AllOf...)
	for _, choice := range slices.Concat(s.AnyOf, s.OneOf) {
		if choice.Validate(v) == nil {
			list = append(list, choice)
		}
	}
	return list
}

// Unseen lists what the document promises and no checked exchange had: the
// properties and headers of answers, and the parameters of queries, sorted.
func (d *Document) Unseen() (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	promised := map[string]bool{}
	for _, o := range d.operations() {
		d.promises(o, promised)
	}
	for what := range promised {
		if !d.seen[what] {
			list = append(list, what)
		}
	}
	slices.Sort(list)
	return list
}

func (d *Document) promises(o *operation, promised map[string]bool) {
	for _, p := range d.parameters(o) {
		if p.in == "query" {
			promised[place(o.String(), p.name)] = true
		}
	}
	for _, at := range d.responses(o) {
		node, _, _ := d.resolve(at)
		response, _ := node.(object)
		headers, _ := response["headers"].(object)
		for name := range headers {
			if _, at, err := d.resolve(pointer(at, "headers", name)); err == nil {
				promised[place(at, name)] = true
			}
		}
		for _, at := range d.bodies(at) {
			if s, err := d.schema(at); err == nil {
				properties(s, map[string]bool{}, func(s *jsonschema.Schema, name string) { promised[place(s.Location, name)] = true })
			}
		}
	}
}

// bodies are the pointers to the schemas of an answer.
func (d *Document) bodies(at string) (list []string) {
	node, _, _ := d.resolve(at)
	response, _ := node.(object)
	content, _ := response["content"].(object)
	for media, value := range content {
		at := pointer(at, "content", media)
		list = append(list, pointer(at, "schema"))
		named, _ := value.(object)[eventSchemas].(object)
		for name := range named {
			list = append(list, pointer(at, eventSchemas, name))
		}
	}
	return list
}

// responses are the pointers to the operation's answers.
func (d *Document) responses(o *operation) (list []string) {
	all, _ := o.node["responses"].(object)
	for status := range all {
		if _, at, err := d.resolve(pointer(o.pointer, "responses", status)); err == nil {
			list = append(list, at)
		}
	}
	return list
}

// properties calls f for every property that the schema leads to. Schemas that
// only judge a choice further, and say nothing of their own, are in it too.
func properties(s *jsonschema.Schema, visited map[string]bool, f func(*jsonschema.Schema, string)) {
	if s == nil || visited[s.Location] {
		return
	}
	visited[s.Location] = true
	for name, p := range s.Properties {
		f(s, name)
		properties(p, visited, f)
	}
	properties(s.Ref, visited, f)
	properties(s.Items2020, visited, f)
	for _, other := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		properties(other, visited, f)
	}
}

// Unasked lists the operations of which no checked exchange was accepted.
func (d *Document) Unasked() (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.operations() {
		if !d.seen[o.String()] {
			list = append(list, o.String())
		}
	}
	return list
}
