package questions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// toMsgpack gives the msgpack of a JSON document: whole numbers as integers,
// others as floats.
func toMsgpack(tb testing.TB, text string) []byte {
	tb.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	var data bytes.Buffer
	e := msgpack.NewEncoder(&data)
	e.UseCompactInts(true) // of all sizes
	if err := e.Encode(plainNumbers(v)); err != nil {
		tb.Fatal(err)
	}
	return data.Bytes()
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

// eachEncoding runs a check on a JSON document and on the same in msgpack.
func eachEncoding(t *testing.T, text string, check func(t *testing.T, data []byte, enc wire.Encoding)) {
	t.Helper()
	t.Run("json", func(t *testing.T) { check(t, []byte(text), wire.JSON) })
	t.Run("msgpack", func(t *testing.T) { check(t, toMsgpack(t, text), wire.Msgpack) })
}

var emptyIsNil = cmpopts.EquateEmpty()

func tokens(whole int64) quota.Amount { return quota.Amount(whole * quota.Tokens.Scale()) }

func TestDecode(t *testing.T) {
	basic := Question{APIKeyID: "k", ConnectionID: "c", MaxWaitMs: -1}
	with := func(change func(*Question)) Question {
		q := basic
		change(&q)
		return q
	}
	tests := []struct {
		name, fields string // after apiKeyId and connectionId
		want         Question
	}{
		{"the least", ``, basic},
		{"model and request", `,"model":"m/1","requestId":"r:1"`, with(func(q *Question) { q.Model, q.RequestID = "m/1", "r:1" })},
		{"null is absent", `,"model":null,"estimate":null,"at":null,"reserve":null,"leaseMs":null`, basic},
		{"unknown fields are ignored", `,"colour":{"of":["money"]},"APIKEYID":1`, basic},
		{"estimate", `,"estimate":{"requests":2,"tokens":1500,"usd":0.25,"percent":1.5}`, with(func(q *Question) {
			q.Estimate = quota.Amounts{2_000, 1_500_000, 250_000_000, 1_500_000}
		})},
		{"amounts as text", `,"estimate":{"tokens":"1.5e3","usd":"0.000000001"}`, with(func(q *Question) {
			q.Estimate = quota.Amounts{quota.Tokens: 1_500_000, quota.USD: 1}
		})},
		{"amounts are rounded half away from zero", `,"estimate":{"tokens":0.0005,"usd":"0.00000000049"}`, with(func(q *Question) {
			q.Estimate = quota.Amounts{quota.Tokens: 1}
		})},
		{"the largest amounts", `,"estimate":{"tokens":1000000000000,"usd":1000000}`, with(func(q *Question) {
			q.Estimate = quota.Amounts{quota.Tokens: quota.Tokens.Max(), quota.USD: quota.USD.Max()}
		})},
		{"an estimate alone is no request", `,"estimate":{"tokens":1}`, with(func(q *Question) { q.Estimate[quota.Tokens] = tokens(1) })},
		{"reserve is one request", `,"reserve":true,"leaseMs":1`, with(func(q *Question) {
			q.Reserve, q.LeaseMs = true, 1
			q.Estimate[quota.Requests] = 1_000
		})},
		{"reserve of no request", `,"reserve":true,"leaseMs":3600000,"estimate":{"requests":0}`, with(func(q *Question) {
			q.Reserve, q.LeaseMs = true, 3_600_000
		})},
		{"a time in milliseconds", `,"at":1790000000000`, with(func(q *Question) { q.At = 1_790_000_000_000 })},
		{"a time in words", `,"at":"2026-09-21T16:13:20+02:00","reserve":false`, with(func(q *Question) { q.At = 1_790_000_000_000 })},
		{"waiting", `,"minSeq":12,"maxWaitMs":0,"explain":true`, with(func(q *Question) { q.MinSeq, q.MaxWaitMs, q.Explain = 12, 0, true })},
		{"the longest wait", `,"minSeq":9007199254740992,"maxWaitMs":3600000`, with(func(q *Question) { q.MinSeq, q.MaxWaitMs = 1<<53, 3_600_000 })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := `{"apiKeyId":"k","connectionId":"c"` + tt.fields + `}`
			eachEncoding(t, text, func(t *testing.T, data []byte, enc wire.Encoding) {
				var r Request
				if err := r.Decode(data, enc); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]Question{tt.want}, r.Questions); diff != "" || r.IsArray {
					t.Errorf("array %v, question (-want +got):\n%s", r.IsArray, diff)
				}
			})
		})
	}
}

func TestDecodeIDs(t *testing.T) {
	for _, id := range []string{" a ", "a.b:c/d%e", "*", "ключ", `quote " and \ slash`, strings.Repeat("x", 256), strings.Repeat("é", 128)} {
		text, _ := json.Marshal(map[string]string{"apiKeyId": id, "pool": id})
		eachEncoding(t, string(text), func(t *testing.T, data []byte, enc wire.Encoding) {
			var r Request
			if err := r.Decode(data, enc); err != nil {
				t.Fatal(err)
			}
			if q := r.Questions[0]; q.APIKeyID != id || q.Pool != id {
				t.Errorf("got %q and %q, want %q", q.APIKeyID, q.Pool, id)
			}
		})
	}
}

func TestDecodeFaults(t *testing.T) {
	const key = `"apiKeyId":"k",`
	const both = `"apiKeyId":"k","connectionId":"c",`
	tests := []struct{ text, want string }{
		{`{}`, "apiKeyId is missing: name the key that asks; connectionId is missing: name a connection, or a pool"},
		{`42`, "the question is a number, not an object"},
		{`null`, "the question is null, not an object"},
		{`{"apiKeyId":"","connectionId":"c"}`, "apiKeyId is empty"},
		{`{"apiKeyId":7,"connectionId":"c"}`, "apiKeyId is a number, not a string"},
		{`{"apiKeyId":"k","connectionId":"` + strings.Repeat("x", 257) + `"}`, "connectionId has more than 256 bytes"},
		{`{"apiKeyId":"a\nb","connectionId":"c"}`, "apiKeyId has a control character"},
		{"{\"apiKeyId\":\"a\x7f\",\"connectionId\":\"c\"}", "apiKeyId has a control character"},
		{`{"apiKeyId":"a\u007f","connectionId":"c"}`, "apiKeyId has a control character"},
		{`{` + key + `"connectionId":"c","pool":"p"}`, "pool is there beside connectionId: name one of them"},
		{`{` + key + `"pool":"p","reserve":true}`, "reserve needs a connectionId: ask quota.route to choose a connection of the pool and hold it"},
		{`{` + both + `"reserve":true,"at":1790000000000}`, "reserve is there beside at: a hold is always taken now, leave one of them out"},
		{`{` + both + `"reserve":"yes"}`, "reserve is a string, not a boolean"},
		{`{` + both + `"estimate":5}`, "estimate is a number, not an object"},
		{`{` + both + `"estimate":{"token":5}}`, "estimate.token is unknown: use requests, tokens, usd, percent"},
		{`{` + both + `"estimate":{"tokens":-1}}`, "estimate.tokens is negative: an estimate is 0 or more"},
		{`{` + both + `"estimate":{"tokens":"-1"}}`, "estimate.tokens is negative: an estimate is 0 or more"},
		{`{` + both + `"estimate":{"tokens":18446744073709551617}}`, "estimate.tokens is beyond 1000000000000, the most that one amount may be"},
		{`{` + both + `"estimate":{"tokens":1000000000000.001}}`, "estimate.tokens is beyond 1000000000000, the most that one amount may be"},
		{`{` + both + `"estimate":{"usd":1000001}}`, "estimate.usd is beyond 1000000, the most that one amount may be"},
		{`{` + both + `"estimate":{"tokens":"1e400"}}`, "estimate.tokens has an exponent beyond ±30"},
		{`{` + both + `"estimate":{"tokens":"1e999999999"}}`, "estimate.tokens has an exponent beyond ±30"},
		{`{` + both + `"estimate":{"tokens":"` + strings.Repeat("9", 40) + `"}}`, "estimate.tokens is beyond 1000000000000, the most that one amount may be"},
		{`{` + both + `"estimate":{"tokens":"NaN"}}`, "estimate.tokens is not a number"},
		{`{` + both + `"estimate":{"tokens":""}}`, "estimate.tokens is not a number"},
		{`{` + both + `"leaseMs":0}`, "leaseMs is not within 1 to 3600000"},
		{`{` + both + `"leaseMs":3600001}`, "leaseMs is not within 1 to 3600000"},
		{`{` + both + `"leaseMs":1.5}`, "leaseMs is not a whole number"},
		{`{` + both + `"maxWaitMs":-1}`, "maxWaitMs is not within 0 to 3600000"},
		{`{` + both + `"maxWaitMs":3600001}`, "maxWaitMs is not within 0 to 3600000"},
		{`{` + both + `"maxWaitMs":-100}`, "maxWaitMs is not within 0 to 3600000"},
		{`{` + both + `"maxWaitMs":-100000}`, "maxWaitMs is not within 0 to 3600000"},
		{`{` + both + `"minSeq":9007199254740993}`, "minSeq is not within 0 to 9007199254740992"},
		{`{` + both + `"minSeq":18446744073709551617}`, "minSeq is not within 0 to 9007199254740992"},
		{`{` + both + `"minSeq":-1}`, "minSeq is not within 0 to 9007199254740992"},
		{`{` + both + `"at":1790000000}`, "at is before 2000: use milliseconds, not seconds"},
		{`{` + both + `"at":1790000000000000}`, "at is after 9999: use milliseconds, not microseconds"},
		{`{` + both + `"at":"yesterday"}`, "at is not a time: use RFC 3339 with zone, or integer epoch milliseconds"},
		{`{` + both + `"at":"2026-01-01T00:00:00"}`, "at is not a time: use RFC 3339 with zone, or integer epoch milliseconds"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			eachEncoding(t, tt.text, func(t *testing.T, data []byte, enc wire.Encoding) {
				var r Request
				want := &Error{Code: CodeInvalid, Message: tt.want}
				if diff := cmp.Diff(want, r.Decode(data, enc)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if len(r.Questions) > 0 {
					t.Errorf("the bad question is there: %+v", r.Questions)
				}
			})
		})
	}
}

func TestDecodeUndecodable(t *testing.T) {
	tests := map[string]struct {
		data string
		enc  wire.Encoding
	}{
		"nothing":            {"", wire.JSON},
		"words":              {"hello", wire.JSON},
		"cut":                {`{"apiKeyId":"k"`, wire.JSON},
		"data after the end": {`{"apiKeyId":"k","pool":"p"}{}`, wire.JSON},
		"comma at the end":   {`[{"apiKeyId":"k","pool":"p"},]`, wire.JSON},
		"name twice":         {`{"apiKeyId":"k","pool":"p","pool":"q"}`, wire.JSON},
		"unit twice":         {`{"apiKeyId":"k","pool":"p","estimate":{"usd":1,"usd":2}}`, wire.JSON},
		"zero before digits": {`{"apiKeyId":"k","pool":"p","minSeq":01}`, wire.JSON},
		"point without end":  {`{"apiKeyId":"k","pool":"p","estimate":{"usd":1.}}`, wire.JSON},
		"no UTF-8":           {"{\"apiKeyId\":\"k\xff\",\"pool\":\"p\"}", wire.JSON},
		"unfinished truth":   {`{"apiKeyId":"k","pool":"p","explain":tru}`, wire.JSON},
		"no msgpack":         {"\xc1", wire.Msgpack},
		"map cut":            {"\x82\xa8apiKeyId\xa1k", wire.Msgpack},
		"text cut":           {"\x81\xa8apiKeyId\xd9\x05k", wire.Msgpack},
		"header cut":         {"\xdc\x00", wire.Msgpack},
		"number cut":         {"\x81\xa6minSeq\xcf\x00", wire.Msgpack},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r Request
			err := r.Decode([]byte(tt.data), tt.enc)
			if err == nil || err.Code != CodeUndecodable {
				t.Errorf("error %+v, want code %s", err, CodeUndecodable)
			}
		})
	}
}

func TestDecodeCloudEvent(t *testing.T) {
	const wrapped = `{"specversion":"1.0","id":"1","source":"s","type":"%s","data":%s}`
	question := `{"apiKeyId":"k","pool":"p"}`
	want := []Question{{APIKeyID: "k", Pool: "p", MaxWaitMs: -1}}
	eachEncoding(t, fmt.Sprintf(wrapped, Subject, question), func(t *testing.T, data []byte, enc wire.Encoding) {
		var r Request
		if err := r.Decode(data, enc); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Questions); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	for text, want := range map[string]string{
		fmt.Sprintf(wrapped, "quota.consumption", question): "type is quota.consumption: use quota.decide",
		fmt.Sprintf(wrapped, Subject, "null"):               "data is missing",
		fmt.Sprintf(wrapped, Subject, "7"):                  "data is a number, not an object",
		fmt.Sprintf(wrapped, Subject, `{"apiKeyId":"k"}`):   "data.connectionId is missing: name a connection, or a pool",
	} {
		var r Request
		if err := r.Decode([]byte(text), wire.JSON); err == nil || err.Message != want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestDecodeArray(t *testing.T) {
	const good, bad, odd = `{"apiKeyId":"k","pool":"p"}`, `{"apiKeyId":"k"}`, `{"apiKeyId":"ключ","pool":"p"}`
	eachEncoding(t, `[`+bad+`,`+good+`,7,`+bad+`,`+odd+`]`, func(t *testing.T, data []byte, enc wire.Encoding) {
		var r Request
		if err := r.Decode(data, enc); err != nil {
			t.Fatal(err)
		}
		missing := &Error{CodeInvalid, "connectionId is missing: name a connection, or a pool"}
		wantBad := []BadItem{{0, missing}, {2, &Error{CodeInvalid, "the question is a number, not an object"}}, {3, missing}}
		want := []Question{{APIKeyID: "k", Pool: "p", MaxWaitMs: -1}, {APIKeyID: "ключ", Pool: "p", MaxWaitMs: -1}}
		if diff := cmp.Diff(wantBad, r.Bad); diff != "" {
			t.Errorf("bad (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, r.Questions); diff != "" || !r.IsArray {
			t.Errorf("array %v, questions (-want +got):\n%s", r.IsArray, diff)
		}
	})
}

// TestDecodeArrayBound asks with arrays around the bound, whose items the
// scanner takes and whose items it does not take. What a far too long one costs
// is bounded by what it allocates: its tree would be far more than its length.
func TestDecodeArrayBound(t *testing.T) {
	tests := []struct {
		n    int
		item string
		want string
	}{
		{0, "", ""},
		{1000, `{"apiKeyId":"k","pool":"p"}`, ""},
		{1001, `{"apiKeyId":"k","pool":"p"}`, CodeTooMany},
		{1000, `{"apiKeyId":"ключ","pool":"p, [\\\"]"}`, ""},
		{1001, `{"apiKeyId":"ключ","pool":"p, [\\\"]"}`, CodeTooMany},
		{100_000, `{"apiKeyId":"k","pool":"p"}`, CodeTooMany},
		{100_000, `{"apiKeyId":"ключ","pool":"p"}`, CodeTooMany},
	}
	for _, tt := range tests {
		eachEncoding(t, "["+tt.item+"]", func(t *testing.T, data []byte, enc wire.Encoding) {
			data = repeat(data, enc, tt.n)
			var r Request
			code := ""
			if err := r.Decode(data, enc); err != nil {
				code = err.Code
			}
			if code != tt.want || (code == "" && len(r.Questions) != tt.n) {
				t.Errorf("%d items: code %q and %d questions, want code %q", tt.n, code, len(r.Questions), tt.want)
			}
			if allocs := testing.AllocsPerRun(1, func() { r.Decode(data, enc) }); tt.n > 1001 && allocs > 20 {
				t.Errorf("%d items: %v allocations", tt.n, allocs)
			}
		})
	}
	marked := []byte("\ufeff[" + strings.Repeat("{},", 1000) + "{}]")
	var r Request
	if err := r.Decode(marked, wire.JSON); err == nil || err.Code != CodeTooMany {
		t.Errorf("1001 items behind a byte order mark are %v", err)
	}
	if err := r.Decode([]byte("\xdd\xff\xff\xff\xff"), wire.Msgpack); err == nil || err.Code != CodeTooMany {
		t.Errorf("a header of four billion items is %v", err)
	}
}

// repeat makes an array of n items of an array of one or none.
func repeat(one []byte, enc wire.Encoding, n int) []byte {
	if enc == wire.Msgpack {
		return append(wire.AppendArrayHeader(nil, n), bytes.Repeat(one[1:], n)...)
	}
	item := one[1 : len(one)-1]
	return fmt.Appendf(nil, "[%s]", bytes.TrimSuffix(bytes.Repeat(fmt.Appendf(nil, "%s,", item), n), []byte(",")))
}

// TestArrayBeyond counts items from outside: brackets, quotes and commas within
// strings are none.
func TestArrayBeyond(t *testing.T) {
	for text, want := range map[string]bool{
		``: false, `[]`: false, `{"a":1,"b":2,"c":3}`: false, `[1,2]`: false, `[1,2,3]`: true, " \n[1,2,3]": true,
		`[[1,2,3],{"a":1,"b":2}]`:   false,
		`[{"a":[1,2]},[3],{"b":4}]`: true,
		`["a,b,c","d\",e,f"]`:       false,
		`["a]","\\","[",{}]`:        true,
		`["\"]",2,3]`:               true,
	} {
		if got := arrayBeyond([]byte(text), wire.JSON, 2); got != want {
			t.Errorf("%s: more than 2 is %v", text, got)
		}
	}
}

// TestRequestIsUsedAgain puts a small message after a large one.
func TestRequestIsUsedAgain(t *testing.T) {
	var r Request
	large := `[{"apiKeyId":"k","pool":"p","explain":true,"estimate":{"usd":1}},{"apiKeyId":"k"},{"apiKeyId":"k","pool":"p"}]`
	for range 2 {
		if err := r.Decode([]byte(large), wire.JSON); err != nil || len(r.Questions) != 2 || len(r.Bad) != 1 {
			t.Fatalf("%v: %+v", err, r)
		}
		if err := r.Decode([]byte(`{"apiKeyId":"a","connectionId":"b"}`), wire.JSON); err != nil {
			t.Fatal(err)
		}
		want := Request{Questions: []Question{{APIKeyID: "a", ConnectionID: "b", MaxWaitMs: -1}}}
		if diff := cmp.Diff(want, r, emptyIsNil, cmpopts.IgnoreUnexported(Request{})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	if spare := r.Questions[:cap(r.Questions)]; !cmp.Equal(spare[1], Question{}) {
		t.Errorf("the text of the large message is kept: %+v", spare[1])
	}
}

// TestUsualShapeIsScanned keeps the fast way from falling asleep: what gateways
// send must not need the tree, and must not allocate.
func TestUsualShapeIsScanned(t *testing.T) {
	for _, text := range []string{
		string(question),
		`{"apiKeyId": "k", "pool": "p"}`,
		"[\n  {\"apiKeyId\": \"k\", \"pool\": \"p\", \"explain\": true},\n  {\"pool\": \"p\", \"apiKeyId\": \"k\", \"explain\": false}\n]",
		`{"apiKeyId":"k","connectionId":"c","reserve":true,"requestId":"r","leaseMs":30000,"minSeq":7,"maxWaitMs":50}`,
		`{"apiKeyId":"k","connectionId":"c","at":"2026-01-01T00:00:00Z","estimate":{"usd":"0.25"}}`,
	} {
		eachEncoding(t, text, func(t *testing.T, data []byte, enc wire.Encoding) {
			var r Request
			if ok, err := r.scan(string(data), enc); !ok || err != nil {
				t.Fatalf("scanned %v, %v", ok, err)
			}
			if allocs := testing.AllocsPerRun(10, func() { r.Decode(data, enc) }); allocs > 0 {
				t.Errorf("%v allocations", allocs)
			}
		})
	}
	var r Request
	if ok, err := r.scan(`{"apiKeyId":"k","pool":"p","estimate":{"usd":0.25}}`, wire.JSON); !ok || err != nil {
		t.Errorf("a decimal number is not scanned: %v", err)
	}
}

// TestWait: a question that does not say waits for a tenth of a second.
func TestWait(t *testing.T) {
	for body, want := range map[string]int64{
		`{"apiKeyId":"k","connectionId":"c"}`:                 100,
		`{"apiKeyId":"k","connectionId":"c","maxWaitMs":0}`:   0,
		`{"apiKeyId":"k","connectionId":"c","maxWaitMs":7}`:   7,
		`{"apiKeyId":"k","connectionId":"c","maxWaitMs":"7"}`: 7,
	} {
		var r Request
		if err := r.Decode([]byte(body), wire.JSON); err != nil || r.Questions[0].Wait() != want || r.Questions[0].WaitVerdict() != want {
			t.Errorf("%s: %v, %+v", body, err, r.Questions)
		}
	}
	route := Question{Pool: "p", Reserve: true, MaxWaitMs: 7}
	if route.Wait() != 7 || route.WaitVerdict() != 107 {
		t.Errorf("a route waits %d, for its verdict %d, want 7 and 107", route.Wait(), route.WaitVerdict())
	}
}
