package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Exchange is a request and its answer.
type Exchange struct {
	Method string
	Target string // path and query as they were sent
	Sent   string // content type of Body, "" = none
	Body   []byte

	Status int
	Header http.Header
	Answer []byte
}

// Meaning are the headers of an answer that the document has to declare.
var Meaning = []string{"Accept-Encoding", "Allow", "ETag", "Location", "Retry-After", "Set-Cookie", "WWW-Authenticate"}

// Check tells what of the exchange is not as the document says, and remembers
// what it saw.
func (d *Document) Check(e *Exchange) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	target, err := url.Parse(e.Target)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	o := d.find(e.Method, target.EscapedPath())
	if o == nil {
		return d.checkStray(e)
	}
	answer, err := d.checkAnswer(o, e)
	if err == nil && e.Status < 300 {
		d.seen[o.String()] = true
		err = errors.Join(d.checkParameters(o, target.Query()), d.checkBody(o, e, answer))
	}
	if err != nil {
		return fmt.Errorf("%s, %d: %w", o, e.Status, err)
	}
	return nil
}

// checkStray judges the answer to what is no operation.
func (d *Document) checkStray(e *Exchange) error {
	if e.Status < 401 || e.Status > 405 {
		return fmt.Errorf("%s %s: the document has no such operation, and the status is %d", e.Method, e.Target, e.Status)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Answer))
	if err != nil {
		return err
	}
	return d.validate("/components/schemas/Refusal", v)
}

// checkAnswer returns the document that is the answer, nil when it is none.
func (d *Document) checkAnswer(o *operation, e *Exchange) (any, error) {
	node, at, err := d.resolve(pointer(o.pointer, "responses", fmt.Sprint(e.Status)))
	if err != nil {
		return nil, errors.New("the document has no such status")
	}
	response, _ := node.(object)
	if err := d.checkHeaders(response, at, e.Header); err != nil {
		return nil, err
	}
	content, _ := response["content"].(object)
	if len(content) == 0 {
		if len(e.Answer) > 0 {
			return nil, fmt.Errorf("an answer has no body here: %q", e.Answer)
		}
		return nil, nil
	}
	media, _, err := mime.ParseMediaType(e.Header.Get("Content-Type"))
	if err != nil || content[media] == nil {
		return nil, fmt.Errorf("the document has no answer of type %q", e.Header.Get("Content-Type"))
	}
	v, err := decode(media, e.Answer)
	if err != nil {
		return nil, err
	}
	if err := d.validate(pointer(at, "content", media, "schema"), v); err != nil {
		return nil, err
	}
	if media == "text/event-stream" {
		return nil, d.checkEvents(pointer(at, "content", media, eventSchemas), string(e.Answer))
	}
	return v, nil
}

// eventSchemas is our field beside the schema of a stream, which is text to
// OpenAPI 3.1: for each event its name and the schema of its data.
const eventSchemas = "x-events"

// checkEvents judges server-sent events, each of one line of data, by the
// schemas there.
func (d *Document) checkEvents(at, stream string) error {
	name := ""
	for line := range strings.Lines(stream) {
		field, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
			if err == nil {
				err = d.validate(pointer(at, name), v)
			}
			if err != nil {
				return fmt.Errorf("event %q: %w", name, err)
			}
		}
	}
	return nil
}

// checkHeaders looks for those that are required, and for those that carry
// meaning and are not declared.
func (d *Document) checkHeaders(response object, at string, have http.Header) error {
	declared, _ := response["headers"].(object)
	for name := range declared {
		node, at, err := d.resolve(pointer(at, "headers", name))
		if err != nil {
			return err
		}
		value := have.Get(name)
		h, _ := node.(object)
		switch {
		case value == "" && h["required"] == true:
			return fmt.Errorf("header %s is missing", name)
		case value != "":
			if err := d.validateText(pointer(at, "schema"), value); err != nil {
				return fmt.Errorf("header %s: %w", name, err)
			}
			d.seen[place(at, name)] = true
		}
	}
	for _, name := range Meaning {
		if have.Get(name) != "" && declared[name] == nil {
			return fmt.Errorf("the document has no header %s here", name)
		}
	}
	return nil
}

// decode reads a body. One that is not JSON is a string to a schema.
func decode(media string, body []byte) (any, error) {
	if media == "application/json" || strings.HasSuffix(media, "+json") {
		return jsonschema.UnmarshalJSON(bytes.NewReader(body))
	}
	return string(body), nil
}

// checkParameters judges the parameters of a request that was accepted.
func (d *Document) checkParameters(o *operation, query url.Values) error {
	left := map[string]bool{}
	for name := range query {
		left[name] = true
	}
	for _, p := range d.parameters(o) {
		if p.in != "query" || !left[p.name] {
			continue
		}
		delete(left, p.name)
		d.seen[place(o.String(), p.name)] = true
		if err := d.checkParameter(pointer(p.pointer, "schema"), query[p.name]); err != nil {
			return fmt.Errorf("parameter %s: %w", p.name, err)
		}
	}
	for name := range left {
		return fmt.Errorf("the document has no parameter %s", name)
	}
	return nil
}

// checkParameter judges one parameter by the schema at the pointer: an array is there
// once for each item, anything else once.
func (d *Document) checkParameter(at string, values []string) error {
	node, _, _ := d.resolve(at)
	if s, ok := node.(object); !ok || s["type"] != "array" {
		return d.validateText(at, values[0])
	}
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return d.validate(at, list)
}

// checkBody judges the body of a request that was accepted. What was refused in
// part cannot be told from what was not.
func (d *Document) checkBody(o *operation, e *Exchange, answer any) error {
	node, at, err := d.resolve(pointer(o.pointer, "requestBody"))
	switch {
	case err != nil && len(e.Body) > 0 && e.Method != "GET":
		return errors.New("the document has no body here")
	case err != nil || refusedInPart(answer):
		return nil
	}
	content, _ := node.(object)["content"].(object)
	media, _, err := mime.ParseMediaType(e.Sent)
	if err != nil || content[media] == nil {
		media = "application/json" // the first byte told
	}
	v, err := decode(media, e.Body)
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if err := d.validate(pointer(at, "content", media, "schema"), v); err != nil {
		return fmt.Errorf("the server accepts what the document does not: %w", err)
	}
	return nil
}

func refusedInPart(answer any) bool {
	switch a := answer.(type) {
	case object:
		n, ok := a["rejected"].(json.Number)
		return ok && n != "0"
	case []any:
		for _, item := range a {
			if o, ok := item.(object); ok && o["error"] != nil {
				return true
			}
		}
	}
	return false
}

// validate judges a value by the schema at the pointer.
func (d *Document) validate(at string, v any) error {
	s, err := d.schema(at)
	if err != nil {
		return err
	}
	if err := s.Validate(v); err != nil {
		return err
	}
	d.mark(s, v)
	return nil
}

// validateText judges what came as text: a string, or the number or boolean that
// it is when the schema wants that.
func (d *Document) validateText(at, value string) error {
	s, err := d.schema(at)
	if err != nil {
		return err
	}
	err = s.Validate(value)
	if err == nil {
		return nil
	}
	v, parseErr := jsonschema.UnmarshalJSON(strings.NewReader(value))
	if parseErr != nil {
		return err
	}
	return s.Validate(v)
}

// Allows tells what the document has against such a body, nil when nothing.
func (d *Document) Allows(method, path, media string, body []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.find(method, path)
	if o == nil {
		return fmt.Errorf("the document has no %s %s", method, path)
	}
	_, at, err := d.resolve(pointer(o.pointer, "requestBody"))
	if err != nil {
		return err
	}
	v, err := decode(media, body)
	if err != nil {
		return err
	}
	s, err := d.schema(pointer(at, "content", media, "schema"))
	if err != nil {
		return err
	}
	return s.Validate(v)
}
