package e2e

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quotashare/quotashare/schemas"
)

// asyncAPISchema is what every document of AsyncAPI 3.0 obeys, as its makers give it out.
func asyncAPISchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const at = "http://asyncapi.com/definitions/3.0.0/asyncapi.json"
	data, err := os.ReadFile("node/node_modules/@asyncapi/specs/schemas/3.0.0.json")
	if err != nil {
		t.Fatalf("the schema of AsyncAPI is not there: run (cd e2e/node && npm ci): %v", err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(at, v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTheAsyncAPIDocumentIsOne, and is none any more when a word of it is changed.
func TestTheAsyncAPIDocumentIsOne(t *testing.T) {
	schema := asyncAPISchema(t)
	doc, err := schemas.AsyncAPI("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for was, is := range map[string]string{
		"": "", `"asyncapi":"3.0.0"`: `"asyncapi":"2.6.0"`, `"action":"receive"`: `"action":"publish"`, `"protocol":"nats"`: `"protocol":1`,
		`"channel":{"$ref"`: `"channels":{"$ref"`, `"type":"userPassword"`: `"type":"password"`, `"channels":{`: `"channel":{`, `"minItems":1`: `"minItems":"1"`,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(string(doc), was, is, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err != nil) != (was != "") {
			t.Errorf("%s in place of %s: %v", is, was, err)
		}
	}
}
