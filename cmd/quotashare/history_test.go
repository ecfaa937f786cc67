package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestWhatWasChanged(t *testing.T) {
	for doc, want := range map[string]string{
		`{"kind":"pool","id":"team","change":"put"}`:                                       "pool team: set",
		`{"kind":"plan","id":" x","change":"delete"}`:                                      `plan " x": deleted`,
		`{"kind":"settings","change":"put","rejected":{"reason":"invalid","message":"m"}}`: "settings: set, refused (invalid)",
		`{"subject":"quota.config.x","rejected":{"reason":"invalid","message":"m"}}`:       "quota.config.x, refused (invalid)",
	} {
		var c changed
		if err := json.Unmarshal([]byte(doc), &c); err != nil {
			t.Fatal(err)
		}
		if got := c.what(); got != want {
			t.Errorf("%s is %q, want %q", doc, got, want)
		}
	}
}

// A reason that came over NATS may hold anything.
func TestReasonsStayInTheirLine(t *testing.T) {
	for text, want := range map[string]string{"": "", `a "late" [one]`: `a "late" [one]`, "a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`} {
		if got := oneLine(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// The engine gives pages from the oldest, some shorter than was asked for; the
// newest are wanted, in their order.
func TestNewestChangesOfManyPages(t *testing.T) {
	const pages = 5
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var after, next int
		fmt.Sscan(r.URL.Query().Get("after"), &after)
		doc := fmt.Sprintf(`{"changes":[{"seq":%d},{"seq":%d}],"next":`, after+1, after+2)
		if next = after + 2; next == 2*pages {
			fmt.Fprint(w, doc+"null}")
			return
		}
		fmt.Fprintf(w, "%s%d}", doc, next)
	}))
	defer s.Close()
	c := &client{base: s.URL}
	for _, tt := range []struct {
		after uint64
		most  int
		want  string
		total int
	}{
		{0, 3, `{"seq":8},{"seq":9},{"seq":10}`, 10},
		{0, 1, `{"seq":10}`, 10},
		{6, 50, `{"seq":7},{"seq":8},{"seq":9},{"seq":10}`, 4},
	} {
		newest, total, err := changes(t.Context(), c.changes, tt.after, tt.most)
		if err != nil || joined(newest) != tt.want || total != tt.total {
			t.Errorf("after %d at most %d: %s of %d, %v\nwant %s of %d", tt.after, tt.most, joined(newest), total, err, tt.want, tt.total)
		}
	}
}
