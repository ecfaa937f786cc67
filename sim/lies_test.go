package sim

import (
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// TestLiesAreNoticed: a check that nothing can fail is none. Here the log stores
// other than what the model is told, so that the deciders, who are right about
// what they read, are wrong; some check must say so.
func TestLiesAreNoticed(t *testing.T) {
	hold := events.Event{
		Kind: events.Hold, ID: "lie", DecisionID: "lie", APIKeyID: "b", RequestID: "lie", ConnectionID: "c1", LeaseMs: 600_000,
		Cost: quota.Amounts{requests(1)}, Given: given(quota.Requests),
	}
	use := events.Event{Kind: events.Consumption, ID: "lie", APIKeyID: "b", ConnectionID: "c1", Cost: quota.Amounts{requests(1)}, Given: given(quota.Requests)}
	for _, c := range []struct {
		name string
		said events.Event
		lie  func(*events.Event)
	}{
		{"a longer lease", hold, func(e *events.Event) { e.LeaseMs *= 2 }},
		{"another estimate", hold, func(e *events.Event) { e.Cost[quota.Requests] += 1 }},
		{"another connection", hold, func(e *events.Event) { e.ConnectionID = "c 3" }},
		{"another key", hold, func(e *events.Event) { e.APIKeyID = "a" }},
		{"another request", hold, func(e *events.Event) { e.RequestID = "lies" }},
		{"more use", use, func(e *events.Event) { e.Cost[quota.Requests] += 1 }},
		{"use in another hour", use, func(e *events.Event) { e.Time = start - 7_200_000 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := runWithLie(c.said, c.lie); err == nil {
				t.Error("nobody noticed")
			} else if !strings.Contains(err.Error(), "-seed=3 ") || !strings.Contains(err.Error(), "what happened last") {
				t.Errorf("the failure does not say how to run it again:\n%v", err)
			}
		})
	}
	if err := runWithLie(hold, func(*events.Event) {}); err != nil {
		t.Errorf("without a lie: %v", err)
	}
}

// runWithLie runs one world, in whose beginning the lie is stored.
func runWithLie(said events.Event, lie func(*events.Event)) error {
	w := newWorld(Options{Seed: 3, Steps: 1_200})
	w.exact = false
	w.begin()
	for range 10 { // the names of requests that are asked about
		w.names.asked = append(w.names.asked, asked{said.APIKeyID, said.RequestID})
	}
	d := w.draft(said)
	lie(&said)
	d.data = events.AppendJSON(nil, &said)
	w.log.store(d)
	w.run()
	return w.err
}
