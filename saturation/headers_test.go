package saturation

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

func TestHeaderVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/headers.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name, Provider string
			Status         int
			ObservedAt     int64
			Headers        map[string]string
			Readings       []struct {
				Window, Scope, UsedPercent string
				ResetAt                    int64
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			var want []events.Reading
			for _, r := range c.Readings {
				w, ok := quota.ParseReadingWindow(r.Window)
				used, err := quota.ParseAmount(r.UsedPercent, quota.Percent)
				if !ok || err != nil {
					t.Fatal(r, err)
				}
				want = append(want, events.Reading{Window: w, Scope: r.Scope, UsedPercent: used, ResetAt: r.ResetAt})
			}
			got, _ := FromHeaders(c.Provider, c.Status, c.Headers, c.ObservedAt)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// observed is 2026-09-05T03:46:40Z, in seconds 1788580000.
const observed = 1_788_580_000_000

// headerCase is one response: its headers as lines, and what is read from it,
// one line for each reading ("weekly/opus 85 2026-09-05T05:00:00.000Z", - for
// no reset) and fault ("fault retry-after reset").
type headerCase struct {
	name, provider string
	status         int
	headers, want  string
}

func (c *headerCase) run(t *testing.T) {
	t.Helper()
	headers := make(map[string]string)
	for line := range strings.Lines(strings.TrimSpace(c.headers)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		headers[name] = value
	}
	readings, faults := FromHeaders(c.provider, c.status, headers, observed)
	var want []string
	for line := range strings.Lines(strings.TrimSpace(c.want)) {
		want = append(want, strings.TrimSpace(line))
	}
	if diff := cmp.Diff(want, describe(readings, faults)); diff != "" {
		t.Errorf("%s: %s", c.name, diff)
	}
}

func describe(readings []events.Reading, faults []Fault) []string {
	var lines []string
	for _, r := range readings {
		window, reset := r.Window.String(), "-"
		if r.Scope != "" {
			window += "/" + r.Scope
		}
		if r.ResetAt != 0 {
			reset = quota.FormatInstant(r.ResetAt)
		}
		lines = append(lines, window+" "+r.UsedPercent.Format(quota.Percent)+" "+reset)
	}
	for _, f := range faults {
		lines = append(lines, "fault "+f.Header+" "+string(f.Problem))
	}
	return lines
}

func runCases(t *testing.T, cases []headerCase) {
	t.Helper()
	for i := range cases {
		cases[i].run(t)
	}
}

// TestRefused: a 429 counts where nothing else tells.
func TestRefused(t *testing.T) {
	runCases(t, []headerCase{
		{"seconds", "kimi", 429, `retry-after: 1152`, `rate 100 2026-09-05T04:05:52.000Z`},
		{"a fraction of seconds", "gemini", 429, `Retry-After: 0.5`, `rate 100 2026-09-05T03:46:40.500Z`},
		{"a date", "zai", 429, `retry-after: Sat, 05 Sep 2026 04:00:00 GMT`, `rate 100 2026-09-05T04:00:00.000Z`},
		{"a date of RFC 850", "", 429, `retry-after: Saturday, 05-Sep-26 04:00:00 GMT`, `rate 100 2026-09-05T04:00:00.000Z`},
		{"a date of asctime", "", 429, `retry-after: Sat Sep  5 04:00:00 2026`, `rate 100 2026-09-05T04:00:00.000Z`},
		{"milliseconds are finer", "openai", 429, "retry-after: 2\nretry-after-ms: 1250", `rate 100 2026-09-05T03:46:41.250Z`},
		{
			"milliseconds that are none", "openai", 429, "retry-after: 2\nretry-after-ms: soon",
			"rate 100 2026-09-05T03:46:42.000Z\nfault retry-after-ms reset",
		},
		{"no wait", "minimax", 429, `content-type: application/json`, ``},
		{"an empty wait", "bailian", 429, `retry-after:`, `fault retry-after reset`},
		{"a negative wait", "", 429, `retry-after: -5`, `fault retry-after reset`},
		{"an instant is no wait", "", 429, `retry-after: 1788586800`, `fault retry-after reset`},
		{"another status", "", 503, `retry-after: 30`, ``},
		{"a status that is not known", "", 0, `retry-after: 30`, ``},
		{
			"beside a reading", "openai", 429,
			"retry-after: 30\nx-ratelimit-limit-tokens: 100\nx-ratelimit-remaining-tokens: 10\nx-ratelimit-reset-tokens: 6s",
			`rate 90 2026-09-05T03:46:46.000Z`,
		},
		{
			"beside what cannot be read", "openai", 429,
			"retry-after: 30\nx-ratelimit-limit-tokens: 100\nx-ratelimit-remaining-tokens: none",
			"rate 100 2026-09-05T03:47:10.000Z\nfault x-ratelimit-remaining-tokens number",
		},
	})
}

// TestSameInAnyOrder: headers are a map, and the order of a map is chance.
func TestSameInAnyOrder(t *testing.T) {
	headers := map[string]string{
		"X-RateLimit-Limit": "10", "x-ratelimit-limit": "20", "x-ratelimit-remaining": "5",
		"x-ratelimit-limit-a": "10", "x-ratelimit-remaining-a": "0", "x-ratelimit-reset-a": "2s",
		"x-ratelimit-limit-b": "10", "x-ratelimit-remaining-b": "0", "x-ratelimit-reset-b": "3s",
		"x-ratelimit-limit-c": "x", "x-ratelimit-remaining-c": "0", "x-ratelimit-limit-d": "y", "x-ratelimit-remaining-d": "0",
		"anthropic-ratelimit-unified-5h-utilization": "NaN", "anthropic-ratelimit-unified-7d-utilization": "0.5",
	}
	want := []string{
		"weekly 50 -", "rate 100 2026-09-05T03:46:43.000Z",
		"fault anthropic-ratelimit-unified-5h-utilization number", "fault x-ratelimit-limit-c number", "fault x-ratelimit-limit-d number",
	}
	for range 100 {
		if diff := cmp.Diff(want, describe(FromHeaders("", 200, headers, observed))); diff != "" {
			t.Fatal(diff)
		}
	}
}

// FuzzFromHeaders: whatever a provider sends, readings are such as an event may
// carry, in order, one for each window and scope.
func FuzzFromHeaders(f *testing.F) {
	for _, c := range allOf(anthropicCases, codexCases, copilotCases, countedCases, draftCases, reportCases, variationCases) {
		f.Add(c.provider, 429, c.headers, int64(observed))
	}
	f.Fuzz(func(t *testing.T, provider string, status int, text string, at int64) {
		headers := make(map[string]string)
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			headers[name] = value
		}
		readings, faults := FromHeaders(provider, status, headers, at)
		for i, r := range readings {
			if i > 0 && !inOrder(readings[i-1], r) {
				t.Fatal("not in order:", readings[i-1], r)
			}
			if r.Window > quota.Rate || r.UsedPercent < 0 || r.UsedPercent > quota.Percent.Max() {
				t.Fatal("no such reading:", r)
			}
			if _, err := quota.CheckInstant(r.ResetAt); err != nil && r.ResetAt != 0 {
				t.Fatal("reset", err)
			}
			if err := quota.ValidateID(r.Scope); err != nil && r.Scope != "" {
				t.Fatal("scope", err)
			}
		}
		for _, fault := range faults {
			if fault.Header == "" || fault.Problem == "" {
				t.Fatal("a fault that names nothing")
			}
		}
		again, faultsAgain := FromHeaders(provider, status, headers, at)
		if diff := cmp.Diff(describe(readings, faults), describe(again, faultsAgain)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func inOrder(a, b events.Reading) bool {
	return a.Window < b.Window || a.Window == b.Window && a.Scope < b.Scope
}

func allOf(lists ...[]headerCase) (all []headerCase) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// BenchmarkFromHeaders reads a Claude plan's response: 14 headers of limits
// among 20 others.
func BenchmarkFromHeaders(b *testing.B) {
	headers := map[string]string{
		"anthropic-ratelimit-unified-5h-reset":               "1788586800",
		"anthropic-ratelimit-unified-5h-status":              "allowed",
		"anthropic-ratelimit-unified-5h-utilization":         "0.35",
		"anthropic-ratelimit-unified-7d-reset":               "1789000000",
		"anthropic-ratelimit-unified-7d-status":              "allowed_warning",
		"anthropic-ratelimit-unified-7d-utilization":         "0.94",
		"anthropic-ratelimit-unified-fallback-percentage":    "0.5",
		"anthropic-ratelimit-unified-overage-status":         "rejected",
		"anthropic-ratelimit-unified-representative-claim":   "seven_day",
		"anthropic-ratelimit-unified-reset":                  "1789000000",
		"anthropic-ratelimit-unified-status":                 "allowed_warning",
		"anthropic-ratelimit-unified-7d-surpassed-threshold": "0.75",
		"cf-ray": "9ddc37aae863d10d-CDG", "server": "cloudflare", "date": "Sat, 05 Sep 2026 03:46:40 GMT",
		"content-type": "text/event-stream; charset=utf-8", "connection": "keep-alive", "cache-control": "no-cache",
		"request-id": "req_011C", "anthropic-organization-id": "9f4c", "via": "1.1 google", "x-robots-tag": "none",
		"strict-transport-security": "max-age=31536000", "x-envoy-upstream-service-time": "812", "cf-cache-status": "DYNAMIC",
		"vary": "Accept-Encoding", "content-encoding": "gzip", "server-timing": "x;dur=1", "alt-svc": "h3", "age": "0", "etag": "a", "x-a": "b",
	}
	b.ReportAllocs()
	for b.Loop() {
		if readings, _ := FromHeaders("anthropic", 200, headers, observed); len(readings) != 2 {
			b.Fatal(readings)
		}
	}
}
