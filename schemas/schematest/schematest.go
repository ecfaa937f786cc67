// Package schematest judges documents by the schemas of package schemas, for the
// tests of those who write and read them. Formats and contents are only described
// by a schema, and judged by nobody.
package schematest

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quotashare/quotashare/schemas"
)

// asyncAPI is the name that the AsyncAPI document has as a resource of JSON Schema.
const asyncAPI = schemas.Base + "asyncapi.json"

// judge compiles each schema once.
type judge struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

var shared = sync.OnceValues(func() (*judge, error) {
	c := jsonschema.NewCompiler()
	doc, err := schemas.AsyncAPI("1.2.3")
	if err != nil {
		return nil, err
	}
	add := func(at string, data []byte) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		return c.AddResource(at, v)
	}
	if err := add(asyncAPI, doc); err != nil {
		return nil, err
	}
	for _, name := range schemas.Names() {
		data, _ := schemas.Open(name)
		if err := add(schemas.Base+name+".json", data); err != nil {
			return nil, err
		}
	}
	return &judge{compiler: c}, nil
})

func (j *judge) compile(at string) (*jsonschema.Schema, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.compiler.Compile(at)
}

// Valid judges a document of JSON by a schema: the name of one, which may be followed
// by a fragment for a part of it, such as question#/$defs/Estimate.
func Valid(schema string, doc []byte) error {
	name, fragment, _ := strings.Cut(schema, "#")
	return valid(schemas.Base+name+".json#"+fragment, doc)
}

// Payload judges a document of JSON by what the AsyncAPI document says of the payload
// of that message.
func Payload(message string, doc []byte) error {
	return valid(place(message, "payload"), doc)
}

// Headers judges the headers of a message of NATS, by their first values, as Payload
// does its payload. One that the document does not name is an error too.
func Headers(message string, header map[string][]string) error {
	j, err := shared()
	if err != nil {
		return err
	}
	s, err := j.compile(place(message, "headers"))
	if err != nil {
		return err
	}
	for s.Ref != nil {
		s = s.Ref
	}
	v := map[string]any{}
	for name, values := range header {
		if s.Properties[name] == nil {
			return fmt.Errorf("message %s has no header %s", message, name)
		}
		v[name] = values[0]
	}
	return s.Validate(v)
}

// place is a part of a message of the AsyncAPI document.
func place(message, part string) string {
	return asyncAPI + "#/components/messages/" + message + "/" + part
}

func valid(at string, doc []byte) error {
	j, err := shared()
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	s, err := j.compile(at)
	if err != nil {
		return err
	}
	return s.Validate(v)
}
