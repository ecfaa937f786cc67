package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/trace"
)

// door is what an upload sees of an engine, with every request noted. A real
// one answers in the scripts; here it also answers what it should not.
type door struct {
	t     *testing.T
	rows  []int // of each upload
	asked []string
	reply func(seq, rows int) string
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		d.asked = append(d.asked, r.URL.String())
		fmt.Fprint(w, `{"counts":{"folded":7,"duplicates":6,"late":5,"rejected":4}}`)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		d.t.Error(err)
	}
	n := bytes.Count(body, []byte("\n"))
	d.rows = append(d.rows, n)
	fmt.Fprint(w, d.reply(len(d.rows), n))
}

// taken answers as an engine that took every row, each request at one sequence.
func taken(seq, rows int) string {
	one := fmt.Sprintf(`{"id":"x","seq":%d}`, 10*seq)
	return `{"results":[` + strings.TrimSuffix(strings.Repeat(one+",", rows), ",") + `]}`
}

// send uploads that many rows through a door.
func send(t *testing.T, d *door, rows int, row string) (*upload, string, error) {
	t.Helper()
	d.t = t
	s := httptest.NewServer(d)
	defer s.Close()
	var errs bytes.Buffer
	u := &upload{api: &client{base: s.URL}, errs: &errs}
	src := trace.NewNDJSON(strings.NewReader(strings.Repeat(row+"\n", rows)), trace.Options{})
	err := u.all(t.Context(), src, newProgress(io.Discard, 0, false))
	return u, errs.String(), err
}

func TestUploadsAreCut(t *testing.T) {
	d := &door{reply: taken}
	u, _, err := send(t, d, 2*chunkRows+1, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{chunkRows, chunkRows, 1}, d.rows); diff != "" {
		t.Errorf("rows of each request (-want +got):\n%s", diff)
	}
	if u.accepted != 2*chunkRows+1 || u.lastSeq != 30 {
		t.Errorf("%d accepted, the last at %d", u.accepted, u.lastSeq)
	}
	d = &door{reply: taken}
	big := `{"id":"` + strings.Repeat("x", chunkBytes/3) + `"}`
	if _, _, err := send(t, d, 4, big); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{3, 1}, d.rows); diff != "" {
		t.Errorf("rows of each request, when they are large (-want +got):\n%s", diff)
	}
}

func TestUploadEndsWhenTheLogIsGone(t *testing.T) {
	_, errs, err := send(t, &door{reply: func(_, rows int) string {
		return `{"results":[{"id":"a","seq":1},{"error":{"type":"unavailable_error","message":"the log takes no writes"}}]}`
	}}, 2, `{}`)
	if err == nil || err.Error() != "line 2: the log takes no writes" || errs != "" {
		t.Errorf("error is %v, printed %q", err, errs)
	}
}

func TestUploadWantsAnAnswerForEveryRow(t *testing.T) {
	for _, reply := range []string{taken(1, 2), `no json`, `{"error":{"message":"it broke off"},"results":[]}`} {
		if _, _, err := send(t, &door{reply: func(int, int) string { return reply }}, 3, `{}`); err == nil {
			t.Errorf("%s was taken for an answer", reply)
		}
	}
}

func TestManyErrorsAreCountedNotShown(t *testing.T) {
	refuse := `{"error":{"type":"invalid_request_error","message":"wrong"}}`
	u, errs, err := send(t, &door{reply: func(_, rows int) string {
		return `{"results":[` + strings.TrimSuffix(strings.Repeat(refuse+",", rows), ",") + `]}`
	}}, mostShown+10, `x`)
	if err != nil || u.refused != mostShown+10 {
		t.Errorf("%d refused, %v", u.refused, err)
	}
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	if len(lines) != mostShown+1 || lines[mostShown] != "… further errors are only counted" {
		t.Errorf("printed\n%s", errs)
	}
}

func TestCountsWaitForTheirSequence(t *testing.T) {
	d := &door{t: t}
	s := httptest.NewServer(d)
	defer s.Close()
	c := &client{base: s.URL}
	got, err := c.counts(t.Context(), 9)
	if err != nil || got != (counts{Folded: 7, Duplicates: 6, Late: 5, Rejected: 4}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"/api/quota/state?minSeq=9"}, d.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// Lines without a time count as now by themselves; there is nothing to shift.
func TestRebaseWithoutTimesShiftsNothing(t *testing.T) {
	c := &importCmd{Trace: "ndjson", Rebase: "now"}
	for text, want := range map[string]int64{`{}`: 0, `{"time":1767323045000}`: 5} {
		if got, err := c.shift(strings.NewReader(text), 1767323045005); err != nil || got != want {
			t.Errorf("%s: shift %d, %v, want %d", text, got, err, want)
		}
	}
}

// The counts after an import are those with its last event folded.
func TestImportCountsBeforeAndAfter(t *testing.T) {
	d := &door{t: t, reply: taken}
	s := httptest.NewServer(d)
	defer s.Close()
	var out, errs bytes.Buffer
	code := run(t.Context(), program.Process{
		Name: "quotashare", Args: []string{"import", "-", "--http-addr", strings.TrimPrefix(s.URL, "http://")},
		Stdin: strings.NewReader("{}\n{}"), Stdout: &out, Stderr: &errs,
	})
	if code != program.OK || out.String() != "2 rows: 0 folded, 2 duplicates, 0 late, 0 rejected, 0 refused\n" {
		t.Errorf("exit %d\n%s%s", code, &out, &errs)
	}
	if diff := cmp.Diff([]string{"/api/quota/state", "/api/quota/state?minSeq=10"}, d.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}
