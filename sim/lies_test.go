package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
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
			noticed(t, func(seed uint64) error { return runWithLie(seed, c.said, c.lie) })
		})
	}
	for _, seed := range liars {
		if err := runWithLie(seed, hold, func(*events.Event) {}); err != nil {
			t.Errorf("without a lie: %v", err)
		}
	}
}

// liars are the seeds of the worlds that are lied to: what is said of an hour, or of a
// connection, matters in some of them.
var liars = []uint64{3, 4, 5, 6, 7, 8}

// noticed lets the worlds run, one of which must end with a failure.
func noticed(t *testing.T, run func(seed uint64) error) {
	t.Helper()
	for _, seed := range liars {
		err := run(seed)
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), fmt.Sprintf("-seed=%d ", seed)) || !strings.Contains(err.Error(), "what happened last") {
			t.Errorf("the failure does not say how to run it again:\n%v", err)
		}
		return
	}
	t.Error("nobody noticed")
}

// runWithLie runs one world, in whose beginning the lie is stored.
func runWithLie(seed uint64, said events.Event, lie func(*events.Event)) error {
	w := newWorld(Options{Seed: seed, Steps: 1_200})
	w.exact, w.paced = false, false
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

// TestLiesAboutTheRuleAreNoticed: here the deciders read another pool of the rule
// guarantee than the model is told.
func TestLiesAboutTheRuleAreNoticed(t *testing.T) {
	for _, c := range []struct {
		name string
		lie  func(*plans.Pool)
	}{
		{"another rule", func(p *plans.Pool) { p.Rule = plans.Threshold }},
		{"a larger reserve", func(p *plans.Pool) { p.Reserve++ }},
		{"another weight", func(p *plans.Pool) { p.Allocations[0].Weight += 1_000_000 }},
		{"a key more", func(p *plans.Pool) {
			p.Allocations = append(p.Allocations, plans.Allocation{APIKeyID: "new", Weight: 10_000_000})
		}},
		{"a key that may borrow", func(p *plans.Pool) { p.Allocations[0].Policy = plans.Burst }},
		{"a suspended key", func(p *plans.Pool) { p.Allocations[0].Suspended = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			noticed(t, func(seed uint64) error { return runWithPool(seed, c.lie) })
		})
	}
	for _, seed := range liars {
		if err := runWithPool(seed, func(*plans.Pool) {}); err != nil {
			t.Errorf("without a lie: %v", err)
		}
	}
}

// runWithPool runs one world with a pool in whose document the lie is.
func runWithPool(seed uint64, lie func(*plans.Pool)) error {
	w := shareTwo(seed)
	p := w.check.model.Pools["p"]
	read := *p
	read.Allocations = slices.Clone(p.Allocations)
	lie(&read)
	d := putPool(&read)
	d.config.PutPool = p
	w.log.store(d)
	w.run()
	return w.err
}

// shareTwo is a paced world with one pool, in which two keys share by the rule guarantee.
func shareTwo(seed uint64) *world {
	w := newWorld(Options{Seed: seed, Steps: 1_200})
	w.exact, w.paced = false, true
	w.begin()
	for _, id := range w.names.pools {
		w.log.store(deletePool(id))
	}
	p := w.pool("p")
	p.Reserve = 100
	p.Allocations = []plans.Allocation{{APIKeyID: "a", Weight: 50_000_000}, {APIKeyID: "b", Weight: 30_000_000}}
	w.log.store(putPool(p))
	return w
}

// TestLiesAboutACycleAreNoticed: here what a provider said is another thing than the model
// is told, or who caused it is another one.
func TestLiesAboutACycleAreNoticed(t *testing.T) {
	said := func(used int64) events.Event {
		return events.Event{Kind: events.Saturation, ConnectionID: "c1", Readings: []events.Reading{
			{Window: quota.FiveHour, UsedPercent: points(used), ResetAt: start + 10_000_000},
		}}
	}
	use := events.Event{Kind: events.Consumption, ID: "use", APIKeyID: "a", ConnectionID: "c1", Cost: quota.Amounts{requests(1)}, Given: given(quota.Requests)}
	for _, c := range []struct {
		name string
		lie  func(*events.Event)
	}{
		{"", func(*events.Event) {}},
		{"more used", func(e *events.Event) {
			if e.Kind == events.Saturation {
				*e = said(31)
			}
		}},
		{"another reset", func(e *events.Event) {
			if e.Kind == events.Saturation {
				e.Readings = []events.Reading{e.Readings[0]}
				e.Readings[0].ResetAt++
			}
		}},
		{"somebody else's doing", func(e *events.Event) {
			if e.Kind == events.Consumption {
				e.APIKeyID = "b"
			}
		}},
	} {
		run := func(seed uint64) error {
			w := shareTwo(seed)
			w.log.store(putPlan("c1", []plans.Dimension{{Unit: quota.Percent, Window: quota.FiveHour, Limit: points(100)}}))
			for _, e := range []events.Event{said(10), use, said(30)} {
				d := w.draft(e)
				c.lie(&e)
				d.data = events.AppendJSON(nil, &e)
				w.log.store(d)
			}
			w.run()
			return w.err
		}
		t.Run(c.name, func(t *testing.T) {
			if c.name != "" {
				noticed(t, run)
				return
			}
			for _, seed := range liars {
				if err := run(seed); err != nil {
					t.Errorf("without a lie: %v", err)
				}
			}
		})
	}
}
