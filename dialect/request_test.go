package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMediaCountsAtMost1600Tokens: whatever the size of a picture, and whatever
// it is called where; text of that size counts in full.
func TestMediaCountsAtMost1600Tokens(t *testing.T) {
	long := strings.Repeat("A", 100_000)
	tests := []struct {
		api  API
		body string
		want int64
	}{
		{Chat, `{"messages":[{"image_url":{"url":"data:image/png;base64,%s"}}]}`, 1600 + 3},
		{Chat, `{"messages":[{"file":{"file_data":"%s"}}]}`, 1600 + 4},
		{Messages, `{"messages":[{"source":{"type":"base64","data":"%s"}}]}`, 1600 + 5},
		{Messages, `{"messages":[{"data":{"text":"%s"}}]}`, 25_000 + 2},
		{Responses, `{"input":"%s"}`, 25_000},
		{Responses, `{"input":["data","%s"]}`, 25_000 + 1},
	}
	for _, tt := range tests {
		r, err := Read(tt.api, fmt.Appendf(nil, tt.body, long))
		if err != nil || r.PromptTokens != tt.want {
			t.Errorf("%v %s: %d tokens, not %d; %v", tt.api, tt.body, r.PromptTokens, tt.want, err)
		}
	}
}

// TestDepth: nested deeper than anything that is meant, a body is refused
// before the stack is.
func TestDepth(t *testing.T) {
	for depth, ok := range map[int]bool{maxDepth - 1: true, maxDepth: false, 1_000_000: false} {
		body := `{"messages":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
		var fault *SyntaxError
		_, err := Read(Chat, []byte(body))
		if ok != (err == nil) || !ok && !errors.As(err, &fault) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

func TestUnknownAPI(t *testing.T) {
	for _, api := range []API{0, Models + 1, 255} {
		r, err := Read(api, []byte(`{"model":"m","messages":["x"]}`))
		if diff := cmp.Diff(Request{UsageAsked: true}, r); diff != "" || err != nil || api.Metered() || api.String() != "unknown" {
			t.Errorf("api %d: %s, %v", api, diff, err)
		}
	}
}

var bodies = []string{
	`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`,
	`{"model":"\u006d","stream":true,"stream_options":{"include_usage":false,"x":1.50}}`,
	`{"stream":true,"stream_options":null,"n":1e999,"model":"a","model":"b\\\""}`,
	`{"stream":true,"stream_options":{}}`,
	` { "input" : [ [ 1, -2.5e+3 ], "\ud83d\ude00", "data:x" ], "stream" : true } `,
	`{"":{"":[]},"stream":true,"stream_options":{"include_usage":true}}`,
	`{"a":[{}],"b":true,"stream":true,"c":nul}`,
	`{"stream":true,"model":"x`,
	`[]`,
	``,
}

// FuzzRequest holds Read and AskUsage to encoding/json: they take what it takes,
// find what it finds, and change what is to be changed. What they take beyond that
// is for the provider to refuse.
func FuzzRequest(f *testing.F) {
	for _, b := range bodies {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for api := API(0); api <= Models; api++ {
			twinRead(t, api, body)
		}
		twinAsk(t, body)
	})
}

func twinRead(t *testing.T, api API, body []byte) {
	r, err := Read(api, body)
	want, ok := members(body)
	if ok && err != nil && !strings.Contains(err.Error(), "too deep") {
		t.Fatalf("%v: %s: %v", api, body, err)
	}
	if !ok || err != nil || api == 0 {
		return
	}
	var model string
	if json.Unmarshal(want["model"], &model) != nil {
		model = ""
	}
	if r.Model != model || r.Stream != (string(want["stream"]) == "true") {
		t.Errorf("%v: %s: %+v", api, body, r)
	}
	if r.PromptTokens < 0 || r.PromptTokens > int64(len(body)) || r.MaxOutput < 0 || r.Estimate() > most {
		t.Errorf("%v: %s: %+v", api, body, r)
	}
}

func twinAsk(t *testing.T, body []byte) {
	out, changed, err := AskUsage(body)
	if !changed && !bytes.Equal(out, body) {
		t.Errorf("%q became %q", body, out)
	}
	before, ok := members(body)
	if !changed || !ok || err != nil {
		return
	}
	after, ok := members(out)
	options, _ := members(after["stream_options"])
	if !ok || string(options["include_usage"]) != "true" {
		t.Fatalf("%s became %s", body, out)
	}
	was, _ := members(before["stream_options"])
	for _, m := range []map[string]json.RawMessage{before, after} {
		delete(m, "stream_options")
	}
	for _, m := range []map[string]json.RawMessage{was, options} {
		delete(m, "include_usage")
	}
	if diff := cmp.Diff(before, after) + cmp.Diff(len(was), len(options)); diff != "" {
		t.Errorf("%s became %s:\n%s", body, out, diff)
	}
	if again, changed, err := AskUsage(out); changed || err != nil || !bytes.Equal(again, out) {
		t.Errorf("%s is changed again, to %s", out, again)
	}
}

// members reads an object as encoding/json does: names exactly, the last one
// counts.
func members(body []byte) (map[string]json.RawMessage, bool) {
	var all map[string]json.RawMessage
	err := json.Unmarshal(body, &all)
	return all, err == nil && all != nil
}

// FuzzText holds the length of an escaped string, whole and in pieces, to what
// encoding/json makes of it.
func FuzzText(f *testing.F) {
	for _, s := range []string{"plain", "é€😀", `\u00e9\u20ac\ud83d\ude00`, `\n\"\\\/`, `\u0041\u007f\u0080\u07ff\u0800\uffff`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		quoted := append(append([]byte{'"'}, raw...), '"')
		var s string
		if json.Unmarshal(quoted, &s) != nil || strings.ContainsRune(s, '\uFFFD') {
			return // it is no string, or half of a surrogate pair, which counts 2
		}
		if n := decodedLen(raw); n != int64(len(s)) {
			t.Errorf("%s: %d bytes, not %d", raw, n, len(s))
		}
		var sizes []int64
		p := picker{take: func(_ []byte, k token) { sizes = append(sizes, k.size) }}
		for _, c := range append(append([]byte(`{"a":`), quoted...), '}') {
			p.feed([]byte{c})
		}
		if diff := cmp.Diff([]int64{0, int64(len(s))}, sizes); diff != "" {
			t.Errorf("%s in pieces (-want +got):\n%s", raw, diff)
		}
	})
}
