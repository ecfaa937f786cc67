package projector_test

import (
	"strings"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
)

// step is something that meters may take in: what a provider said, or what a
// key used.
type step struct {
	conn string
	at   int64
	said *events.Reading
	held bool // a request was in flight on the connection
	// A day of log time began: providers that were silent for long are forgotten.
	newDay int64

	key    string
	cost   quota.Amounts
	priced bool
}

// hear notes what a provider said.
func (w *twin) hear(m *events.Message, e *events.Event) {
	at, clamped := place(m, e)
	if clamped {
		w.counts.Clamped++
	}
	readings := e.Readings
	if e.Headers != nil {
		provider := e.Provider
		if provider == "" {
			provider = w.providers[e.ConnectionID]
		}
		var faults []saturation.Fault
		readings, faults = saturation.FromHeaders(provider, e.Status, e.Headers, at)
		for _, f := range faults {
			for i, p := range projector.Problems {
				if p == f.Problem {
					w.counts.ByProblem[i]++
				}
			}
		}
	}
	type name struct {
		window quota.Window
		scope  string
	}
	said := map[name]*events.Reading{}
	for _, r := range readings {
		r.Scope = strings.ToLower(r.Scope)
		if had, twice := said[name{r.Window, r.Scope}]; twice {
			if r.UsedPercent > had.UsedPercent {
				*had = r
			}
			continue
		}
		said[name{r.Window, r.Scope}] = &r
		w.steps = append(w.steps, step{conn: e.ConnectionID, at: at, said: &r, held: w.held(e.ConnectionID)})
	}
}

// meters makes every meter anew, each from all that was said and used.
func (w *twin) meters() map[projector.MeterName]projector.MeterState {
	all, made := map[projector.MeterName]projector.MeterState{}, map[projector.MeterName]bool{}
	for i := range w.steps {
		if r := w.steps[i].said; r != nil {
			name := projector.MeterName{Connection: w.steps[i].conn, Window: r.Window, Scope: r.Scope}
			if made[name] {
				continue
			}
			made[name] = true // one that is forgotten in the end counts what it took in all the same
			if m, known := w.meter(name); known {
				all[name] = m
			}
		}
	}
	return all
}

func (w *twin) meter(name projector.MeterName) (_ projector.MeterState, known bool) {
	m, keys, names := saturation.NewMeter(name.Window), map[string]uint32{}, []string{""}
	for i := range w.steps {
		x := &w.steps[i]
		switch {
		case x.newDay != 0:
			if max(m.Observed, m.Other.Observed) <= x.newDay-61*day {
				m = saturation.NewMeter(name.Window)
			}
		case x.conn != name.Connection:
		case x.said == nil:
			if name.Scope != "" {
				continue
			}
			if keys[x.key] == 0 {
				keys[x.key], names = uint32(len(names)), append(names, x.key)
			}
			m.Use(keys[x.key], x.at, &x.cost, x.priced)
		case x.said.Window == name.Window && x.said.Scope == name.Scope:
			as, far := m.Read(saturation.Observation{Used: x.said.UsedPercent, ResetAt: x.said.ResetAt, At: x.at, HoldOpen: x.held}, 30_000)
			w.counts.ByOutcome[as]++
			if far {
				w.counts.FarResets++
			}
		}
	}
	return projector.StateOf(m, func(key uint32) string { return names[key] }), m.Number != 0
}

func (w *twin) compareMeters(t *rapid.T, s *projector.State) {
	if d := cmp.Diff(w.meters(), s.Meters()); d != "" {
		t.Fatalf("meters (-twin +state):\n%s", d)
	}
}
