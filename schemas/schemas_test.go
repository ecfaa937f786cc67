package schemas

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quotashare/quotashare/wire"
)

type object = map[string]any

// all are the files as documents, by name.
func all(t *testing.T) map[string]object {
	t.Helper()
	list := map[string]object{}
	for _, name := range Names() {
		data, ok := Open(name)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if !ok || err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list[name] = v.(object)
	}
	return list
}

// compiler knows all files by their $id.
func compiler(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	for name, v := range all(t) {
		if err := c.AddResource(Base+name+".json", v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return c
}

// TestEachFileIsASchema of the draft that it names, under its own name, and has
// examples that are valid.
func TestEachFileIsASchema(t *testing.T) {
	c := compiler(t)
	for name, v := range all(t) {
		if v["$schema"] != "https://json-schema.org/draft/2020-12/schema" || v["$id"] != Base+name+".json" {
			t.Errorf("%s: $schema is %v, $id is %v", name, v["$schema"], v["$id"])
		}
		s, err := c.Compile(Base + name + ".json")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		examples, _ := v["examples"].([]any)
		if len(examples) == 0 && name != "common" {
			t.Errorf("%s has no example", name)
		}
		for i, e := range examples {
			if err := s.Validate(e); err != nil {
				t.Errorf("%s: example %d: %v", name, i, err)
			}
		}
		parts, _ := v[defs].(object)
		for def := range parts {
			if _, err := c.Compile(Base + name + ".json#/$defs/" + def); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// keywords are those that our schemas use; another one is a typing error.
var keywords = strings.Fields(`$ref additionalProperties anyOf const contentEncoding default dependentRequired description enum exclusiveMinimum format
	items maxItems maxLength maxProperties maximum minItems minLength minimum not oneOf pattern properties required type`)

// TestEverythingIsDescribed: each schema, and each field that one defines, says what
// it is; a choice that only judges further need not.
func TestEverythingIsDescribed(t *testing.T) {
	for name, v := range all(t) {
		d := described{t, name}
		if v["title"] == "" || v["title"] == nil {
			t.Errorf("%s has no title", name)
		}
		parts, _ := v[defs].(object)
		for _, part := range slices.Sorted(maps.Keys(parts)) {
			d.check(parts[part].(object), "/$defs/"+part)
		}
		own := maps.Clone(v)
		maps.DeleteFunc(own, func(k string, _ any) bool { return slices.Contains(ofFile, k) })
		if name != "common" {
			d.check(own, "")
		}
	}
}

type described struct {
	t    *testing.T
	file string
}

func (d described) check(s object, at string) {
	d.t.Helper()
	d.words(s, at)
	if s["description"] == nil && s["$ref"] == nil {
		d.t.Errorf("%s.json#%s is not described", d.file, at)
	}
	list, _ := s["properties"].(object)
	for name, p := range list {
		d.check(p.(object), at+"/properties/"+name)
	}
	if items, ok := s["items"].(object); ok {
		d.words(items, at+"/items")
	}
	for _, choice := range []string{"anyOf", "oneOf"} {
		options, _ := s[choice].([]any)
		for _, o := range options {
			d.words(o.(object), at+"/"+choice)
		}
	}
}

func (d described) words(s object, at string) {
	d.t.Helper()
	for word := range s {
		if !slices.Contains(keywords, word) {
			d.t.Errorf("%s.json#%s: %s is no keyword that we use", d.file, at, word)
		}
	}
}

// TestEveryPartIsUsed by a schema, by the AsyncAPI document or by the one of OpenAPI,
// which has tests of its own for what it refers to and has not.
func TestEveryPartIsUsed(t *testing.T) {
	known, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := parse(asyncAPI)
	if err != nil {
		t.Fatal(err)
	}
	used := references(doc, nil)
	for _, p := range known {
		body, err := p.embedded()
		if err != nil {
			t.Error(err)
		}
		used = references(body, used)
	}
	onlyHTTP := []string{"Results", "EventsRefusal", "Refusal"}
	for name := range known {
		if name != "Common" && slices.Contains(used, name) == slices.Contains(onlyHTTP, name) {
			t.Errorf("%s is used by nobody, or is no document of HTTP alone", name)
		}
	}
}

// TestComplete: what a document refers to is put into it, with what that refers to.
func TestComplete(t *testing.T) {
	for _, c := range []struct{ doc, want, err string }{
		{`{"x":{"$ref":"#/components/schemas/Own"},"components":{"schemas":{"Own":{"items":{"$ref":"#/components/schemas/Due"}}}}}`, "Own Due OptionalId TimeToSend", ""},
		{`{"x":[{"$ref":"#/components/schemas/Decision"}]}`, "Decision", ""},
		{`{"x":{"$ref":"#/components/messages/Due"}}`, "", ""},
		{`{"x":{"$ref":"#/components/schemas/Duo"}}`, "", "#/components/schemas/Duo is defined nowhere"},
		{`{"components":{"schemas":{"Due":{}}}}`, "", "#/components/schemas/Due is defined in package schemas too: refer to it"},
	} {
		doc, err := wire.ParseJSON([]byte(c.doc))
		if err != nil {
			t.Fatal(err)
		}
		if err := Complete(&doc); c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v, want %s", c.doc, err, c.err)
			}
			continue
		} else if err != nil {
			t.Errorf("%s: %v", c.doc, err)
			continue
		}
		var names []string
		for _, f := range field(field(doc, "components"), "schemas").Fields {
			names = append(names, f.Name)
			if field(f.Value, "$id").Kind != wire.Absent || field(f.Value, "title").Kind != wire.Absent || field(f.Value, defs).Kind != wire.Absent {
				t.Errorf("%s says what only a file does", f.Name)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.doc, got, c.want)
		}
	}
}

// TestOpen takes names of schemas, and of nothing else.
func TestOpen(t *testing.T) {
	for _, name := range []string{"", "due.json", "asyncapi", "doc.go", "../go", "Due"} {
		if _, ok := Open(name); ok {
			t.Errorf("%q is a schema", name)
		}
	}
	data, ok := Open("due")
	if !ok || !json.Valid(data) {
		t.Errorf("due: %v %s", ok, data)
	}
}
