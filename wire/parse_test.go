package wire

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
)

func num(s string) Value { return Value{Kind: Number, Text: s} }
func str(s string) Value { return Value{Kind: String, Text: s} }

func TestParseJSON(t *testing.T) {
	got, err := ParseJSON([]byte("\xef\xbb\xbf {\"a\": [1.50, \"x\\ud83d\\ude00\", null], \"b\": {\"c\": true}} \n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Value{Kind: Object, Fields: []Field{
		{"a", Value{Kind: Array, Items: []Value{num("1.50"), str("x😀"), {Kind: Null}}}},
		{"b", Value{Kind: Object, Fields: []Field{{"c", Value{Kind: Bool, Bool: true}}}}},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseMsgpack(t *testing.T) {
	data := []byte("\x84\xa1a\x98\x05\xff\xcd\x01\x00\xd2\xff\xff\xff\x00\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a\xca\x3d\xcc\xcc\xcd\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xc0" +
		"\xd9\x01b\xc3\xa1c\x80\xa1d\xda\x00\x02\xc3\xa9")
	got, err := ParseMsgpack(data)
	if err != nil {
		t.Fatal(err)
	}
	want := Value{Kind: Object, Fields: []Field{
		{"a", Value{Kind: Array, Items: []Value{
			num("5"), num("-1"), num("256"), num("-256"), num("0.1"), num("0.1"), num("18446744073709551615"), {Kind: Null},
		}}},
		{"b", Value{Kind: Bool, Bool: true}},
		{"c", Value{Kind: Object}},
		{"d", str("é")},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// refused is a document that no parser takes.
type refused struct {
	name string
	enc  Encoding
	data string
	want any // error, or pointer to an error type
}

// refusals has one document for each thing that is refused.
func refusals() []refused {
	var twice *DuplicateError
	var syntax *SyntaxError
	fields := make([]string, 40)
	for i := range fields {
		fields[i] = `"f` + strings.Repeat("x", i) + `":1`
	}
	many := "{" + strings.Join(fields, ",")
	return []refused{
		{"empty", JSON, "", ErrEmpty},
		{"empty", Msgpack, "", ErrEmpty},
		{"only a mark", JSON, "\xef\xbb\xbf", &syntax},
		{"bare word", JSON, "hello", &syntax},
		{"open object", JSON, `{"a":1`, &syntax},
		{"comma at the end", JSON, `[1,]`, &syntax},
		{"leading zero", JSON, `{"a":01}`, &syntax},
		{"NaN", JSON, `{"a":NaN}`, &syntax},
		{"control character", JSON, "{\"a\":\"\n\"}", &syntax},
		{"two documents", JSON, `{}{}`, ErrTrailing},
		{"bracket after", JSON, `{}]`, ErrTrailing},
		{"NUL after", JSON, "{}\x00", ErrTrailing},
		{"name twice", JSON, `{"a":1,"a":1}`, &twice},
		{"name twice by escape", JSON, `{"a":1,"\u0061":1}`, &twice},
		{"name twice deep", JSON, `[{"b":{"a":1,"a":null}}]`, &twice},
		{"name twice among many", JSON, many + `,"fx":1}`, &twice},
		{"late name twice among many", JSON, many + `,"f` + strings.Repeat("x", 39) + `":1}`, &twice},
		{"bad UTF-8", JSON, "{\"a\":\"\xff\"}", ErrUTF8},
		{"half pair, high", JSON, `{"a":"\ud800"}`, ErrSurrogate},
		{"half pair, high then text", JSON, `{"a":"\ud800xxxxxx"}`, ErrSurrogate},
		{"half pair, low", JSON, `{"a":"\udc00"}`, ErrSurrogate},
		{"two high", JSON, `{"a":"\ud800\ud800"}`, ErrSurrogate},
		{"half pair in a name", JSON, `{"\uDFFF":1}`, ErrSurrogate},
		{"deep", JSON, strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), ErrDepth},
		{"deep", Msgpack, strings.Repeat("\x91", MaxDepth) + "\x90", ErrDepth},
		{"many values", JSON, "[" + strings.Repeat("1,", MaxValues-1) + "1]", ErrValues},
		{"many values", Msgpack, "\xdd\x00\x08\x00\x00" + strings.Repeat("\x01", MaxValues), ErrValues},
		{"name twice", Msgpack, "\x82\xa1a\x01\xa1a\x01", &twice},
		{"name twice deep", Msgpack, "\x91\x81\xa1b\x82\xa1a\x01\xd9\x01a\x01", &twice},
		{"after the end", Msgpack, "\x80\x80", ErrTrailing},
		{"bad UTF-8", Msgpack, "\x81\xa1a\xa1\xff", ErrUTF8},
		{"bad UTF-8 name", Msgpack, "\x81\xa1\xff\x01", ErrUTF8},
		{"binary cut off", Msgpack, "\x91\xc4\x02a", &syntax},
		{"extension cut off", Msgpack, "\x91\xd6\xff\x00", &syntax},
		{"number as key", Msgpack, "\x81\x01\x01", ErrKey},
		{"binary as key", Msgpack, "\x81\xc4\x01a\x01", ErrKey},
		{"nil as key", Msgpack, "\x81\xc0\x01", ErrKey},
		{"never used code", Msgpack, "\x91\xc1", &syntax},
		{"long map that is not there", Msgpack, "\xdf\xff\xff\xff\xff", &syntax},
		{"long array that is not there", Msgpack, "\xdd\xff\xff\xff\xff", &syntax},
		{"long string that is not there", Msgpack, "\x91\xdb\xff\xff\xff\xff", &syntax},
		{"string cut off", Msgpack, "\x91\xa2a", &syntax},
		{"integer cut off", Msgpack, "\x91\xcd\x01", &syntax},
		{"map without a value", Msgpack, "\x81\xa1a", &syntax},
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range refusals() {
		_, err := Parse(c.enc, []byte(c.data))
		ok := false
		switch want := c.want.(type) {
		case error:
			ok = errors.Is(err, want)
		default:
			ok = errors.As(err, want)
		}
		if !ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestParseAtTheBounds(t *testing.T) {
	for name, c := range map[string]struct {
		enc  Encoding
		data string
	}{
		"depth":          {JSON, strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)},
		"depth, msgpack": {Msgpack, strings.Repeat("\x91", MaxDepth-1) + "\x90"},
		"values":         {Msgpack, "\xdd\x00\x07\xff\xff" + strings.Repeat("\x01", MaxValues-1)},
		"wide, not deep": {JSON, "[" + strings.Repeat("[],", MaxDepth) + "[]]"},
		"wide, msgpack":  {Msgpack, "\xdc\x01\x00" + strings.Repeat("\x90", 256)},
		"pair":           {JSON, `["\\ud800","\ud83d\ude00"]`},
		"zero":           {JSON, `[-0, 1e400]`},
	} {
		if _, err := Parse(c.enc, []byte(c.data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParseIsCheap refuses a short message that claims to be long without
// making room for what it claims.
func TestParseIsCheap(t *testing.T) {
	for _, data := range []string{"\xdf\xff\xff\xff\xff", "\xdd\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			_, _ = ParseMsgpack([]byte(data))
		}
		runtime.ReadMemStats(&after)
		if per := (after.TotalAlloc - before.TotalAlloc) / 100; per > 1<<14 {
			t.Errorf("%x: %d bytes", data, per)
		}
	}
}

func TestParseItems(t *testing.T) {
	for _, c := range []struct {
		enc  Encoding
		data string
		want []string
	}{
		{JSON, "\xef\xbb\xbf [ {\"a\": [1, 2]} ,\n42,null , \"x,\" ]", []string{`{"a": [1, 2]}`, "42", "null", `"x,"`}},
		{JSON, `{"a":[1]}`, nil},
		{Msgpack, "\x93\x81\xa1a\x91\x01\x2a\xc0", []string{"\x81\xa1a\x91\x01", "\x2a", "\xc0"}},
		{Msgpack, "\x81\xa1a\x91\x01", nil},
	} {
		v, items, err := ParseItems(c.enc, []byte(c.data))
		if err != nil || len(items) != len(v.Items) {
			t.Errorf("%q: %v, %d items of %d", c.data, err, len(items), len(v.Items))
		}
		var got []string
		for _, item := range items {
			got = append(got, string(item))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q: %s", c.data, d)
		}
	}
}

// TestParseUpTo: the bound is that of the outermost array alone.
func TestParseUpTo(t *testing.T) {
	for _, c := range []struct {
		enc  Encoding
		data string
		want error
	}{
		{JSON, `[[1,2,3],2]`, nil},
		{JSON, `[1,2,3]`, ErrItems},
		{JSON, `{"a":[1,2,3]}`, nil},
		{Msgpack, "\x92\x93\x01\x02\x03\x02", nil},
		{Msgpack, "\x93\x01\x02\x03", ErrItems},
	} {
		if _, _, err := ParseUpTo(c.enc, []byte(c.data), 2); !errors.Is(err, c.want) {
			t.Errorf("%q: %v", c.data, err)
		}
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		contentType string
		first       byte
		want        Encoding
	}{
		{"application/json", 0x81, JSON},
		{"application/msgpack", '{', Msgpack},
		{"Application/X-Msgpack ; x=y", '{', Msgpack},
		{"application/vnd.msgpack", '{', Msgpack},
		{"application/cloudevents+json; charset=utf-8", 0x81, JSON},
		{"text/plain", 0x81, Msgpack},
		{"", '{', JSON},
		{"", ' ', JSON},
		{"", '\n', JSON},
		{"", 0xef, JSON},
		{"", 0, JSON},
		{"", 0x80, Msgpack},
		{"", 0x90, Msgpack},
		{"", 0xdc, Msgpack},
		{"", 0xdf, Msgpack},
		{"", 0xc0, Msgpack},
	} {
		if got := Detect(c.contentType, c.first); got != c.want {
			t.Errorf("%q %x: %v", c.contentType, c.first, got)
		}
	}
}

// TestWhatIsNoValueOfOurs: msgpack can say more than JSON. It is the fault of
// the field, and no reason to refuse the fields beside it.
func TestWhatIsNoValueOfOurs(t *testing.T) {
	for _, c := range []struct{ name, data, problem string }{
		{"NaN", "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01", "is not a finite number"},
		{"infinity", "\xca\xff\x80\x00\x00", "is not a finite number"},
		{"bytes", "\xc4\x01a", "is binary data, not a number"},
		{"a time", "\xd6\xff\x00\x00\x00\x00", "is binary data, not a number"},
		{"a long extension", "\xc7\x03\x05abc", "is binary data, not a number"},
	} {
		v, err := ParseMsgpack([]byte("\x82\xa1a" + c.data + "\xa1b\x07"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var faults Faults
		r, _ := Read(v, "", &faults)
		if n, ok := r.Int("b", 0, 9); n != 7 || !ok {
			t.Errorf("%s: the field beside it is %d", c.name, n)
		}
		if _, ok := r.Amount("a", quota.USD); ok || len(faults) != 1 || faults[0].Problem != c.problem {
			t.Errorf("%s: %v, want %s", c.name, faults, c.problem)
		}
	}
}
