package openapitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// small is a document without a fault.
const small = `{
  "openapi": "3.1.0",
  "info": { "title": "T", "version": "1" },
  "paths": {
    "/things/{id}": {
      "parameters": [{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }],
      "get": {
        "operationId": "getThing",
        "summary": "One",
        "parameters": [{ "$ref": "#/components/parameters/Deep" }, { "name": "part", "in": "query", "schema": { "type": "array", "maxItems": 2, "items": { "type": "string", "minLength": 1 } } }],
        "responses": {
          "200": {
            "description": "It.",
            "headers": { "ETag": { "required": true, "schema": { "type": "string", "pattern": "^\"[0-9]+\"$" } } },
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Thing" } } }
          },
          "404": { "$ref": "#/components/responses/Missing" }
        }
      },
      "put": {
        "operationId": "putThing",
        "summary": "Set it",
        "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/NewThing" }, "examples": { "a": { "value": { "size": 1 } } } } } },
        "responses": { "204": { "description": "Done." } }
      }
    },
    "/news": {
      "get": {
        "operationId": "getNews",
        "summary": "News",
        "responses": { "200": { "description": "News.", "content": { "text/event-stream": { "schema": { "type": "string" }, "x-events": { "thing": { "$ref": "#/components/schemas/Thing" } } } } } }
      }
    }
  },
  "components": {
    "parameters": { "Deep": { "name": "deep", "in": "query", "schema": { "type": "boolean" } } },
    "responses": { "Missing": { "description": "None.", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Refusal" } } } } },
    "schemas": {
      "Thing": {
        "type": "object", "description": "A thing.", "required": ["size"], "additionalProperties": false,
        "properties": {
          "size": { "$ref": "#/components/schemas/Size" },
          "born": { "type": "string", "format": "date-time", "description": "When." },
          "data": { "type": "string", "contentEncoding": "base64", "description": "What is in it." },
          "parts": { "type": "array", "items": { "$ref": "#/components/schemas/Part" }, "description": "Its parts." }
        }
      },
      "Part": {
        "type": "object", "description": "A part.", "oneOf": [{ "required": ["left"] }, { "required": ["right"] }], "additionalProperties": false,
        "properties": { "left": { "const": true, "description": "It is left." }, "right": { "const": true, "description": "It is right." } }
      },
      "NewThing": { "type": "object", "description": "A thing.", "required": ["size"], "properties": { "size": { "type": "integer", "description": "How large." } } },
      "Size": { "type": "integer", "minimum": 1, "description": "How large." },
      "Refusal": { "type": "object", "description": "Why not.", "required": ["error"], "additionalProperties": false, "properties": { "error": { "type": "string", "description": "Why." } } }
    }
  }
}`

func load(t *testing.T, text string) *Document {
	t.Helper()
	if !json.Valid([]byte(text)) {
		t.Fatalf("no JSON: %s", text)
	}
	d, err := Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Each fault of a document is found, and a document without is left alone.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ old, replaced, want string }{
		{"", "", ""},
		{`"summary": "One",`, ``, "GET /things/{id}: summary is missing"},
		{`"operationId": "putThing"`, `"operationId": "getThing"`, `PUT /things/{id}: operationId "getThing" is empty or not the only one`},
		{`"operationId": "putThing",`, ``, `operationId "" is empty`},
		{`{ "name": "id", "in": "path"`, `{ "name": "ids", "in": "path"`, `parameters in the path are ["id"], declared and required are ["ids"]`},
		{`"in": "path", "required": true`, `"in": "path", "required": false`, `declared and required are []`},
		{`[{ "$ref": "#/components/parameters/Deep" }`, `[{ "$ref": "#/components/parameters/Deep" }, { "$ref": "#/components/parameters/Deep" }`, "parameter deep is there twice"},
		{`"$ref": "#/components/schemas/Size"`, `"$ref": "#/components/schemas/Bulk"`, "$ref #/components/schemas/Bulk leads nowhere"},
		{`"$ref": "#/components/responses/Missing"`, `"$ref": "other/components/responses/Missing"`, "$ref other/components/responses/Missing leads nowhere"},
		{`"404": { "$ref": "#/components/responses/Missing" }`, `"404": { "description": "None." }`, "/components/responses/Missing is referred to by nobody"},
		{`"examples": { "a": { "value": { "size": 1 } } }`, `"examples": {}`, "a body of application/json has no example"},
		{`"value": { "size": 1 }`, `"value": { "size": "1" }`, `example "a" of application/json: `},
		{`"required": ["size"], "additionalProperties": false,`, `"required": ["size"],`, "/components/schemas/Thing: additionalProperties is not false"},
		{`"required": ["right"] }], "additionalProperties": false,`, `"required": ["right"] }],`, "/components/schemas/Part: additionalProperties is not false"},
		{`"description": "A part.",`, ``, "/components/schemas/Part: description is missing"},
		{`"const": true, "description": "It is left."`, `"const": true`, "/components/schemas/Part/properties/left: description is missing"},
		{`"minimum": 1, "description": "How large."`, `"minimum": 1`, "/components/schemas/Thing/properties/size: description is missing"},
		{`"minimum": 1`, `"minimun": 1`, "/components/schemas/Size: minimun is no keyword that we use"},
		{`"minimum": 1`, `"minimum": "1"`, "/components/schemas/Size: "},
		{`"info": { "title": "T", "version": "1" }`, `"info": { "title": "T" }`, "specification: "},
		{`"x-events"`, `"events"`, "specification: "},
		{`"responses": { "204"`, `"answers": { "204"`, "specification: "},
	} {
		if !strings.Contains(small, c.old) {
			t.Fatalf("%q is not in the document", c.old)
		}
		faults := load(t, strings.Replace(small, c.old, c.replaced, 1)).Faults()
		found := slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, c.want) })
		if c.old == "" && len(faults) > 0 || c.old != "" && !found {
			t.Errorf("%q instead of %q: %q, want %q", c.replaced, c.old, faults, c.want)
		}
	}
}

// got is an answer that is as the document says.
func got() *Exchange {
	return &Exchange{
		Method: "GET", Target: "/things/7?deep=true&part=a", Status: 200, Header: http.Header{"Content-Type": {"application/json"}, "Etag": {`"7"`}},
		Answer: []byte(`{"size":1,"born":"2026-08-14T09:30:15Z","data":"e30=","parts":[{"left":true}]}`),
	}
}

func put(body string) *Exchange {
	return &Exchange{Method: "PUT", Target: "/things/7", Sent: "application/json", Body: []byte(body), Status: 204, Header: http.Header{}}
}

// Each way in which an exchange may not be as the document says is found.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e *Exchange)
		want   string
	}{
		{"as it should be", func(*Exchange) {}, ""},
		{"another status", func(e *Exchange) { e.Status = 201 }, "GET /things/{id}, 201: the document has no such status"},
		{"another type", func(e *Exchange) { e.Header.Set("Content-Type", "text/html") }, `no answer of type "text/html"`},
		{"an unknown field", func(e *Exchange) { e.Answer = []byte(`{"size":1,"bulk":1}`) }, "additional properties 'bulk' not allowed"},
		{"an unknown field inside", func(e *Exchange) { e.Answer = []byte(`{"size":1,"parts":[{"left":true,"x":1}]}`) }, "additional properties 'x' not allowed"},
		{"a field of another type", func(e *Exchange) { e.Answer = []byte(`{"size":"1"}`) }, "got string, want integer"},
		{"a time that is none", func(e *Exchange) { e.Answer = []byte(`{"size":1,"born":"2026-08-14T25:30:15Z"}`) }, "is not valid date-time"},
		{"base64 that is none", func(e *Exchange) { e.Answer = []byte(`{"size":1,"data":"e3"}`) }, "value is not 'base64' encoded"},
		{"no field", func(e *Exchange) { e.Answer = []byte(`{}`) }, "missing property 'size'"},
		{"no JSON", func(e *Exchange) { e.Answer = []byte(`{`) }, "unexpected EOF"},
		{"no ETag", func(e *Exchange) { e.Header.Del("ETag") }, "header ETag is missing"},
		{"another ETag", func(e *Exchange) { e.Header.Set("ETag", "7") }, "header ETag: "},
		{"a header that is not there", func(e *Exchange) { e.Header.Set("Location", "/x") }, "no header Location here"},
		{"an unknown parameter", func(e *Exchange) { e.Target = "/things/7?deeper=true" }, "no parameter deeper"},
		{"another parameter", func(e *Exchange) { e.Target = "/things/7?deep=maybe" }, "parameter deep: "},
		{"a parameter for each item", func(e *Exchange) { e.Target = "/things/7?part=1&part=b" }, ""},
		{"one item too many", func(e *Exchange) { e.Target = "/things/7?part=1&part=b&part=c" }, "parameter part: "},
		{"another item", func(e *Exchange) { e.Target = "/things/7?part=1&part=" }, "parameter part: "},
		{"an encoded id", func(e *Exchange) { e.Target = "/things/a%2Fb" }, ""},
		{"no id", func(e *Exchange) { e.Target = "/things/" }, "no such operation, and the status is 200"},
		{"a slash in the id", func(e *Exchange) { e.Target = "/things/a/b" }, "no such operation"},
		{"no operation, and refused", func(e *Exchange) { e.Method, e.Status, e.Answer = "POST", 405, []byte(`{"error":"no"}`) }, ""},
		{"no operation, and refused in another form", func(e *Exchange) { e.Method, e.Status, e.Answer = "POST", 405, []byte(`{"why":"no"}`) }, "missing property 'error'"},
		{"refused", func(e *Exchange) {
			e.Target, e.Status, e.Answer = "/things/7?deep=maybe", 404, []byte(`{"error":"no"}`)
			e.Header.Del("ETag")
		}, ""},
		{"a body", func(e *Exchange) { *e = *put(`{"size":1,"other":1}`) }, ""},
		{"a body without type", func(e *Exchange) { *e = *put(`{"size":1}`); e.Sent = "" }, ""},
		{"a body that should be refused", func(e *Exchange) { *e = *put(`{}`) }, "the server accepts what the document does not"},
		{"an answer where none is", func(e *Exchange) { *e = *put(`{"size":1}`); e.Answer = []byte("ok") }, "an answer has no body here"},
		{"news", func(e *Exchange) { *e = *news("event: thing\ndata: {\"size\":1}\n") }, ""},
		{"other news", func(e *Exchange) { *e = *news("event: thing\ndata: {\"size\":0}\n") }, `event "thing": `},
		{"unknown news", func(e *Exchange) { *e = *news("event: thing\ndata: {\"size\":1}\n\nevent: rumour\ndata: {}\n") }, `event "rumour": `},
	} {
		e := got()
		c.change(e)
		err := load(t, small).Check(e)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func news(text string) *Exchange {
	return &Exchange{Method: "GET", Target: "/news", Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Answer: []byte(text)}
}

// What was refused in part is not held against the schema of what is accepted.
func TestRequestsThatAreRefusedInPart(t *testing.T) {
	for answer, want := range map[string]bool{
		`{"rejected":1}`: true, `{"rejected":0}`: false, `{"other":1}`: false,
		`[{"error":{}}]`: true, `[{"a":1},{"error":{}}]`: true, `[{"a":1}]`: false, `[]`: false, `7`: false,
	} {
		v, err := decode("application/json", []byte(answer))
		if err != nil || refusedInPart(v) != want {
			t.Errorf("%s: want %v, %v", answer, want, err)
		}
	}
}

func TestUnseen(t *testing.T) {
	d := load(t, small)
	if err := d.Check(got()); err != nil {
		t.Fatal(err)
	}
	want := []string{"/components/schemas/Part: right", "/components/schemas/Refusal: error"}
	if diff := cmp.Diff(want, d.Unseen()); diff != "" {
		t.Errorf("unseen (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"GET /news", "PUT /things/{id}"}, d.Unasked()); diff != "" {
		t.Errorf("unasked (-want +got)\n%s", diff)
	}
	refused := got()
	refused.Status, refused.Answer, refused.Header = 404, []byte(`{"error":"no"}`), http.Header{"Content-Type": {"application/json"}}
	if err := d.Check(refused); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[:1], d.Unseen()); diff != "" {
		t.Errorf("unseen (-want +got)\n%s", diff)
	}
	whole := load(t, small).Unseen()
	if len(whole) != 10 {
		t.Errorf("of nothing seen %d are unseen: %q", len(whole), whole)
	}
}

// Of two forms that an answer may have, it shows the one that it has.
func TestUnseenOfAChoice(t *testing.T) {
	form := func(kind string) string {
		return `{ "type": "object", "additionalProperties": false, "properties": { "kind": { "const": "` + kind + `" } } }`
	}
	d := load(t, strings.Replace(small, `{ "$ref": "#/components/schemas/Thing" } } }
          },`, `{ "oneOf": [`+form("a")+`, `+form("b")+`] } } }
          },`, 1))
	e := got()
	e.Answer = []byte(`{"kind":"b"}`)
	if err := d.Check(e); err != nil {
		t.Fatal(err)
	}
	unseen := strings.Join(d.Unseen(), "\n")
	if !strings.Contains(unseen, "schema/oneOf/0: kind") || strings.Contains(unseen, "schema/oneOf/1: kind") {
		t.Errorf("unseen are\n%s", unseen)
	}
}

func TestAllows(t *testing.T) {
	d := load(t, small)
	for _, c := range []struct{ method, path, media, body, want string }{
		{"PUT", "/things/7", "application/json", `{"size":1}`, ""},
		{"PUT", "/things/7", "application/json", `{"size":1.5}`, "got number, want integer"},
		{"PUT", "/things/7", "application/json", `{`, "unexpected EOF"},
		{"PUT", "/things/7", "text/plain", `{}`, "not found"},
		{"GET", "/things/7", "application/json", `{}`, "leads nowhere"},
		{"PUT", "/nothing", "application/json", `{}`, "the document has no PUT /nothing"},
	} {
		err := d.Allows(c.method, c.path, c.media, []byte(c.body))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s %s %s: %v, want %q", c.method, c.path, c.media, c.body, err, c.want)
		}
	}
	if diff := cmp.Diff([]string{"GET /news", "GET /things/{id}", "PUT /things/{id}"}, d.Operations()); diff != "" {
		t.Errorf("operations (-want +got)\n%s", diff)
	}
	for _, text := range []string{"", "7", "[]", "{"} {
		if _, err := Load([]byte(text)); err == nil {
			t.Errorf("%q is a document", text)
		}
	}
}
