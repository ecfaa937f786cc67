package trace

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// shown is a row as the tests write it down.
type shown struct {
	Line  int
	Event string
	Time  int64
	Err   string
}

func all(t *testing.T, r *Reader) []shown {
	t.Helper()
	var rows []shown
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		s := shown{Line: row.Line, Event: string(row.Event), Time: row.Time}
		if row.Err != nil {
			s.Err = row.Err.Error()
		}
		rows = append(rows, s)
	}
}

func check(t *testing.T, want, got []shown) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const threeRows = azureHeader + "\n" +
	"2023-11-16 18:15:46.6809999,374,44\n" +
	"2023-11-16 18:15:50.9951690,396,109\n" +
	"2023-11-16 18:15:51,0,0" // no final newline

func TestAzureRows(t *testing.T) {
	r := NewAzure(strings.NewReader(threeRows), Options{Name: "/tmp/Trace_conv.csv"}, Deal{ConnectionID: "demo", Keys: 2})
	check(t, []shown{
		{Line: 2, Time: 1700158546680, Event: `{"id":"azure-Trace_conv-2-0e0a03ab85cee556","time":"2023-11-16T18:15:46.680Z",` +
			`"apiKeyId":"key-1","connectionId":"demo","cost":{"requests":1,"tokens":418}}`},
		{Line: 3, Time: 1700158550995, Event: `{"id":"azure-Trace_conv-3-846905cfeff91d31","time":"2023-11-16T18:15:50.995Z",` +
			`"apiKeyId":"key-2","connectionId":"demo","cost":{"requests":1,"tokens":505}}`},
		{Line: 4, Time: 1700158551000, Event: `{"id":"azure-Trace_conv-4-33f9c4520bc575a0","time":"2023-11-16T18:15:51.000Z",` +
			`"apiKeyId":"key-1","connectionId":"demo","cost":{"requests":1,"tokens":0}}`},
	}, all(t, r))
}

// A trace of one's own may say whose the requests were; then nothing is dealt.
func TestTraceWithKeys(t *testing.T) {
	text := "TIMESTAMP,ContextTokens,GeneratedTokens,Key\n" + strings.Join([]string{
		"2023-11-16 18:15:46.6809999,374,44,alice",
		"2023-11-16 18:15:51,0,0,bob & co",
		"2023-11-16 18:15:51,0,0",
		"2023-11-16 18:15:51,0,0,",
	}, "\n")
	check(t, []shown{
		{Line: 2, Time: 1700158546680, Event: `{"id":"azure-t-2-b38659aa9409ced8","time":"2023-11-16T18:15:46.680Z",` +
			`"apiKeyId":"alice","connectionId":"demo","cost":{"requests":1,"tokens":418}}`},
		{Line: 3, Time: 1700158551000, Event: `{"id":"azure-t-3-ccaeda5b4229c120","time":"2023-11-16T18:15:51.000Z",` +
			`"apiKeyId":"bob & co","connectionId":"demo","cost":{"requests":1,"tokens":0}}`},
		{Line: 4, Err: "the row has 3 fields, not 4"},
		{Line: 5, Err: `the column Key: "" is empty`},
	}, all(t, NewAzure(strings.NewReader(text), Options{Name: "t.csv"}, Deal{ConnectionID: "demo", Keys: 2})))
}

func TestAzureWindowsFile(t *testing.T) {
	text := "\ufeff" + strings.ReplaceAll(threeRows, "\n", "\r\n") + "\r\n"
	want := all(t, NewAzure(strings.NewReader(threeRows), Options{Name: "a"}, Deal{"c", 1}))
	check(t, want, all(t, NewAzure(strings.NewReader(text), Options{Name: "a"}, Deal{"c", 1})))
}

// ids returns the ids of a file's rows under those circumstances.
func ids(t *testing.T, name string, shift int64, d Deal) string {
	t.Helper()
	var all []string
	r := NewAzure(strings.NewReader(threeRows), Options{Name: name, Shift: shift}, d)
	for {
		row, err := r.Next()
		if err != nil {
			return strings.Join(all, " ")
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(string(row.Event), `{"id":"`), `"`)
		all = append(all, id)
	}
}

// Imported twice counts once; imported otherwise is other traffic, and must not
// meet the first under the same ids.
func TestIDsFollowTheContent(t *testing.T) {
	first := ids(t, "a.csv", 0, Deal{"c", 2})
	if again := ids(t, "/other/place/a.csv", 0, Deal{"c", 2}); again != first {
		t.Errorf("the second import has ids %s, the first %s", again, first)
	}
	for what, other := range map[string]string{
		"another shift":      ids(t, "a.csv", 1, Deal{"c", 2}),
		"another connection": ids(t, "a.csv", 0, Deal{"d", 2}),
		"another file":       ids(t, "b.csv", 0, Deal{"c", 2}),
	} {
		for id := range strings.FieldsSeq(other) {
			if strings.Contains(first, id) {
				t.Errorf("%s has the id %s too", what, id)
			}
		}
	}
}

func TestAzureBadRowsAreTold(t *testing.T) {
	text := azureHeader + "\n" + strings.Join([]string{
		"2023-11-16 18:15:46,1",
		"yesterday,1,2",
		"2023-11-16 18:15:46,-1,2",
		"2023-11-16 18:15:46,1,2.5",
		"2023-11-16 18:15:46,1000000000001,2",
		"",
		"2023-11-16 18:15:46,1000000000000,2",
	}, "\n")
	var got []string
	for _, row := range all(t, NewAzure(strings.NewReader(text), Options{}, Deal{})) {
		got = append(got, row.Err)
	}
	want := []string{
		"the row has 2 fields, not 3",
		`TIMESTAMP: "yesterday" is no time like 2023-11-16 18:15:46.6805900`,
		`ContextTokens: "-1" is no number of tokens`,
		`GeneratedTokens: "2.5" is no number of tokens`,
		`ContextTokens: "1000000000001" is no number of tokens`,
		"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOtherFilesAreNoAzureTrace(t *testing.T) {
	for _, text := range []string{"a,b,c\n1,2,3\n", `{"apiKeyId":"k"}`} {
		if _, err := NewAzure(strings.NewReader(text), Options{}, Deal{}).Next(); !errors.Is(err, ErrNotAzure) {
			t.Errorf("%q: error is %v", text, err)
		}
	}
}

func TestNDJSONGetsIDs(t *testing.T) {
	text := "\n" + strings.Join([]string{
		`{"id":"mine","apiKeyId":"k","connectionId":"c"}`,
		`{"apiKeyId":"k","time":"2026-01-02T03:04:05Z"}`,
		`{"id":null,"apiKeyId":"k","time":1767323045000}`,
		`not json`,
		`[1]`,
	}, "\n")
	check(t, []shown{
		{Line: 2, Event: `{"id":"mine","apiKeyId":"k","connectionId":"c"}`},
		{Line: 3, Time: 1767323045000, Event: `{"id":"import-a_b-3-553f50897bb7f8d8","apiKeyId":"k","time":"2026-01-02T03:04:05Z"}`},
		{Line: 4, Time: 1767323045000, Event: `{"id":"import-a_b-4-11e3a2427fcfc97f","apiKeyId":"k","time":1767323045000}`},
		{Line: 5, Event: `not json`},
		{Line: 6, Event: `[1]`},
	}, all(t, NewNDJSON(strings.NewReader(text), Options{Name: "a b.ndjson"})))
}

func TestNDJSONShift(t *testing.T) {
	text := `{"id":"1","time":"2026-01-02T03:04:05+01:00","cost":{"tokens":1.50}}
{"id":"2","time":1767323045000}
{"id":"3"}
{"id":"4","time":"soon"}`
	check(t, []shown{
		{Line: 1, Time: 1767319446000, Event: `{"id":"1","time":"2026-01-02T02:04:06.000Z","cost":{"tokens":1.50}}`},
		{Line: 2, Time: 1767323046000, Event: `{"id":"2","time":"2026-01-02T03:04:06.000Z"}`},
		{Line: 3, Event: `{"id":"3"}`},
		{Line: 4, Event: `{"id":"4","time":"soon"}`},
	}, all(t, NewNDJSON(strings.NewReader(text), Options{Shift: 1000})))
}

func TestLatestIsTheNewestTimeNotTheLastRow(t *testing.T) {
	text := `{"time":1767323045000}` + "\n" + `{"time":1767323047000}` + "\n" + `{"time":1767323046000}` + "\n" + `{}`
	got, err := Latest(NewNDJSON(strings.NewReader(text), Options{}))
	if err != nil || got != 1767323047000 {
		t.Errorf("got %d, %v", got, err)
	}
	if got, err := Latest(NewNDJSON(strings.NewReader("{}"), Options{})); got != 0 || err != nil {
		t.Errorf("no times: got %d, %v", got, err)
	}
}

// A line that is too long costs its own row and no other.
func TestLongLines(t *testing.T) {
	fits := `{"id":"` + strings.Repeat("x", MaxLine-len(`{"id":""}`)-1) + `"}`
	text := fits + "\n" + fits + "xx\n" + `{"id":"next"}` + "\n" + strings.Repeat("y", 3*MaxLine)
	rows := all(t, NewNDJSON(strings.NewReader(text), Options{}))
	if len(rows) != 4 {
		t.Fatalf("%d rows, want 4", len(rows))
	}
	for i, want := range []string{"", errLong.Error(), "", errLong.Error()} {
		if rows[i].Err != want || rows[i].Line != i+1 {
			t.Errorf("line %d (%d): error %q, want %q", i+1, rows[i].Line, rows[i].Err, want)
		}
	}
	if rows[0].Event != fits || rows[2].Event != `{"id":"next"}` {
		t.Error("a line beside the long one has changed")
	}
}

func TestBrokenSourceIsAnError(t *testing.T) {
	src := io.MultiReader(strings.NewReader(`{"id":"1"}`+"\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	r := NewNDJSON(src, Options{})
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error is %v", err)
	}
}

func TestFileNamesMakeIDs(t *testing.T) {
	for name, want := range map[string]string{
		"/a/b/trace.csv":                 "trace",
		"x y\x01é.ndjson":                "x_y__",
		"-":                              "-",
		strings.Repeat("n", 300) + ".nd": strings.Repeat("n", 128),
	} {
		if got := baseName(name); got != want {
			t.Errorf("%q makes %q, want %q", name, got, want)
		}
	}
}
