package schemas_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/schemas/schematest"
)

// TestExamplesOfThePagesAreValid: each document in a page of the formats is the one that
// it is shown for.
func TestExamplesOfThePagesAreValid(t *testing.T) {
	for page, want := range map[string]string{
		"events.md": "saturation saturation saturation rejected consumption",
		"decide.md": "question routeQuestion questionError",
	} {
		blocks := documentsIn(t, page)
		messages := strings.Fields(want)
		if len(blocks) != len(messages) {
			t.Errorf("%s has %d documents, want %d: %q", page, len(blocks), len(messages), blocks)
			continue
		}
		for i, message := range messages {
			if err := schematest.Payload(message, []byte(blocks[i])); err != nil {
				t.Errorf("%s: %s is no %s: %v", page, blocks[i], message, err)
			}
		}
	}
}

// documentsIn are the indented blocks of a page that are JSON.
func documentsIn(t *testing.T, page string) (list []string) {
	t.Helper()
	text := readPage(t, page)
	for block := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(block, "    {") && json.Valid([]byte(block)) {
			list = append(list, strings.TrimSpace(block))
		}
	}
	return list
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/format/" + page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var request = regexp.MustCompile(`nats req (quota\.\w+) '(.*?)'\n`)

// TestRequestsOfThePagesAreValid: what is sent with the command line of NATS.
func TestRequestsOfThePagesAreValid(t *testing.T) {
	messages := map[string]string{"quota.decide": "question", "quota.consumption": "consumption", "quota.release": "release"}
	var seen []string
	for _, m := range request.FindAllStringSubmatch(readPage(t, "decide.md"), -1) {
		seen = append(seen, m[1])
		if err := schematest.Payload(messages[m[1]], []byte(m[2])); err != nil {
			t.Errorf("%s %s: %v", m[1], m[2], err)
		}
	}
	if diff := cmp.Diff(strings.Fields("quota.decide quota.consumption quota.consumption quota.decide quota.release"), seen); diff != "" {
		t.Error(diff)
	}
}

// TestThePagesLeadToTheSchemas: each page names the schemas of its documents, and all of
// them are named somewhere.
func TestThePagesLeadToTheSchemas(t *testing.T) {
	link := regexp.MustCompile(`\(\.\./\.\./schemas/([a-z-]+)\.json\)`)
	named := map[string]bool{}
	for _, page := range []string{"events.md", "decide.md", "decisions.md", "http.md"} {
		for _, m := range link.FindAllStringSubmatch(readPage(t, page), -1) {
			if _, err := os.Stat(m[1] + ".json"); err != nil {
				t.Errorf("%s: %v", page, err)
			}
			named[m[1]] = true
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name, isSchema := strings.CutSuffix(e.Name(), ".json"); isSchema && !named[name] {
			t.Errorf("no page leads to %s.json", name)
		}
	}
}
