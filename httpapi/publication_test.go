package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/wire"
)

// answer is that of POST /api/quota/events.
type answer struct {
	Results []struct {
		ID    string
		Seq   uint64
		Error *struct{ Message, Type, Code string }
	}
	Accepted, Rejected int
	Error              *struct{ Message, Type, Code string }
}

// post sends a body and decodes the answer.
func (s *server) post(t *testing.T, contentType, body string) (int, answer) {
	t.Helper()
	return s.postAs(t, http.Header{"Content-Type": {contentType}}, strings.NewReader(body))
}

// postAs sends a body with all that its headers say of it.
func (s *server) postAs(t *testing.T, header http.Header, body io.Reader) (int, answer) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.addr+"/api/quota/events", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, a
}

// arrayOf makes n events, each padded by pad bytes.
func arrayOf(n, pad int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"e%d","apiKeyId":"k","connectionId":"c","model":"m%s"}`, i, strings.Repeat("x", pad))
	}
	b.WriteByte(']')
	return b.String()
}

// Every message is one that the fold would take, and together they have all
// events in order.
func TestMessagesAreBoundedAndInOrder(t *testing.T) {
	for _, c := range []struct {
		name     string
		n, pad   int
		messages []int // events in each
	}{
		{"one", 1, 0, []int{1}},
		{"a full message", 1000, 0, []int{1000}},
		{"one more", 1001, 0, []int{1000, 1}},
		{"bytes fill a message first", 5000, 200, []int{1000, 1000, 1000, 1000, 1000}},
		{"large events", 10, 200, []int{10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDouble()
			status, a := serve(t, d, Config{}).post(t, "application/json", arrayOf(c.n, c.pad))
			if status != 200 || a.Accepted != c.n || len(a.Results) != c.n {
				t.Fatalf("answered %d with %d accepted and %d results, want 200 and %d", status, a.Accepted, len(a.Results), c.n)
			}
			var sizes []int
			next := 0
			for _, m := range d.messages {
				items := events.Decode(&events.Message{Subject: m.subject, Data: []byte(m.data)}, nil)
				sizes = append(sizes, len(items))
				for i := range items {
					want := fmt.Sprintf("e%d", next)
					if items[i].Err != nil || items[i].Event.ID != want || a.Results[next].ID != want || a.Results[next].Seq != m.seq {
						t.Fatalf("event %d is %q at %d (%v) and was answered %+v", next, items[i].Event.ID, m.seq, items[i].Err, a.Results[next])
					}
					next++
				}
			}
			if diff := cmp.Diff(c.messages, sizes); diff != "" {
				t.Errorf("events in messages (-want +got):\n%s", diff)
			}
		})
	}
}

// Messages end before maxMessage; one event alone may be larger.
func TestMessagesEndBeforeTheyAreTooLarge(t *testing.T) {
	d := newDouble()
	h := strings.Repeat("h", 8000)
	headers := make([]string, 30)
	for i := range headers {
		headers[i] = fmt.Sprintf(`"x-%d":%q`, i, h)
	}
	const event = `{"id":"s%d","type":"quota.saturation","connectionId":"c","provider":"p","headers":{%s}}`
	var list []string
	for i := range 5 {
		n := 30 // a quarter of a megabyte
		if i == 4 {
			n = 6
		}
		list = append(list, fmt.Sprintf(event, i, strings.Join(headers[:n], ",")))
	}
	status, a := serve(t, d, Config{}).post(t, "application/json", "["+strings.Join(list, ",")+"]")
	if status != 200 || a.Accepted != 5 {
		t.Fatalf("answered %d with %d accepted, want 200 and 5", status, a.Accepted)
	}
	var ids []string
	for _, m := range d.messages {
		if len(m.data) > maxMessage {
			t.Errorf("message %d has %d bytes, want at most %d", m.seq, len(m.data), maxMessage)
		}
		got := fmt.Sprint(m.seq, ":")
		for _, item := range events.Decode(&events.Message{Subject: m.subject, Data: []byte(m.data)}, nil) {
			got += " " + item.Event.ID
		}
		ids = append(ids, got)
	}
	if diff := cmp.Diff([]string{"1: s0 s1", "2: s2 s3", "3: s4"}, ids); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestMsgpackEvents(t *testing.T) {
	d := newDouble()
	srv := serve(t, d, Config{})
	one := map[string]any{"id": "m1", "apiKeyId": "k", "connectionId": "c", "cost": map[string]any{"tokens": 12}}
	release := map[string]any{"id": "m2", "type": "quota.release", "apiKeyId": "k", "requestId": "r"}
	for _, body := range []any{one, []any{one, release, 7}} {
		data, err := msgpack.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if status, a := srv.post(t, "application/msgpack", string(data)); status != 200 {
			t.Errorf("answered %d: %+v", status, a)
		}
	}
	const want = `1 quota.consumption [{"id":"m1","apiKeyId":"k","connectionId":"c","cost":{"tokens":12}}]
2 quota.consumption [{"id":"m1","apiKeyId":"k","connectionId":"c","cost":{"tokens":12}}]
3 quota.release [{"id":"m2","apiKeyId":"k","requestId":"r"}]
`
	if diff := cmp.Diff(want, d.published()); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

// An answer may be longer than its body, so the array has a bound.
func TestArrayOfTooManyEvents(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	status, a := srv.post(t, "application/json", "["+strings.Repeat("0,", maxArray)+"0]")
	if status != 413 || a.Error == nil || !strings.Contains(a.Error.Message, "application/x-ndjson") {
		t.Errorf("answered %d %+v, want 413 with a way out", status, a.Error)
	}
}

// Cutting a document gives what parsing it gives.
func FuzzSplitJSON(f *testing.F) {
	for _, s := range []string{`[]`, `[1,"a,]\"",{"x":[1,{}]} , [ ]]`, `{"a":[1,2]}`, ` [ [[]],"\\" ] `, `"["`, `[{"a":"\\"},{"b":"}"}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, want, err := wire.ParseItems(wire.JSON, data)
		if err != nil {
			return
		}
		b := newEventBody(mediaJSON, wire.JSON)
		got, isArray, err := b.items(data)
		if err != nil || isArray != (v.Kind == wire.Array) {
			t.Fatalf("array %v, %v; want %v", isArray, err, v.Kind == wire.Array)
		}
		if !isArray {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%d items, want %d", len(got), len(want))
		}
		for i := range got {
			if strings.TrimSpace(string(want[i])) != string(got[i]) {
				t.Errorf("item %d is %q, want %q", i, got[i], want[i])
			}
		}
	})
}

// What skimming is sure of is what parsing finds.
func FuzzSkimType(f *testing.F) {
	for _, s := range []string{`{"type":"a"}`, `{"a":"type","type" : "b"}`, `{"x":{"type":"c"}}`, `{"type":5}`, `{"type":"a","type":"b"}`, `{"\u0074ype":"d"}`, `{"x":["type",{}],"type":""}`, `{"type":{"type":"a"}}`} {
		f.Add([]byte(s))
	}
	b := newEventBody(mediaJSON, wire.JSON)
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := wire.ParseJSON(data)
		if err != nil || v.Kind != wire.Object {
			return
		}
		if got, sure := skimType(data); sure && (got.Kind != b.top(data, "type").Kind || got.Text != b.top(data, "type").Text) {
			t.Errorf("skimmed %+v, parsed %+v", got, b.top(data, "type"))
		}
	})
}
