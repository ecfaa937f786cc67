package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scenario is one case of testdata/scenarios.json: a pool, plans, events and
// questions. Documents stay as they are written there, since they go to the
// engine and not through our own types.
type scenario struct {
	Name   string
	Pool   json.RawMessage
	Plans  map[string]json.RawMessage
	Events []object
	Asks   []object
	wants  []want
}

type object = map[string]any

// want is what the answer to a question must be.
type want struct {
	Decision     string
	Reason       string
	Deprioritize bool
	RetryAfterMs *int64
	Binding      *binding
	Dimensions   []dimension
}

// commonCycle is a multiple of every window: in times that are moved by it,
// every bucket begins where it did.
const commonCycle = 7 * monthMillis

// scenarios reads the cases. Their times are moved back by as many common
// cycles as make them past: an event from the future would be put at the
// present.
func scenarios(t *testing.T) []scenario {
	t.Helper()
	data, err := os.ReadFile("testdata/scenarios.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []scenario }
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // amounts and times stay as they are written
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Cases) != 40 {
		t.Fatalf("%d cases, want 40", len(doc.Cases))
	}
	latest := int64(0)
	for i := range doc.Cases {
		for _, e := range doc.Cases[i].Events {
			latest = max(latest, millis(t, e, "time"))
		}
	}
	back := int64(0)
	for latest-back > time.Now().UnixMilli() {
		back += commonCycle
	}
	for i := range doc.Cases {
		doc.Cases[i].prepare(t, back)
	}
	return doc.Cases
}

func millis(t *testing.T, o object, field string) int64 {
	t.Helper()
	n, err := o[field].(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// prepare moves the times and takes what is wanted out of the questions.
func (s *scenario) prepare(t *testing.T, back int64) {
	t.Helper()
	for _, e := range s.Events {
		e["time"] = millis(t, e, "time") - back
	}
	for _, a := range s.Asks {
		text, err := json.Marshal(a["want"])
		if err != nil {
			t.Fatal(err)
		}
		var w want
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields() // every field that is wanted is compared
		if err := dec.Decode(&w); err != nil {
			t.Fatal(err)
		}
		s.wants = append(s.wants, w)
		delete(a, "want")
		a["at"] = millis(t, a, "at") - back
		a["explain"] = true
	}
}

// create makes the plans and the pool over HTTP.
func (s *scenario) create(p *process) {
	p.t.Helper()
	for _, id := range slices.Sorted(maps.Keys(s.Plans)) {
		p.mustCall("PUT", "/api/quota/plans/"+id, fmt.Sprintf(`{"dimensions":%s}`, s.Plans[id]))
	}
	if status, answer := p.call("POST", "/api/quota/pools", "application/json", string(s.Pool)); status != 201 {
		p.t.Fatalf("%s: %d %s", s.Name, status, answer)
	}
}

// check compares the answers with what is wanted.
func (s *scenario) check(t *testing.T, answers []answer) {
	t.Helper()
	for i, a := range answers {
		if a.Error != nil || len(a.Degraded) > 0 {
			t.Errorf("%s, question %d: %+v, degraded %v", s.Name, i, a.Error, a.Degraded)
		}
		got := want{a.Decision, a.Reason, a.Deprioritize, a.RetryAfterMs, a.Binding, a.Dimensions}
		if diff := cmp.Diff(s.wants[i], got); diff != "" {
			t.Errorf("%s, question %d %v (- want, + got):\n%s", s.Name, i, s.Asks[i], diff)
		}
	}
}

// A client in another language and with other code sees every scenario as it is
// written down.
func TestScenariosFromNode(t *testing.T) {
	p := up(t, t.TempDir())
	cases := scenarios(t)
	var input strings.Builder
	for i := range cases {
		cases[i].create(p)
		line, err := json.Marshal(object{"events": cases[i].Events, "asks": cases[i].Asks})
		if err != nil {
			t.Fatal(err)
		}
		input.Write(append(line, '\n'))
	}
	lines := node(t, "ask.mjs", input.String(), p.nats)
	for i := range cases {
		n := len(cases[i].Asks)
		if len(lines) < n {
			t.Fatalf("the client printed too few answers at %s", cases[i].Name)
		}
		var answers []answer
		for _, line := range lines[:n] {
			answers = append(answers, parseAnswer(t, []byte(line)))
		}
		lines = lines[n:]
		cases[i].check(t, answers)
	}
}
