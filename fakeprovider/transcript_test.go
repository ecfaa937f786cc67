package fakeprovider

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestTranscripts holds every answer to the byte. A case is a provider: "ask"
// shows what it answers, "ledger" what it charged, "pass" lets time pass.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		now := start
		rig := newRig(t, Options{
			Credentials: []string{"sk-1"}, Models: []string{"gpt-5.4", "claude-sonnet-4-5"}, Now: func() time.Time { return now },
			Limits: limitsOf(path),
		})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "ask":
				return rig.transcribe(t, d.Input)
			case "ledger":
				return rig.book()
			case "pass":
				by, err := time.ParseDuration(d.CmdArgs[0].Key)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				now = now.Add(by)
				return ""
			}
			d.Fatalf(t, "no such command")
			return ""
		})
	})
}

func limitsOf(path string) Limits {
	if !strings.HasSuffix(path, "limits") {
		return Limits{}
	}
	return Limits{RequestsPerMinute: 4, TokensPerMinute: 90, TokensPer5h: 200, TokensPerWeek: 1000}
}

// transcribe sends a request as HTTP writes it, and shows the answer. One
// without a credential of its own gets the right one.
func (r *rig) transcribe(t *testing.T, input string) string {
	head, body, _ := strings.Cut(input, "\n\n")
	lines := strings.Split(head, "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	req, err := http.NewRequest(method, r.server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		if name, value, ok := strings.Cut(line, ": "); ok {
			req.Header.Add(name, value)
		}
	}
	if len(credentials(req)) == 0 && !slices.Contains(lines, "no credential") {
		req.Header.Set("X-Api-Key", "sk-1")
	}
	return show(r.do(req))
}

// show writes an answer but for the date.
func show(a answer) string {
	var b bytes.Buffer
	if a.status == 0 {
		return "the connection ends before a byte\n"
	}
	fmt.Fprintln(&b, a.status)
	a.header.Del("Date")
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, a.header.Get(name))
	}
	fmt.Fprintf(&b, "\n%s\n", bytes.TrimRight(a.body, "\n"))
	if errors.Is(a.err, io.ErrUnexpectedEOF) {
		b.WriteString("(the connection ends)\n")
	}
	return b.String()
}

// book shows the ledger.
func (r *rig) book() string {
	var b strings.Builder
	for _, c := range r.Charges() {
		fmt.Fprintf(&b, "%s key=%q %v", cmp.Or(c.RequestID, "-"), c.Key, c.API)
		if c.Model != "" {
			fmt.Fprintf(&b, " %s", c.Model)
		}
		fmt.Fprintf(&b, ": %d, %d + %d = %d", c.Status, c.Prompt, c.Completion, c.Total)
		if c.Whole {
			b.WriteString(", whole")
		}
		fmt.Fprintf(&b, ", %d bytes of text\n", c.Text)
	}
	return b.String()
}
