package dialect

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	at9h30 = 1790069400250 // 2026-09-22T09:30:00.250Z
	block  = "Quota share limit reached for your API key on codex: 120,000 of 100,000 tokens (5h). Back at %s. Decision 01K5RQ."
)

// TestRefusals holds the refusals of every dialect to the byte.
func TestRefusals(t *testing.T) {
	apis := map[string]API{"chat": Chat, "responses": Responses, "embeddings": Embeddings, "messages": Messages}
	cases := map[string]Refusal{
		"429-30s":  {429, fmt.Sprintf(block, "09:30:30"), 29_750, at9h30 + 29_750},
		"429-2h":   {429, fmt.Sprintf(block, "11:30:01"), 7_200_000, at9h30 + 7_200_000},
		"429-none": {429, "Key alice is suspended. Decision 01K5RQ.", 0, 0},
		"503":      {503, "The quota engine is behind; come back in a moment.", 0, 0},
		"401":      {401, `No key has this token; ask for one with "quotashare keys issue".`, 0, 0},
	}
	for call, api := range apis {
		for name, r := range cases {
			golden(t, name+"-"+call+".http", dump(r.In(api)))
		}
	}
}

// dump writes an answer as HTTP does, but for its line ends.
func dump(a Answer) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d\n", a.Status)
	for _, h := range a.Header {
		fmt.Fprintf(&b, "%s: %s\n", h.Name, h.Value)
	}
	b.WriteByte('\n')
	b.Write(a.Body)
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "refusals", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func header(a Answer, name string) string {
	for _, h := range a.Header {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// TestWaits has the edges: a wait is rounded up to whole seconds, and one above
// a minute is not to be sat out.
func TestWaits(t *testing.T) {
	tests := []struct {
		wait                 int64
		after, afterMs, stop string
	}{
		{1, "1", "1", ""},
		{999, "1", "999", ""},
		{1000, "1", "1000", ""},
		{1001, "2", "1001", ""},
		{60_000, "60", "60000", ""},
		{60_001, "61", "60001", "false"},
		{0, "", "", "false"},
		{-5, "", "", "false"},
	}
	for _, tt := range tests {
		for api := Chat; api <= Models; api++ {
			a := Refusal{Status: 429, Message: "no", WaitMs: tt.wait}.In(api)
			got := []string{header(a, "Retry-After"), header(a, "Retry-After-Ms"), header(a, "X-Should-Retry")}
			if diff := cmp.Diff([]string{tt.after, tt.afterMs, tt.stop}, got); diff != "" {
				t.Errorf("%v, wait %d ms (-want +got):\n%s", api, tt.wait, diff)
			}
		}
	}
}

// TestResetsAt rounds up too: Codex shows the minute, and scripts wait for the
// second.
func TestResetsAt(t *testing.T) {
	for at, want := range map[int64]int64{1790069400000: 1790069400, 1790069400001: 1790069401} {
		var got struct {
			Error struct {
				Type            string
				Plan            *string `json:"plan_type"`
				ResetsAt        int64   `json:"resets_at"`
				ResetsInSeconds int64   `json:"resets_in_seconds"`
			}
		}
		a := Refusal{429, "no", 1500, at}.In(Responses)
		if err := json.Unmarshal(a.Body, &got); err != nil {
			t.Fatal(err)
		}
		e := got.Error
		if e.Type != "usage_limit_reached" || e.ResetsAt != want || e.ResetsInSeconds != 2 || e.Plan != nil {
			t.Errorf("at %d: %s", at, a.Body)
		}
	}
}

// TestMessageIsCarried: whatever is in a message, the body is JSON that has it,
// and the header that repeats it for Codex can be sent.
func TestMessageIsCarried(t *testing.T) {
	const message = "Grüße, \"you\"\r\nX-Evil: 1 \u2028. "
	for _, status := range []int{400, 401, 403, 404, 413, 429, 500, 502, 503, 504} {
		for api := Chat; api <= Models; api++ {
			a := Refusal{Status: status, Message: message}.In(api)
			var got struct {
				Error struct{ Message, Type string }
			}
			if err := json.Unmarshal(a.Body, &got); err != nil || got.Error.Message != message || got.Error.Type == "" {
				t.Errorf("%v %d: %s: %v", api, status, a.Body, err)
			}
		}
	}
	a := Refusal{Status: 429, Message: message}.In(Responses)
	if got, want := header(a, "X-Codex-Promo-Message"), `Gr????e, "you"??X-Evil: 1 ???`; got != want {
		t.Errorf("the header is %q, not %q", got, want)
	}
}
