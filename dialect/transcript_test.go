package dialect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestTranscripts runs testdata/transcripts: bodies as clients and providers
// send them, and what is read in them.
//
//	of                                  which calls the lines are
//	request api=<path>                  the facts of a request
//	ask                                 the body with its usage asked for
//	meter api=<path> [status=] [cut]    what a response says, and its charge when
//	                                    the request was estimated at 1000 tokens
//	strip [cut]                         a stream without what was not asked for
//
// A body that is cut has not even the line feeds that end its last event.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "of":
				return calls(d.Input)
			case "request":
				return request(apiOf(t, d), d.Input)
			case "ask":
				return ask(t, d.Input)
			case "meter":
				return metered(t, d)
			case "strip":
				return stripped(t, body(d))
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func calls(input string) string {
	var b strings.Builder
	for line := range strings.Lines(input) {
		method, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		api, ok := Of(method, path)
		fmt.Fprintf(&b, "%s: %v", strings.TrimSpace(line), ok)
		if ok {
			fmt.Fprintf(&b, ", %v, metered %v", api, api.Metered())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func request(api API, input string) string {
	r, err := Read(api, []byte(input))
	if err != nil {
		return err.Error()
	}
	background := ""
	if r.Background {
		background = ", background"
	}
	return fmt.Sprintf("model %q, stream %v%s, usage asked %v, prompt %d + output %d = %d\n",
		r.Model, r.Stream, background, r.UsageAsked, r.PromptTokens, r.MaxOutput, r.Estimate())
}

func ask(t *testing.T, input string) string {
	before := []byte(input)
	out, changed, err := AskUsage(before)
	if string(before) != input {
		t.Errorf("the body was written to: %s", before)
	}
	switch {
	case err != nil:
		return err.Error()
	case !changed && string(out) != input:
		t.Errorf("unchanged, but it is %s", out)
	case !changed:
		return "unchanged\n"
	}
	return string(out)
}

func apiOf(t *testing.T, d *datadriven.TestData) API {
	var path string
	d.ScanArgs(t, "api", &path)
	for a := Chat; a <= Models; a++ {
		if a.String() == path {
			return a
		}
	}
	t.Fatalf("%s: unknown api %s", d.Pos, path)
	return 0
}

// body is the input with the line feeds that datadriven takes from its end.
func body(d *datadriven.TestData) string {
	if d.HasArg("cut") || strings.HasPrefix(d.Input, "{") {
		return d.Input
	}
	return d.Input + "\n\n"
}

func metered(t *testing.T, d *datadriven.TestData) string {
	api, status, text := apiOf(t, d), 200, body(d)
	if d.HasArg("status") {
		d.ScanArgs(t, "status", &status)
	}
	r := reportOf(api, status, []byte(text), len(text)+1)
	for _, piece := range []int{1, 2, 3, 7} {
		if got := reportOf(api, status, []byte(text), piece); got != r {
			t.Errorf("%s: in pieces of %d it is %+v, not %+v", d.Pos, piece, got, r)
		}
	}
	for _, end := range []string{"\r\n", "\r"} {
		if got := reportOf(api, status, []byte(strings.ReplaceAll(text, "\n", end)), 5); got != r {
			t.Errorf("%s: with line ends %q it is %+v, not %+v", d.Pos, end, got, r)
		}
	}
	return show(r)
}

// reportOf meters a body in pieces of that size.
func reportOf(api API, status int, body []byte, piece int) Report {
	m := NewMeter(api, status)
	feed(m, body, piece)
	_ = m.Close()
	return m.Report()
}

func feed(w interface{ Write([]byte) (int, error) }, body []byte, piece int) {
	for len(body) > 0 {
		n := min(piece, len(body))
		_, _ = w.Write(bytes.Clone(body[:n])) // a reader's buffer is used again
		body = body[n:]
	}
}

func show(r Report) string {
	var b strings.Builder
	u := r.Usage
	fmt.Fprintf(&b, "model %q, ended %v, text %d bytes", r.Model, r.Ended, r.Text)
	if r.Fault != "" {
		fmt.Fprintf(&b, ", fault %s", r.Fault)
	}
	fmt.Fprintf(&b, "\nprompt %d (cached %d), completion %d (reasoning %d), total %d, whole %v\n",
		u.Prompt, u.Cached, u.Completion, u.Reasoning, u.Total, r.Whole)
	tokens, estimated := r.Charge(1000)
	fmt.Fprintf(&b, "charged %d", tokens)
	if estimated {
		b.WriteString(", estimated")
	}
	b.WriteByte('\n')
	return b.String()
}

func stripped(t *testing.T, text string) string {
	whole := stripOf([]byte(text), len(text)+1)
	for _, piece := range []int{1, 2, 3, 7} {
		if got := stripOf([]byte(text), piece); got != whole {
			t.Errorf("in pieces of %d it is %q, not %q", piece, got, whole)
		}
	}
	crlf := strings.ReplaceAll(text, "\n", "\r\n")
	if got := stripOf([]byte(crlf), 5); got != strings.ReplaceAll(whole, "\n", "\r\n") {
		t.Errorf("with CR LF it is %q, not %q", got, whole)
	}
	return whole
}

func stripOf(text []byte, piece int) string {
	var b bytes.Buffer
	s := NewStripper(&b)
	feed(s, text, piece)
	_ = s.Close()
	return b.String()
}
