package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

// scanValue reads any value with the scanner. What it cannot say, because the
// scanner reads numbers as numbers only, is left out: a number has no text.
func scanValue(s *Scanner, depth int) Value {
	switch {
	case s.Odd() || depth == 0:
		s.GiveUp()
	case s.Null():
		return Value{Kind: Null}
	case s.IsArray():
		v := Value{Kind: Array}
		members := s.Array()
		for s.Item(&members) {
			v.Items = append(v.Items, scanValue(s, depth-1))
		}
		return v
	case s.isText():
		return str(s.String())
	}
	return scanRest(s, depth)
}

func scanRest(s *Scanner, depth int) Value {
	switch c := s.peek(); {
	case c == 't' || c == 'f' && s.enc == JSON, c == 0xc2, c == 0xc3:
		return Value{Kind: Bool, Bool: s.Flag()}
	case c == '{' && s.enc == JSON, s.enc == Msgpack && (c>>4 == 8 || c == 0xde || c == 0xdf):
		v := Value{Kind: Object}
		members := s.Object()
		for name, ok := s.Field(&members); ok; name, ok = s.Field(&members) {
			v.Fields = append(v.Fields, Field{name, scanValue(s, depth-1)})
		}
		return v
	}
	s.fixed(3)
	return Value{Kind: Number}
}

func withoutNumbers(v Value) Value {
	if v.Kind == Number {
		v.Text = ""
	}
	for i := range v.Items {
		v.Items[i] = withoutNumbers(v.Items[i])
	}
	for i := range v.Fields {
		v.Fields[i].Value = withoutNumbers(v.Fields[i].Value)
	}
	return v
}

// agree fails when the scanner takes a document and the parser refuses it, or
// gives another value. A name that comes twice is the scanner's caller's to see.
func agree(t interface {
	Fatalf(format string, args ...any)
}, enc Encoding, data []byte,
) {
	s := NewScanner(string(data), enc)
	got := scanValue(&s, 20)
	if !s.Done() {
		return
	}
	want, err := Parse(enc, data)
	if _, twice := err.(*DuplicateError); twice {
		return
	}
	if err != nil {
		t.Fatalf("%q is scanned, but %v", data, err)
	}
	if d := cmp.Diff(withoutNumbers(want), got); d != "" {
		t.Fatalf("%q: parser -, scanner +: %s", data, d)
	}
}

var scanSeeds = []string{
	`{"a":[1,-2.5,"x",true,false,null,{}],"é":"\u00e9"}`, `[]`, ` [ 1 , 2 ] `, `[1,]`, `[,1]`, `{"a":1,}`, `{,}`, `{"a" 1}`, `[1 2]`, `nullx`, `[nul]`, `[tru]`, `"a`, `01`, `1.`, `-`, `1e5`, "[\"\x7f\"]", "[\"\xff\"]", "[\"\n\"]", `[1}`, `{]`,
	"\x82\xa1a\x93\x01\xc0\xc3\xa1b\xd9\x01x", "\xdc\x00\x01\x80", "\xdf\xff\xff\xff\xff", "\xdd\x00\x00\x00\x01\xff", "\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00", "\xca\x7f\xc0\x00\x00", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "\xc4\x01a", "\xd6\xff\x00\x00\x00\x00", "\x81\x01\x01", "\xc1",
}

func TestScannerAgrees(t *testing.T) {
	for _, data := range scanSeeds {
		agree(t, JSON, []byte(data))
		agree(t, Msgpack, []byte(data))
	}
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 2)
		for _, enc := range []Encoding{JSON, Msgpack} {
			agree(t, enc, AppendValue(nil, enc, v))
		}
	})
}

// TestScannerKnows: the common form is scanned to its end, and what is wrong is
// not.
func TestScannerKnows(t *testing.T) {
	for data, want := range map[string]bool{
		`{"a":[1,-2.5,"x",true,false,null,{}],"é":"é"}`: true,
		" \t\r\n[ 1 , 2 ] \n":                           true,
		`[]`:                                            true, `{}`: true, `{"a":{"b":[[]]}}`: true,
		`[1,]`: false, `[,1]`: false, `{"a":1,}`: false, `{,}`: false, `[1 2]`: false, `{"a" 1}`: false, `{a:1}`: false,
		`[nullx]`: false, `[nul]`: false, `[tru]`: false, `["a]`: false, `[01]`: false, `[1.]`: false, `[-]`: false, `[1}`: false, `{]`: false,
		`["\n"]`: false, "[\"\n\"]": false, "[\"\xff\"]": false, `[1] 2`: false, `[1`: false, `{"a":`: false, ``: false,
	} {
		s := NewScanner(data, JSON)
		scanValue(&s, 20)
		if got := s.Done(); got != want {
			t.Errorf("%q: %v", data, got)
		}
	}
	for data, want := range map[string]bool{
		"\x82\xa1a\x93\x01\xc0\xc3\xa1b\xd9\x01x":                      true,
		"\xdc\x00\x01\x80":                                             true,
		"\x92\xca\x3f\x80\x00\x00\xd3\xff\xff\xff\xff\xff\xff\xff\xff": true,
		"\xdf\xff\xff\xff\xff":                                         false, "\x91": false, "\x91\x01\x01": false, "\x91\xc4\x01a": false, "\x91\xc1": false, "\x81\x01\x01": false, "\x91\xcd\x01": false, "\x91\xa5a": false, "\x91\xa1\xff": false,
		"\x91\xca\x7f\xc0\x00\x00": false, "\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff": false,
	} {
		s := NewScanner(data, Msgpack)
		scanValue(&s, 20)
		if got := s.Done(); got != want {
			t.Errorf("%q: %v", data, got)
		}
	}
}

// TestScannerTyped: the typed methods take what the reader takes.
func TestScannerTyped(t *testing.T) {
	const doc = `["a:b",12,"12",1.5,"1.0005",-2,1786699815250,"1786699815250","2026-08-14T11:30:15.250+02:00","2026-08-14T09:30:15.250Z","é",7]`
	v, err := ParseJSON([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	for _, enc := range []Encoding{JSON, Msgpack} {
		s := NewScanner(string(AppendValue(nil, enc, v)), enc)
		members := s.Array()
		var got []any
		for i := 0; s.Item(&members); i++ {
			switch i {
			case 0, 10:
				got = append(got, s.ID())
			case 1, 2:
				got = append(got, s.Int())
			case 3, 4, 5:
				got = append(got, int64(s.Amount(quota.Tokens)))
			case 11:
				s.Skip()
			default:
				got = append(got, s.Instant())
			}
		}
		const at = int64(1786699815250)
		if d := cmp.Diff([]any{"a:b", int64(12), int64(12), int64(1500), int64(1001), int64(-2000), at, at, at, at, "é"}, got); d != "" || !s.Done() {
			t.Errorf("%s: %v %s", enc.ContentType(), s.Done(), d)
		}
	}
}

// TestScannerTypedGivesUp: and nothing else.
func TestScannerTypedGivesUp(t *testing.T) {
	for data, read := range map[string]func(s *Scanner){
		`""`:                     func(s *Scanner) { s.ID() },
		"\"a\x7fb\"":             func(s *Scanner) { s.ID() },
		"\"\u0085\"":             func(s *Scanner) { s.ID() },
		`7`:                      func(s *Scanner) { s.ID() },
		`1.5`:                    func(s *Scanner) { s.Int() },
		`"x"`:                    func(s *Scanner) { s.Int() },
		`true`:                   func(s *Scanner) { s.Int() },
		`1000000.000000001`:      func(s *Scanner) { s.Amount(quota.USD) },
		`-1000000.000000001`:     func(s *Scanner) { s.Amount(quota.USD) },
		`1e31`:                   func(s *Scanner) { s.Amount(quota.USD) },
		`946684799999`:           func(s *Scanner) { s.Instant() },
		`253402300800000`:        func(s *Scanner) { s.Instant() },
		`1786699815250.5`:        func(s *Scanner) { s.Instant() },
		`"1999-12-31T23:59:59Z"`: func(s *Scanner) { s.Instant() },
		`"2026-08-14T09:30:15"`:  func(s *Scanner) { s.Instant() },
		`1`:                      func(s *Scanner) { s.Flag() },
		`[1]`:                    func(s *Scanner) { s.Skip() },
		`{"a":1}`:                func(s *Scanner) { s.Skip() },
		`[]`:                     func(s *Scanner) { s.Object() },
		`{}`:                     func(s *Scanner) { s.Array() },
	} {
		s := NewScanner(data, JSON)
		if read(&s); s.Done() {
			t.Errorf("%s is taken", data)
		}
	}
}

// TestScannerMsgpackNumbers: integers and floats as counts of thousandths; what
// overflows is odd and not wrapped.
func TestScannerMsgpackNumbers(t *testing.T) {
	for _, c := range []struct {
		data string
		want quota.Amount
		ok   bool
	}{
		{"\x07", 7000, true},
		{"\xff", -1000, true},
		{"\xd3\xff\xff\xff\x17\x2b\x5a\xf0\x00", -1e15, true},
		{"\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", 100, true},
		{"\xca\x3d\xcc\xcc\xcd", 100, true},
		{"\xca\x3e\x4d\x4f\xdf", 201, true}, // 0.2005 in 32 bits; in 64 it is 0.20049999…
		{"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", 0, false},
		{"\xd3\x7f\xff\xff\xff\xff\xff\xff\xff", 0, false},
		{"\xcf\x80\x00\x00\x00\x00\x00\x00\x00", 0, false},
		{"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01", 0, false},
		{"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", 0, false},
		{"\xca\xff\x80\x00\x00", 0, false},
	} {
		s := NewScanner(c.data, Msgpack)
		if got := s.Amount(quota.Tokens); s.Done() != c.ok || c.ok && got != c.want {
			t.Errorf("%x: %d %v", c.data, got, s.Done())
		}
	}
}

// TestScannerIDLength: 256 bytes and no more.
func TestScannerIDLength(t *testing.T) {
	for n, want := range map[int]bool{256: true, 257: false} {
		s := NewScanner(`"`+strings.Repeat("x", n)+`"`, JSON)
		if s.ID(); s.Done() != want {
			t.Errorf("%d bytes: %v", n, s.Done())
		}
	}
}

// TestShortNumbers: parseShort is quota.ParseFixed where it knows the number.
func TestShortNumbers(t *testing.T) {
	known := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{0,20}(\.[0-9]{0,12})?[e ]?`).Draw(t, "text")
		digits := rapid.IntRange(0, 9).Draw(t, "digits")
		got, ok := parseShort(text, digits)
		if !ok {
			return
		}
		known++
		want, exact, err := quota.ParseFixed(text, digits)
		if err != nil || !exact || got != want {
			t.Fatalf("%q: %d, not %d %v %v", text, got, want, exact, err)
		}
	})
	if known == 0 {
		t.Error("it knew none")
	}
	for _, text := range []string{"9223372036854775807", "9223372036854775808", "9999999999999999999", "99999999999999999999", "1.0000000000"} {
		if got, ok := parseShort(text, 0); ok {
			t.Errorf("%s is not short, nor %d", text, got)
		}
	}
	for _, text := range []string{"0", "-0", "7", "123456789", "0.000000001", "-999999999.999999999"} {
		if _, ok := parseShort(text, 9); !ok {
			t.Errorf("%s is common", text)
		}
	}
}

// TestUTC: parseUTC is time.Parse where it knows the form.
func TestUTC(t *testing.T) {
	check := func(t interface {
		Fatalf(format string, args ...any)
	}, text string,
	) {
		got, ok := parseUTC(text)
		at, err := time.Parse(time.RFC3339, text)
		if ok && (err != nil || got != at.UnixMilli()) {
			t.Fatalf("%q: %d, not %d %v", text, got, at.UnixMilli(), err)
		}
	}
	for _, text := range []string{
		"2026-08-14T24:00:00Z", "2026-08-14T23:60:00Z", "2026-08-14T23:59:60Z", "2026-08-14T09:30:15:250Z", "2026-08-14T09:30:15.25xZ", "2026-13-14T09:30:15Z", "2026-00-14T09:30:15Z", "2026-08-00T09:30:15Z",
		"2026/08-14T09:30:15Z", "2026-08/14T09:30:15Z", "2026-08-14 09:30:15Z", "2026-08-14T09.30:15Z", "2026-08-14T09:30.15Z", "2026-08-14T09:30:15z", "202a-08-14T09:30:15Z", "-026-08-14T09:30:15Z", "0000-02-01T00:00:00Z",
	} {
		if ms, ok := parseUTC(text); ok {
			t.Errorf("%s is taken for %d", text, ms)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := quota.FormatInstant(rapid.Int64Range(quota.MinInstant, quota.MaxInstant).Draw(t, "ms"))
		if _, ok := parseUTC(text); !ok {
			t.Fatalf("%s is common", text)
		}
		check(t, text)
		check(t, text[:19]+"Z")
		odd := []byte(text)
		odd[rapid.IntRange(0, 23).Draw(t, "at")] = rapid.SampledFrom([]byte("0123456789-:TZ. +")).Draw(t, "byte")
		check(t, string(odd))
	})
	for year := 1970; year < 2405; year++ {
		for month := 1; month <= 12; month++ {
			last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC)
			if got, ok := parseUTC(last.Format(time.RFC3339)); !ok || got != last.UnixMilli() {
				t.Fatalf("%v: %d %v", last, got, ok)
			}
			if _, ok := parseUTC(last.AddDate(0, 0, -1).Format("2006-01-") + string(rune('0'+(last.Day()+1)/10)) + string(rune('0'+(last.Day()+1)%10)) + "T00:00:00Z"); ok {
				t.Fatalf("the day after %v is taken", last)
			}
		}
	}
}
