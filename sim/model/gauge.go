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
// of under the same name; and whose doing what it says of the first is.
type gauge struct {
	known      bool
	now, other said
	start      int64        // when the cycle was first heard of
	pot        quota.Amount // of what is used, what we did
	local      []use        // in the cycle
	next       []use        // already of the one after it
	waiting    bool         // some of local came since the last increase
}

type said struct {
	used     quota.Amount
	reset    int64 // 0 = not said; of the other: there is none
	observed int64
}

func (m *Model) hear(e *events.Event, broker int64) {
	at := placed(e.Time, broker)
	held := false
	for _, h := range m.holds {
		held = held || h.connection == e.ConnectionID
	}
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
		g.hear(said{r.UsedPercent, reset, at}, m.settings.SignalTTLMs, held)
	}
}

// hear goes through the table of what a reading can be.
func (g *gauge) hear(r said, ttl int64, held bool) {
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
		g.known, g.now, g.start = true, r, r.observed
	case r.observed < was.observed: // stale
	case was.reset != 0 && r.observed >= was.reset: // rollover
		g.begin(r, g.next, held)
	case apart && !lower: // moved
		before := was.used
		if g.other.reset != 0 && abs(r.reset-g.other.reset) <= 60_000 {
			before = max(before, g.other.used)
		}
		g.rise(r.used-before, held)
		g.now = r
	case apart && (r.reset > was.reset || silent): // another window
		g.other = was
		g.begin(r, nil, held)
	case apart: // older-window
		g.other = r
	case !lower: // advance
		g.rise(r.used-was.used, held)
		g.now = keep
	case r.used <= 1_000_000, was.used-r.used >= 20_000_000, was.used-r.used >= 5_000_000 && silent: // early-reset
		g.begin(keep, nil, held)
	}
}

// begin begins a cycle, of which that was used already.
func (g *gauge) begin(r said, local []use, held bool) {
	g.now, g.start, g.pot = r, r.observed, 0
	g.local, g.next, g.waiting = local, nil, len(local) > 0
	g.rise(r.used, held)
}

// rise takes an increase for ours, if there is anything of ours that can have caused it.
func (g *gauge) rise(points quota.Amount, held bool) {
	if points <= 0 {
		return
	}
	if g.waiting || held {
		g.pot += points
	}
	g.waiting = false
}

// use takes in what was used on the connection.
func (g *gauge) use(x use) {
	switch {
	case !g.known:
	case g.now.reset != 0 && x.at >= g.now.reset:
		g.next = append(g.next, x)
	default:
		g.local = append(g.local, x)
		g.waiting = true
	}
}

// ends is when the cycle ends at the latest.
func (g *gauge) ends(width int64) int64 {
	if g.now.reset != 0 {
		return g.now.reset
	}
	return g.start + width
}

// part is what they have of the pot: by dollars if all of it has a price, else by tokens,
// else by requests.
func (g *gauge) part(mine who) quota.Amount {
	priced := true
	var all, theirs quota.Amounts
	for i := range g.local {
		x := &g.local[i]
		priced = priced && x.priced
		for u := range all {
			all[u] += x.cost[u]
			if mine(x.key, x.model) {
				theirs[u] += x.cost[u]
			}
		}
	}
	by := quota.Requests
	switch {
	case priced && all[quota.USD] > 0:
		by = quota.USD
	case all[quota.Tokens] > 0:
		by = quota.Tokens
	}
	if all[by] <= 0 {
		return 0
	}
	return quota.Amount(part(int64(g.pot), int64(theirs[by]), int64(all[by])))
}

func abs(n int64) int64 { return max(n, -n) }

// level is what stands at an instant: the larger of both windows.
func (g *gauge) level(now, ttl int64) (of said, known bool) {
	if g == nil || !g.known {
		return said{}, false
	}
	until := g.now.reset
	if until == 0 {
		until = g.now.observed + ttl
	}
	if now < until {
		of, known = g.now, true
	}
	if g.other.reset != 0 && now < g.other.reset && now < g.other.observed+ttl {
		if !known || g.other.used > of.used {
			of, known = g.other, true
		}
	}
	return of, known
}

// at returns the value at an instant.
func (g *gauge) at(now, ttl int64) (used quota.Amount, known bool) {
	of, known := g.level(now, ttl)
	return of.used, known
}

// partOf is what they have of the connection's points at an instant, while its cycle
// stands.
func (m *Model) partOf(connection string, w quota.Window, mine who, at int64) (points quota.Amount, known bool) {
	g := m.gauges[gaugeName{connection, w, ""}]
	if g == nil || !g.known || at >= g.ends(widths[w]) {
		return 0, false
	}
	return g.part(mine), true
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
