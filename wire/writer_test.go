package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

func TestAppendJSONString(t *testing.T) {
	for s, want := range map[string]string{
		"":                       `""`,
		"a/é😀<>&":                `"a/é😀<>&"`,
		"\"\\\n\r\t\x00\x1f\x7f": `"\"\\\n\r\t\u0000\u001f\u007f"`,
		"a\xffb\xc3":             "\"a\ufffdb\ufffd\"",
		"\ufffd":                 "\"\ufffd\"",
	} {
		if got := string(AppendJSONString([]byte{}, s)); got != want {
			t.Errorf("%q: %s", s, got)
		}
	}
}

// TestJSONStringIsJSON: whatever the bytes, encoding/json reads the same text.
func TestJSONStringIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "text") {
			s = rapid.String().Draw(t, "string")
		}
		var got string
		data := AppendJSONString(nil, s)
		if err := json.Unmarshal(data, &got); err != nil || !utf8.Valid(data) {
			t.Fatalf("%q: %v", data, err)
		}
		if want := string([]rune(s)); got != want {
			t.Fatalf("%q, not %q", got, want)
		}
	})
}

// TestMsgpackIsMsgpack: the library reads what is appended, and writes it no
// shorter.
func TestMsgpackIsMsgpack(t *testing.T) {
	for _, n := range []int64{0, 1, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, -1, -32, -33, -128, -129, -32768, -32769, math.MinInt32, math.MinInt32 - 1, math.MinInt64} {
		data := AppendInt(nil, n)
		var got int64
		if err := msgpack.Unmarshal(data, &got); err != nil || got != n {
			t.Errorf("%d: %d %v", n, got, err)
		}
		var short bytes.Buffer
		if err := msgpack.NewEncoder(&short).EncodeInt(n); err != nil || len(data) > short.Len() {
			t.Errorf("%d: %x, not %x", n, data, short.Bytes())
		}
	}
	for _, size := range []int{0, 1, 31, 32, 255, 256, 65535, 65536} {
		s := strings.Repeat("x", size)
		short, _ := msgpack.Marshal(s)
		if got := AppendStr(nil, s); !bytes.Equal(got, short) {
			t.Errorf("%d: %x", size, got[:5])
		}
	}
	if got := AppendUint(nil, math.MaxUint64); !bytes.Equal(got, []byte("\xcf\xff\xff\xff\xff\xff\xff\xff\xff")) {
		t.Errorf("%x", got)
	}
}

// TestFixedStr: whole amounts are integers and all others text, never a float.
func TestFixedStr(t *testing.T) {
	for _, c := range []struct {
		amount quota.Amount
		unit   quota.Unit
		want   string
	}{
		{0, quota.Tokens, "\x00"},
		{1000, quota.Tokens, "\x01"},
		{-1000, quota.Tokens, "\xff"},
		{1500, quota.Tokens, "\xa31.5"},
		{-1, quota.USD, "\xac-0.000000001"},
		{1e15, quota.Tokens, "\xcf\x00\x00\x00\xe8\xd4\xa5\x10\x00"},
	} {
		w := NewWriter(nil, Msgpack)
		w.Amount(c.amount, c.unit)
		if got := string(w.Bytes()); got != c.want {
			t.Errorf("%d %s: %x", c.amount, c.unit, got)
		}
	}
}

func TestWriter(t *testing.T) {
	write := func(enc Encoding) []byte {
		w := NewWriter([]byte("x"), enc)
		w.Object()
		w.Name("a\"")
		w.Array()
		w.Int(-5)
		w.Uint(5)
		w.Array()
		w.End()
		w.Object()
		w.End()
		w.Bool(true)
		w.Null()
		w.String("é")
		w.End()
		w.Name("b")
		w.Ratio(1_500_000)
		w.Name("c")
		w.Instant(1786699815250)
		w.Name("d")
		w.Value(Value{Kind: Object, Fields: []Field{{"e", num("1e400")}, {"f", Value{Kind: Array, Items: []Value{num("7"), {}}}}}})
		w.End()
		return w.Bytes()[1:]
	}
	const want = `{"a\"":[-5,5,[],{},true,null,"é"],"b":1.5,"c":"2026-08-14T09:30:15.250Z","d":{"e":1e400,"f":[7,null]}}`
	if got := string(write(JSON)); got != want {
		t.Error(got)
	}
	v, err := ParseMsgpack(write(Msgpack))
	if err != nil {
		t.Fatal(err)
	}
	const inText = `{"a\"":[-5,5,[],{},true,null,"é"],"b":"1.5","c":"2026-08-14T09:30:15.250Z","d":{"e":"1e400","f":[7,null]}}`
	if got := string(AppendValue(nil, JSON, v)); got != inText {
		t.Error(got)
	}
}

// TestWriterLongHeaders: counts that need a longer header than the byte that was
// left for it, within one another.
func TestWriterLongHeaders(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 65535, 65536} {
		w := NewWriter(nil, Msgpack)
		w.Array()
		w.Object()
		for i := range n {
			w.Name(string(rune('a'+i%26)) + strings.Repeat("x", i/26%40) + string(rune(0x4e00+i/1040)))
			w.Int(7)
		}
		w.End()
		for range n {
			w.Bool(true)
		}
		w.End()
		v, err := ParseMsgpack(w.Bytes())
		if err != nil || len(v.Items) != n+1 || len(v.Items[0].Fields) != n {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func TestWriterAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 1024)
	for _, enc := range []Encoding{JSON, Msgpack} {
		if got := testing.AllocsPerRun(100, func() {
			w := NewWriter(buf[:0], enc)
			w.Object()
			w.Name("a")
			w.String("b")
			w.Name("c")
			w.Amount(1500, quota.Tokens)
			w.Name("d")
			w.Instant(1786699815250)
			w.End()
			buf = w.Bytes()
		}); got > 0 {
			t.Errorf("%s: %v allocations", enc.ContentType(), got)
		}
	}
}

// drawValue draws any value whose numbers are integers, so that both encodings
// hold it as it is.
func drawValue(t *rapid.T, depth int) Value {
	most := Object
	if depth == 0 {
		most = String
	}
	v := Value{Kind: Kind(rapid.IntRange(int(Null), int(most)).Draw(t, "kind"))}
	switch v.Kind {
	case Bool:
		v.Bool = rapid.Bool().Draw(t, "bool")
	case Number:
		v.Text = string(quota.AppendFixed(nil, rapid.Int64().Draw(t, "number"), 0))
	case String:
		v.Text = rapid.String().Draw(t, "string")
	case Array:
		for range rapid.IntRange(0, 20).Draw(t, "items") {
			v.Items = append(v.Items, drawValue(t, depth-1))
		}
	case Object:
		for _, name := range rapid.SliceOfNDistinct(rapid.String(), 0, 20, rapid.ID).Draw(t, "names") {
			v.Fields = append(v.Fields, Field{name, drawValue(t, depth-1)})
		}
	}
	return v
}

func TestValueRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 2)
		for _, enc := range []Encoding{JSON, Msgpack} {
			data := AppendValue(nil, enc, v)
			got, err := Parse(enc, data)
			if err != nil {
				t.Fatalf("%q: %v", data, err)
			}
			if d := cmp.Diff(v, got); d != "" {
				t.Fatalf("%q: %s", data, d)
			}
		}
	})
}
