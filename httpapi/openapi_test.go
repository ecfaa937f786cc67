package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/httpapi/openapitest"
)

// loadOpenAPI loads what the API serves.
func loadOpenAPI() (*openapitest.Document, error) {
	data, err := openAPIDocument("1.2.3")
	if err != nil {
		return nil, err
	}
	return openapitest.Load(data)
}

var sharedOpenAPI = sync.OnceValues(loadOpenAPI)

// openAPI is the document that all tests share: its schemas are compiled once.
func openAPI(t *testing.T) *openapitest.Document {
	t.Helper()
	d, err := sharedOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheDocumentIsValid(t *testing.T) {
	for _, fault := range openAPI(t).Faults() {
		t.Error(fault)
	}
}

func TestTheDocumentHasEveryRoute(t *testing.T) {
	var routes []string
	for _, r := range new(api).table(nil) {
		for method := range r.methods {
			routes = append(routes, method+" "+strings.TrimSuffix(r.path, "{$}"))
		}
	}
	slices.Sort(routes)
	if diff := cmp.Diff(routes, openAPI(t).Operations()); diff != "" {
		t.Errorf("routes of the server (-) and operations of the document (+):\n%s", diff)
	}
}

// TestTheDocumentIsServed before the engine is ready: it does not depend on it.
func TestTheDocumentIsServed(t *testing.T) {
	d := newDouble()
	d.notReady = true
	srv := serve(t, d, Config{Version: "1.2.3-\"x\""})
	resp, body := srv.raw(t, []byte("GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"version":"1.2.3-\"x\""`) || strings.Contains(body, "VERSION") {
		t.Errorf("%d %.300s", resp.StatusCode, body)
	}
	want, err := openAPIDocument("1.2.3-\"x\"")
	if err != nil || body != string(want) {
		t.Errorf("served are %d bytes, joined %d: %v", len(body), len(want), err)
	}
}

// TestEveryFieldIsShownInATranscript holds what the transcripts say against the
// document, and finds what it promises and no transcript has.
func TestEveryFieldIsShownInATranscript(t *testing.T) {
	doc, err := loadOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, file string) {
		datadriven.RunTest(t, file, func(t *testing.T, cmd *datadriven.TestData) string {
			if cmd.Cmd == "http" {
				if err := doc.Check(recorded(t, cmd)); err != nil {
					t.Errorf("%s: %v", cmd.Pos, err)
				}
			}
			return cmd.Expected
		})
	})
	if err := doc.Check(toldOf(t)); err != nil {
		t.Error(err)
	}
	srv := serve(t, newDouble(), Config{})
	for _, request := range []string{"GET /metrics", "GET /api/openapi.json", "GET /api/asyncapi.json", "GET /api/schemas/due.json"} { // too long for a transcript
		resp, answer := srv.send(t, request)
		if err := doc.Check(exchange(request, resp, answer)); err != nil {
			t.Error(err)
		}
	}
	for _, what := range append(doc.Unasked(), doc.Unseen()...) {
		t.Errorf("no transcript shows %s", what)
	}
}

// toldOf is a stream of what happens with all that it may tell.
func toldOf(t *testing.T) *openapitest.Exchange {
	t.Helper()
	told := everyEvent(t)
	for _, name := range append([]string{eventGap}, eventNames...) {
		if !strings.Contains(told, "event: "+name+"\n") {
			t.Errorf("nobody is told of %s:\n%s", name, told)
		}
	}
	return &openapitest.Exchange{
		Method: "GET", Target: "/api/quota/stream?events=config,usage&pool=team&lastEventId=0.p1.3", Status: http.StatusOK,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Answer: []byte(told),
	}
}

// recorded is the exchange that a transcript shows.
func recorded(t *testing.T, cmd *datadriven.TestData) *openapitest.Exchange {
	t.Helper()
	var resp http.Response
	status, rest, _ := strings.Cut(cmd.Expected, "\n")
	if _, err := fmt.Sscan(status, &resp.StatusCode); err != nil {
		t.Fatalf("%s: %v", cmd.Pos, err)
	}
	resp.Header = http.Header{"Content-Type": {"application/json"}}
	for {
		line, after, _ := strings.Cut(rest, "\n")
		name, value, isHeader := strings.Cut(line, ": ")
		if !isHeader || strings.ContainsAny(name, "{ ") {
			break
		}
		resp.Header.Set(name, value)
		rest = after
	}
	return exchange(cmd.Input, &resp, strings.TrimRight(restored.Replace(rest), "\n")+lineEnd(&resp))
}

// lineEnd is what the transcripts leave out.
func lineEnd(resp *http.Response) string {
	if resp.Header.Get("Content-Type") == "" {
		return ""
	}
	return "\n"
}

// restored undoes what stable does, as far as a schema looks.
var restored = strings.NewReplacer("<now>", "2026-08-14T09:30:15.000Z", "<id>", "abcdefghijklmnopqrstuvwxyz", "<ID>", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")

// exchange is a request as a transcript writes it, with its answer.
func exchange(input string, resp *http.Response, answer string) *openapitest.Exchange {
	head, body, _ := strings.Cut(input, "\n\n")
	line, headers, _ := strings.Cut(head, "\n")
	method, target, _ := strings.Cut(line, " ")
	e := &openapitest.Exchange{
		Method: method, Target: target, Body: []byte(strings.TrimSuffix(body, "\n")),
		Status: resp.StatusCode, Header: resp.Header, Answer: []byte(answer),
	}
	for h := range strings.Lines(headers) {
		if name, value, _ := strings.Cut(h, ":"); strings.EqualFold(name, "content-type") {
			e.Sent = strings.TrimSpace(value)
		}
	}
	return e
}

// Files add to the lists that all share, and to nothing else twice.
func TestPartsAreJoined(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct{ a, b, want string }{
		{`{"openapi":"3.1.0","paths":{"/a":{}}}`, `{"paths":{"/b":{}}}`, ""},
		{`{"components":{"schemas":{"A":{}}}}`, `{"components":{"schemas":{"B":{}},"headers":{}}}`, ""},
		{`{"components":{"schemas":{"A":{}}}}`, `{"components":{"responses":{"A":{}}}}`, ""},
		{`{"paths":{"/a":{"get":{}}}}`, `{"paths":{"/a":{"put":{}}}}`, "b.json: /paths//a is defined in another file too"},
		{`{"components":{"schemas":{"A":{}}}}`, `{"components":{"schemas":{"A":{}}}}`, "b.json: /components/schemas/A is defined in another file too"},
		{`{"info":{}}`, `{"info":{}}`, "b.json: /info is defined in another file too"},
		{`{"paths":{"/a":{},"/a":{}}}`, `{}`, `a.json: the field "/a" is there twice in one object: send it once`},
		{`{}`, `{`, "b.json: the message is not well formed: unexpected EOF"},
	} {
		whole, err := joinParts(fstest.MapFS{"a.json": file(c.a), "b.json": file(c.b), "c.txt": file("{")})
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s and %s: %v, want %s", c.a, c.b, err, c.want)
		}
		if c.want == "" && len(whole.Fields) == 0 {
			t.Errorf("%s and %s: nothing", c.a, c.b)
		}
	}
}

// The served document keeps the order in which people wrote it.
func TestTheDocumentKeepsItsOrder(t *testing.T) {
	data, err := openAPIDocument("")
	if err != nil {
		t.Fatal(err)
	}
	id, name := bytes.Index(data, []byte(`"id":{"$ref"`)), bytes.Index(data, []byte(`"name":{"type":"string","minLength":1,"maxLength":120`))
	if !bytes.HasPrefix(data, []byte(`{"openapi":"3.1.0","info":{"title":`)) || id < 0 || id > name {
		t.Errorf("id at %d, name at %d, %.60s", id, name, data)
	}
}
