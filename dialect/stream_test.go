package dialect

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

const bom = "\xef\xbb\xbf"

var streams = []string{
	"data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"h\\u00e9\\n\"}}],\"usage\":null}\n\n",
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\r\n\r\ndata: [DONE]\r\n\r\n",
	"event: message_start\rdata: {\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}\r\revent: message_stop\rdata: {\"type\":\"message_stop\"}\r\r",
	": x\n\ndata:{\"type\":\"response.completed\",\ndata:\"response\":{\"usage\":{\"total_tokens\":3}}}\nevent\ndata\n\n",
	"\xef\xbb\xbf{\"model\":\"m\",\"usage\":{\"prompt_tokens\":3.0,\"total_tokens\":3}}",
	"\xef\xbb\xbfdata: {\"choices\":[],\"usage\":{\"total_tokens\":5}}\n\ndata: {\"usage\":null}\n\n",
	"[[[[[[[[[[[[{\"a\":1}]]]]]]]]]]]][][][]{{{}}}",
	"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
	"data: {\"usage\":null,\"a\":\"\xf0\x9f\x98\x80\\ud83d\"}\n",
	"",
}

// FuzzMeter: pieces cut anywhere give the same report, whatever the bytes, and
// no byte makes the meter hold more.
func FuzzMeter(f *testing.F) {
	for i, s := range streams {
		f.Add([]byte(s), uint8(i))
	}
	f.Fuzz(func(t *testing.T, body []byte, cuts uint8) {
		for api := API(0); api <= Models; api++ {
			whole := reportOf(api, 200, body, len(body)+1)
			m := NewMeter(api, 200)
			cutFeed(m, body, cuts)
			_ = m.Close()
			_ = m.Close()
			if got := m.Report(); got != whole {
				t.Fatalf("%v: %q: in pieces %+v, whole %+v", api, body, got, whole)
			}
			bounded(t, m)
			if n, _ := whole.Charge(7); n < 0 || whole.Text > int64(len(body)) {
				t.Fatalf("%v: %q: charged %d for %+v", api, body, n, whole)
			}
		}
	})
}

// cutFeed writes pieces of lengths that seed gives.
func cutFeed(w interface{ Write([]byte) (int, error) }, body []byte, seed uint8) {
	for len(body) > 0 {
		seed = seed*13 + 7
		n := min(int(seed>>5)+1, len(body))
		_, _ = w.Write(bytes.Clone(body[:n]))
		body = body[n:]
	}
}

// bounded fails when a meter holds more than a stream may make it hold.
func bounded(t *testing.T, m *Meter) {
	t.Helper()
	held := cap(m.picker.path) + cap(m.picker.text) + cap(m.lines.name) + cap(m.lines.event) + cap(m.head)
	if held > 2048 {
		t.Fatalf("the meter holds %d bytes", held)
	}
}

// TestMeterMemory has the streams that would make a careless reader hold them:
// long names, deep documents, events without end.
func TestMeterMemory(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, body := range []string{
		`{"` + long + `":{"` + long + `":"` + long + `"}}`,
		"data: " + strings.Repeat(`{"`+long[:1000]+`":`, 1000),
		"data: " + strings.Repeat(`[`, 1<<20),
		"data: " + strings.Repeat(`[]`, 1<<19),
		"event: " + long + "\n" + long + ": " + long,
		strings.Repeat("data: \n", 1<<17),
		"data: 1" + strings.Repeat("0", 1<<20),
	} {
		m := NewMeter(Chat, 200)
		feed(m, []byte(body), 4096)
		bounded(t, m)
		piece := []byte(body[:1000])
		if n := testing.AllocsPerRun(10, func() { _, _ = m.Write(piece) }); n > 0 {
			t.Errorf("%.20s…: %v allocations for a piece", body, n)
		}
	}
}

// FuzzStripper: pieces cut anywhere give the same stream, without a usage to
// strip it is the same bytes, and what is stripped stays stripped.
func FuzzStripper(f *testing.F) {
	for i, s := range streams {
		f.Add([]byte(s), uint8(i))
	}
	f.Fuzz(func(t *testing.T, body []byte, cuts uint8) {
		var b bytes.Buffer
		s := NewStripper(&b)
		cutFeed(s, body, cuts)
		_ = s.Close()
		got, whole := b.String(), stripOf(body, len(body)+1)
		if got != whole {
			t.Fatalf("%q: in pieces %q, whole %q", body, got, whole)
		}
		if !bytes.Contains(body, []byte("usage")) && !bytes.Contains(body, []byte(`\u`)) && got != string(body) {
			t.Fatalf("%q became %q", body, got)
		}
	})
}

// TestStripperHoldsOneEvent: an event is passed on with its last byte, in one
// call, and until then nothing of it is.
func TestStripperHoldsOneEvent(t *testing.T) {
	var w calledWriter
	s := NewStripper(&w)
	steps := []struct{ in, out string }{
		{"data: {\"choices\":[1],", ""},
		{"\"usage\":null}\n", ""},
		{"\n", "data: {\"choices\":[1]}\n\n"},
		{": a comm", ""},
		{"ent\n", ": a comment\n"},
		{"data: {\"choices\":[],\"usage\":{}}\n: no\n\ndata: [DONE]\n\nda", "data: [DONE]\n\n"},
		{"ta: x", ""},
	}
	for _, step := range steps {
		w = calledWriter{}
		if n, err := s.Write([]byte(step.in)); n != len(step.in) || err != nil {
			t.Errorf("%q: %d, %v", step.in, n, err)
		}
		if string(w.b) != step.out || w.calls > 1 {
			t.Errorf("%q: wrote %q in %d calls, not %q", step.in, w.b, w.calls, step.out)
		}
	}
	w = calledWriter{}
	for range 2 {
		if err := s.Close(); err != nil || string(w.b) != "data: x" {
			t.Errorf("closed: %q, %v", w.b, err)
		}
	}
}

type calledWriter struct {
	b     []byte
	calls int
	err   error
}

func (w *calledWriter) Write(p []byte) (int, error) {
	w.calls++
	w.b = append(w.b, p...)
	return len(p), w.err
}

// TestStripperPassesWhatItCannotRead: an event that is too long passes without
// being held, the next one is looked into again; lines that end with CR alone
// pass too.
func TestStripperPassesWhatItCannotRead(t *testing.T) {
	long := "data: {\"a\":\"" + strings.Repeat("x", 2<<20) + "\",\"usage\":null}\n\n"
	null := "data: {\"a\":1,\"usage\":null}\n\n"
	var w calledWriter
	s := NewStripper(&w)
	for body := []byte(long); len(body) > 0; body = body[min(1000, len(body)):] {
		_, _ = s.Write(body[:min(1000, len(body))])
		if len(s.held) > 1<<20 {
			t.Fatalf("it holds %d bytes", len(s.held))
		}
	}
	_, _ = s.Write([]byte(null))
	if want := long + "data: {\"a\":1}\n\n"; string(w.b) != want {
		t.Errorf("wrote %d bytes, not %d: …%q", len(w.b), len(want), w.b[len(w.b)-60:])
	}
	for _, body := range []string{strings.ReplaceAll(null+null+"d", "\n", "\r"), ` {"choices":[],`, bom + "\n" + `{"choices":[],`} {
		for _, piece := range []int{1, 4, 100} {
			w = calledWriter{}
			feed(NewStripper(&w), []byte(body), piece)
			if string(w.b) != body {
				t.Errorf("%q became %q", body, w.b)
			}
		}
	}
}

// TestStripperLooksBehindAByteOrderMark: one at the beginning of a stream stays
// its beginning, whatever is taken out behind it. What is no mark, or is not at
// the beginning, is a part of its line, as it is for a client.
func TestStripperLooksBehindAByteOrderMark(t *testing.T) {
	const (
		null  = "data: {\"a\":1,\"usage\":null}\n\n"
		clean = "data: {\"a\":1}\n\n"
		only  = "data: {\"choices\":[],\"usage\":{}}\n\n"
		done  = "data: [DONE]\n\n"
	)
	for body, want := range map[string]string{
		bom + null:                     bom + clean,
		bom + only + done:              bom + done,
		bom + "\n" + only:              bom + "\n",
		bom + ": x\n" + null:           bom + ": x\n" + clean,
		bom[:2] + null + null:          bom[:2] + null + clean,
		bom[:1] + bom + null:           bom[:1] + bom + null,
		bom + bom + null:               bom + bom + null,
		null + bom + null:              clean + bom + null,
		"\n" + bom + only:              "\n" + bom + only,
		bom[:2]:                        bom[:2],
		bom + bom[:2]:                  bom + bom[:2],
		bom + strings.Trim(only, "\n"): bom,
	} {
		for _, piece := range []int{1, 2, 3, 100} {
			if got := stripOf([]byte(body), piece); got != want {
				t.Errorf("%q in pieces of %d became %q, not %q", body, piece, got, want)
			}
		}
	}
	var w calledWriter
	feed(NewStripper(&w), []byte(bom+": x\nda"), 1)
	if want := bom + ": x\n"; string(w.b) != want {
		t.Errorf("a comment behind a mark is held: wrote %q, not %q", w.b, want)
	}
}

func TestStripperReportsErrors(t *testing.T) {
	want := errors.New("gone")
	s := NewStripper(&calledWriter{err: want})
	if n, err := s.Write([]byte("data: x\n\nda")); n != 0 || !errors.Is(err, want) {
		t.Errorf("%d, %v", n, err)
	}
	if err := s.Close(); !errors.Is(err, want) {
		t.Error(err)
	}
}

// TestReportOnTheWay: a report may be asked for before the end, and JSON has
// ended with its last brace.
func TestReportOnTheWay(t *testing.T) {
	m := NewMeter(Messages, 200)
	body := "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n" +
		"data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"hello\"}}\n\n"
	_, _ = m.Write([]byte(body))
	if n, estimated := m.Report().Charge(1000); n != 9+2 || !estimated {
		t.Errorf("%d, %v: %+v", n, estimated, m.Report())
	}
	m = NewMeter(Embeddings, 201)
	_, _ = m.Write([]byte(`{"usage":{"total_tokens":8}}`))
	if r := m.Report(); !r.Ended || !r.Whole {
		t.Errorf("%+v", r)
	}
	m = NewMeter(Chat, 200)
	for piece, want := range []int64{0, 5} { // an empty piece, as a reader has at its end, is no byte
		_, _ = m.Write(make([]byte, piece))
		if n, estimated := m.Report().Charge(5); n != want || estimated != (want > 0) {
			t.Errorf("%d bytes are charged %d, estimated %v", piece, n, estimated)
		}
	}
	twice := `{"content":[{"type":"text","text":"four"}],"usage":{"input_tokens":8,"output_tokens":1}}`
	for _, piece := range []int{1, len(twice), 1000} {
		if r := reportOf(Messages, 200, []byte(twice+twice+"{"), piece); r.Usage.Total != 9 || r.Text != 4 || !r.Ended {
			t.Errorf("what follows the body counts: %+v", r)
		}
	}
	for _, body := range []string{twice, "data: " + twice + "\n\n"} {
		if r := reportOf(Messages, 200, []byte("\xef\xbb\xbf"+body), 2); r.Text != 4 || r.Usage.Total != 9 {
			t.Errorf("behind a byte order mark %q is %+v", body, r)
		}
	}
	for status, want := range map[int]int64{100: 0, 199: 0, 200: 8, 299: 8, 300: 0, 304: 0, 429: 0} {
		m := NewMeter(Embeddings, status)
		_, _ = m.Write([]byte(`{"usage":{"total_tokens":8}}`))
		if n, _ := m.Report().Charge(5); n != want {
			t.Errorf("status %d is charged %d", status, n)
		}
	}
}
