package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
)

func read(t *testing.T, doc string) (Reader, *Faults) {
	t.Helper()
	v, err := ParseJSON([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	faults := &Faults{}
	r, _ := Read(v, "", faults)
	return r, faults
}

func TestReaderReads(t *testing.T) {
	r, faults := read(t, `{"id":"a b","text":"","n":"12","big":9223372036854775799,"amount":"1.5e3","ratio":0.123456,"flag":false,
		"at":"2026-08-14T11:30:15.2509+02:00","ms":1786699815250,"word":"5h","object":{"x":1},"array":[1,null],"objects":[{"x":1},{"x":2}],"ids":["a","b"],"null":null}`)
	amount, _ := r.Amount("amount", quota.Tokens)
	ratio, _ := r.Ratio("ratio", 0, quota.RatioOne)
	big, _ := r.Int("big", 0, 1<<63-1)
	flag, hasFlag := r.Flag("flag")
	word, _ := Enum(r, "word", quota.ParseWindow, quota.WindowNames)
	object, hasObject := r.Object("object")
	array, _ := r.Array("array", 2)
	objects, _ := r.Objects("objects", 2)
	ids, _ := r.IDs("ids", 2)
	second, _ := objects[1].Int("x", 0, 2)
	got := []any{
		r.NeedID("id"), r.NeedText("id", 3), r.Text("text", 0), r.NeedInt("n", 12, 12), big, amount, ratio, flag, hasFlag,
		r.Instant("at"), r.Instant("ms"), word, hasObject, object.Has("x"), len(array), second, ids, r.Has("null"), object.Path("x"), objects[1].Path("x"),
	}
	want := []any{
		"a b", "a b", "", int64(12), int64(9223372036854775799), quota.Amount(1_500_000), quota.Ratio(123456), false, true,
		int64(1786699815250), int64(1786699815250), quota.FiveHour, true, true, 2, int64(2),
		[]string{"a", "b"},
		false, "object.x", "objects[1].x",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := faults.Err(); err != nil {
		t.Error(err)
	}
}

// TestReaderAbsent: a field that is null or not there is no fault, unless it
// must be there.
func TestReaderAbsent(t *testing.T) {
	r, faults := read(t, `{"x":null}`)
	for _, name := range []string{"x", "y"} {
		_, amount := r.Amount(name, quota.USD)
		_, ratio := r.Ratio(name, 1, 2)
		_, n := r.Int(name, 1, 2)
		_, flag := r.Flag(name)
		_, word := Enum(r, name, quota.ParseWindow, "")
		_, object := r.Object(name)
		_, array := r.Array(name, 0)
		_, objects := r.Objects(name, 0)
		_, ids := r.IDs(name, 0)
		if r.ID(name) != "" || r.Text(name, 0) != "" || r.Instant(name) != 0 || amount || ratio || n || flag || word || object || array || objects || ids {
			t.Errorf("%s is there", name)
		}
	}
	if err := faults.Err(); err != nil {
		t.Error(err)
	}
	r.NeedID("x")
	r.NeedText("x", 1)
	r.NeedInt("y", 0, 1)
	const want = "x is missing; x is missing; y is missing"
	if got := faults.Error(); got != want {
		t.Error(got)
	}
}

// TestReaderFaults has one call for each way to be wrong, and its words.
func TestReaderFaults(t *testing.T) {
	const doc = `{"empty":"","long":"éé","control":"a\u0001","n":7,"frac":1.5,"seven":"1.2345678","huge":1e30,"text":"x","flag":true,"array":[{},7],"ids":["a",7,""],"seconds":1786699815,"object":{"x":"y"}}`
	object := func(r Reader) Reader { o, _ := r.Object("object"); return o }
	for _, c := range []struct {
		call func(r Reader)
		want string
	}{
		{func(r Reader) { r.ID("empty") }, "empty is empty"},
		{func(r Reader) { r.NeedText("empty", 5) }, "empty is empty"},
		{func(r Reader) { r.ID("control") }, "control has a control character"},
		{func(r Reader) { r.ID("n") }, "n is a number, not a string"},
		{func(r Reader) { r.Text("long", 1) }, "long has more than 1 characters"},
		{func(r Reader) { r.Text("long", 2) }, ""},
		{func(r Reader) { r.Text("flag", 1) }, "flag is a boolean, not a string"},
		{func(r Reader) { r.Amount("text", quota.USD) }, "text is not a number"},
		{func(r Reader) { r.Amount("flag", quota.USD) }, "flag is a boolean, not a number"},
		{func(r Reader) { r.Amount("huge", quota.USD) }, "huge is beyond 1000000, the most that one amount may be"},
		{func(r Reader) { r.Ratio("seven", 0, 2e6) }, "seven has too many decimals"},
		{func(r Reader) { r.Ratio("frac", 0, 1_499_999) }, "frac is not within 0 to 1.499999"},
		{func(r Reader) { r.Ratio("frac", 0, 1_500_000) }, ""},
		{func(r Reader) { r.Ratio("frac", 1_500_001, 2e6) }, "frac is not within 1.500001 to 2"},
		{func(r Reader) { r.Int("frac", 0, 9) }, "frac is not a whole number"},
		{func(r Reader) { r.Int("huge", 0, 9) }, "huge is not within 0 to 9"},
		{func(r Reader) { r.Int("n", 0, 6) }, "n is not within 0 to 6"},
		{func(r Reader) { r.Int("n", 8, 9) }, "n is not within 8 to 9"},
		{func(r Reader) { r.Int("n", 7, 7) }, ""},
		{func(r Reader) { r.Int("text", 0, 6) }, "text is not a number"},
		{func(r Reader) { r.Flag("n") }, "n is a number, not a boolean"},
		{func(r Reader) { r.Instant("seconds") }, "seconds is before 2000: use milliseconds, not seconds"},
		{func(r Reader) { r.Instant("flag") }, "flag is not a time: use RFC 3339 with zone, or integer epoch milliseconds"},
		{func(r Reader) { Enum(r, "text", quota.ParseWindow, "this or that") }, "text is x: use this or that"},
		{func(r Reader) { Enum(r, "n", quota.ParseWindow, "") }, "n is a number, not a string"},
		{func(r Reader) { r.Object("array") }, "array is an array, not an object"},
		{func(r Reader) { r.Array("object", 1) }, "object is an object, not an array"},
		{func(r Reader) { r.Array("array", 1) }, "array has 2 items, more than 1"},
		{func(r Reader) { r.Objects("array", 2) }, "array[1] is a number, not an object"},
		{func(r Reader) { r.IDs("ids", 3) }, "ids[1] is a number, not a string; ids[2] is empty"},
		{func(r Reader) { object(r).Int("x", 0, 1) }, "object.x is not a number"},
		{func(r Reader) { object(r).Only("y", "z") }, "object.x is unknown: use y, z"},
		{func(r Reader) { object(r).Only("x") }, ""},
		{func(r Reader) { object(r).Fault("z", "is odd") }, "object.z is odd"},
	} {
		r, faults := read(t, doc)
		c.call(r)
		if got := faults.Error(); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}

func TestReadNoObject(t *testing.T) {
	faults := Faults{}
	if _, ok := Read(Value{Kind: Array}, "items[1]", &faults); ok {
		t.Error("an array is read as an object")
	}
	r, _ := Read(Value{}, "", &faults)
	r.ID("x")
	const want = "items[1] is an array, not an object; the document is absent, not an object"
	if got := faults.Error(); got != want {
		t.Error(got)
	}
}

// TestFaultsAreShownInBounds: neither their number nor a name from outside makes
// a message long or gives it control characters.
func TestFaultsAreShownInBounds(t *testing.T) {
	r, faults := read(t, `{"`+strings.Repeat("x", 5000)+`":1,"a\u0007b":1}`)
	r.Only("y")
	if got := faults.Error(); len(got) > 300 || strings.Contains(got, "\a") {
		t.Error(got)
	}
	for range 100 {
		faults.Add("f", "is wrong")
	}
	if got := faults.Error(); len(got) > 1000 || !strings.HasSuffix(got, "; and more") {
		t.Error(got)
	}
	if err := (Faults{}).Err(); err != nil {
		t.Error(err)
	}
}
