package httpapi

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// wordsTo returns the words of an enum whose values are 0 to last.
func wordsTo[T interface {
	~uint8
	String() string
}](last T,
) (list []string) {
	for v := T(0); v <= last; v++ {
		list = append(list, v.String())
	}
	return list
}

// TestTheDocumentHasTheWordsOfTheCode, all of them and no more: one that no
// transcript shows would otherwise be missed.
func TestTheDocumentHasTheWordsOfTheCode(t *testing.T) {
	schemas := schemasOf(t)
	for at, want := range map[string][]string{
		"Unit":               wordsTo(quota.Unit(quota.NumUnits - 1)),
		"Window":             wordsTo(quota.Window(quota.NumWindows - 1)),
		"Reading.window":     wordsTo(quota.Rate),
		"Pool.mode":          wordsTo(plans.Off),
		"Usage.mode":         wordsTo(plans.Off),
		"Pool.rule":          wordsTo(plans.Guarantee),
		"Pool.onDegraded":    wordsTo(plans.Closed),
		"Allocation.policy":  wordsTo(plans.Burst),
		"Source":             wordsTo(plans.Manual),
		"Ratio.source":       wordsTo(plans.Environment),
		"WholeNumber.source": wordsTo(plans.Environment),
		"Reason":             append(wordsTo(fairshare.Suspended), "degraded"),
		"Degraded":           inPage(t, "decide.md", "Degraded answers", regexp.MustCompile("^\\| (`.*?`) \\|")),
		"Reply.scope":        {string(fairshare.ScopeKey), string(fairshare.ScopeConnection), string(fairshare.ScopePool), string(fairshare.ScopeModel)},
		"EventType":          wordsTo(events.Release),
		"Change.change":      {events.ConfigPut, events.ConfigDelete},
		"Gap.event":          {eventConfig, eventDecision},
		"Error.code":         inPage(t, "http.md", "Errors", regexp.MustCompile(`^\| +[0-9]{3} +\| (.*?) \|`)),
		"Rejection":          inPage(t, "events.md", "What is refused", regexp.MustCompile("^\\| (`.*?`) \\|")),
	} {
		name, field, inside := strings.Cut(at, ".")
		found := schemas[name]
		if inside {
			found = found.Properties[field]
		}
		got := slices.Clone(found.Enum)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
			t.Errorf("%s: words of the code (-) and of the document (+)\n%s", at, diff)
		}
	}
}

// TestTheDocumentHasTheDefaultsOfTheCode: what is left out is what the document
// says it is.
func TestTheDocumentHasTheDefaultsOfTheCode(t *testing.T) {
	least := decoded(t, plans.AppendPoolJSON(nil, poolOf(t, `{"name":"A","provider":"kimi","connections":[{"connectionId":"c"}],"allocations":[{"apiKeyId":"k","weight":1}]}`)))
	now := plans.DefaultSettings()
	code := map[string]map[string]any{
		"NewPool":           least,
		"NewPoolConnection": least["connections"].([]any)[0].(map[string]any),
		"NewAllocation":     least["allocations"].([]any)[0].(map[string]any),
		"NewDimension":      {"limit": 0.0},
		"NewSettings":       {},
		"Question":          {"maxWaitMs": float64(questions.DefaultMaxWaitMs)},
		"RouteQuestion":     {"maxWaitMs": float64(questions.DefaultMaxWaitMs)},
	}
	for name, setting := range decoded(t, plans.AppendSettingsView(nil, &now, plans.Stamp{})) {
		if shown, ok := setting.(map[string]any); ok {
			code["NewSettings"][name] = shown["default"]
		}
	}
	seen := 0
	for name, s := range schemasOf(t) {
		for field, p := range s.Properties {
			if p.Default == nil || p.Default == false || code[name] == nil {
				continue
			}
			seen++
			if got := code[name][field]; got != p.Default {
				t.Errorf("%s.%s is %v when it is left out, and %v in the document", name, field, got, p.Default)
			}
		}
	}
	if seen != 16 {
		t.Errorf("the document has %d defaults, want 16", seen)
	}
}

func decoded(t *testing.T, data []byte) (doc map[string]any) {
	t.Helper()
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// schemasOf are the schemas of the document, by name.
func schemasOf(t *testing.T) map[string]schema {
	t.Helper()
	var doc struct {
		Components struct{ Schemas map[string]schema }
	}
	data, err := openAPIDocument("")
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	return doc.Components.Schemas
}

// schema is what these tests look at.
type schema struct {
	Enum       []string
	Default    any
	Properties map[string]schema
}

// UnmarshalJSON makes words of what an enum has.
func (s *schema) UnmarshalJSON(data []byte) error {
	var raw struct {
		Enum       []any
		Default    any
		Properties map[string]schema
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	s.Properties, s.Default = raw.Properties, raw.Default
	for _, word := range raw.Enum {
		s.Enum = append(s.Enum, fmt.Sprint(word))
	}
	return nil
}

// inPage returns what stands in code quotes in the first group of the lines of a
// section.
func inPage(t *testing.T, page, section string, line *regexp.Regexp) (list []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/format/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for l := range strings.Lines(rest) {
		if m := line.FindStringSubmatch(l); m != nil {
			for _, word := range quotedWord.FindAllStringSubmatch(m[1], -1) {
				list = append(list, word[1])
			}
		}
	}
	return list
}

var quotedWord = regexp.MustCompile("`([^`]+)`")

// TestPeopleFindEveryRoute: the page of the format and GET / have what the
// document has.
func TestPeopleFindEveryRoute(t *testing.T) {
	want := openAPI(t).Operations()
	var root []string
	for line := range strings.Lines(rootText) {
		if m := rootLine.FindStringSubmatch(line); m != nil {
			for _, path := range strings.Fields(m[2]) {
				if strings.HasPrefix(path, "/") {
					root = append(root, m[1]+" "+path)
				}
			}
		}
	}
	page := inPage(t, "http.md", "Paths", regexp.MustCompile("^\\| (`[A-Z]+ [^`]+`) \\|"))
	for i := range page {
		page[i], _, _ = strings.Cut(page[i], "?")
	}
	for what, got := range map[string][]string{"GET /": append(root, "GET /"), "docs/format/http.md": page} {
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("operations (-) and those that %s lists (+)\n%s", what, diff)
		}
	}
}

var rootLine = regexp.MustCompile(`^  ([A-Z]+) +(/.*)`)
