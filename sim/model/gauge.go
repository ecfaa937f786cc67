package model

import (
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

type gaugeName struct {
	connection string
	window     quota.Window
	scope      string
}

// gauge is what a provider says of one window, and of another one that it spoke
// of under the same name.
type gauge struct {
	known      bool
	now, other said
}

type said struct {
	used     quota.Amount
	reset    int64 // 0 = not said; of the other: there is none
	observed int64
}

func (m *Model) hear(e *events.Event, broker int64) {
	at := placed(e.Time, broker)
	for _, r := range e.Readings {
		name := gaugeName{e.ConnectionID, r.Window, strings.ToLower(r.Scope)}
		g := m.gauges[name]
		if g == nil {
			g = &gauge{}
			m.gauges[name] = g
		}
		reset := r.ResetAt
		if reset-at > 2*widths[r.Window] {
			reset = 0
		}
		g.hear(said{r.UsedPercent, reset, at}, m.settings.SignalTTLMs)
	}
}

// hear goes through the table of what a reading can be; what is left out of it
// here is only whose doing an increase is.
func (g *gauge) hear(r said, ttl int64) {
	was := g.now
	silent := r.observed-was.observed > ttl
	apart := r.reset != 0 && was.reset != 0 && abs(r.reset-was.reset) > 60_000
	lower := r.used < was.used
	keep := r
	if keep.reset == 0 {
		keep.reset = was.reset
	}
	switch {
	case !g.known: // first
		g.known, g.now = true, r
	case r.observed < was.observed: // stale
	case was.reset != 0 && r.observed >= was.reset: // rollover
		g.now = r
	case apart && !lower: // moved
		g.now = r
	case apart && (r.reset > was.reset || silent): // another window
		g.other, g.now = was, r
	case apart: // older-window
		g.other = r
	case !lower: // advance
		g.now = keep
	case r.used <= 1_000_000, was.used-r.used >= 20_000_000, was.used-r.used >= 5_000_000 && silent: // early-reset
		g.now = keep
	}
}

func abs(n int64) int64 { return max(n, -n) }

// at returns the value at an instant: the larger of both windows that stand.
func (g *gauge) at(now, ttl int64) (used quota.Amount, known bool) {
	if g == nil || !g.known {
		return 0, false
	}
	until := g.now.reset
	if until == 0 {
		until = g.now.observed + ttl
	}
	if now < until {
		used, known = g.now.used, true
	}
	if g.other.reset != 0 && now < g.other.reset && now < g.other.observed+ttl {
		if !known || g.other.used > used {
			used, known = g.other.used, true
		}
	}
	return used, known
}

// reading is what the provider of a connection says of a window for all models.
func (m *Model) reading(connection string, w quota.Window, at int64) (quota.Amount, bool) {
	return m.gauges[gaugeName{connection, w, ""}].at(at, m.settings.SignalTTLMs)
}

// scoped is the largest reading of a window for scopes that the model's name has
// in it.
func (m *Model) scoped(connection string, w quota.Window, model string, at int64) (used quota.Amount, known bool) {
	if model == "" {
		return 0, false
	}
	for name, g := range m.gauges {
		if name.connection != connection || name.window != w || name.scope == "" || !strings.Contains(strings.ToLower(model), name.scope) {
			continue
		}
		if v, ok := g.at(at, m.settings.SignalTTLMs); ok && (!known || v > used) {
			used, known = v, true
		}
	}
	return used, known
}
