package projector_test

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
	view "github.com/quotashare/quotashare/usage"
)

// signals compares what providers say with the meters themselves: which there
// are, their order, that every point is either some key's or nobody's, and that
// the dimensions show the same.
func (l *usageLaw) signals() {
	var want []view.Signal
	meters := l.s.Meters()
	for _, c := range l.p.Doc.Connections {
		var names []projector.MeterName
		for name := range meters {
			if name.Connection == c.ConnectionID {
				names = append(names, name)
			}
		}
		slices.SortFunc(names, func(a, b projector.MeterName) int {
			if a.Window != b.Window {
				return int(a.Window) - int(b.Window)
			}
			return strings.Compare(a.Scope, b.Scope)
		})
		for _, name := range names {
			want = append(want, l.signal(name, meters[name]))
		}
	}
	if d := cmp.Diff(want, l.u.Signals); d != "" {
		l.Fatalf("signals: -want +got\n%s", d)
	}
	for i := range l.u.Dimensions {
		l.dimensionSignals(&l.u.Dimensions[i])
	}
	l.allSignals()
}

func (l *usageLaw) signal(name projector.MeterName, x projector.MeterState) view.Signal {
	now, ttl := l.u.AsOf.Time, l.signalTTL()
	g := view.Signal{ConnectionID: name.Connection, Window: name.Window, Scope: name.Scope, Observed: max(x.Observed, x.Other.Observed)}
	m := x.Meter(name.Window)
	level, known := m.At(now, ttl)
	if !known {
		return g
	}
	g.Known, g.Used, g.ResetAt = true, level.Used, level.ResetAt
	if name.Scope != "" {
		return g
	}
	g.HasSplit = true
	for _, u := range x.Rows {
		if u.Cycle == x.Number && now < m.PartsUntil() {
			g.Attributed += m.Part(u.Usage)
		}
	}
	g.Unattributed = g.Used - g.Attributed
	g.Drift, g.HasDrift = g.Used-l.ours(name, g.Attributed), true
	return g
}

func (l *usageLaw) signalTTL() int64 {
	doc := l.s.Settings()
	return doc.SignalTTLMs()
}

func (l *usageLaw) ours(name projector.MeterName, attributed quota.Amount) quota.Amount {
	for _, d := range l.s.Plan(name.Connection).Plan.Dimensions {
		if d.Unit != quota.Percent && d.Window == name.Window && d.Limit > 0 {
			count := l.s.Counter(name.Connection, "", "", d.Unit, d.Window).Effective(l.u.AsOf.Time, d.Window.Millis())
			percent, _ := view.Percent(count, d.Limit)
			return percent
		}
	}
	return attributed
}

// dimensionSignals: a connection shows the signal of the dimension's window.
func (l *usageLaw) dimensionSignals(d *view.Dimension) {
	for _, c := range d.Connections {
		at := slices.IndexFunc(l.u.Signals, func(g view.Signal) bool {
			return g.ConnectionID == c.ID && g.Window == d.Window && g.Scope == ""
		})
		var g view.Signal
		if at >= 0 {
			g = l.u.Signals[at]
		}
		used := view.Connection{ProviderUsed: g.Used, HasProvider: g.Known, ResetAt: g.ResetAt, Split: g.Split}
		c.ID, c.Limit, c.ConsumedTotal = "", 0, 0
		if c.Observed = 0; c != used {
			l.Fatalf("%s of %s: %+v, the signal is %+v", d.Window, c.ID, c, g)
		}
	}
}

// allSignals: the list of all connections has the same, but for the rounding of
// keys that count as one there.
func (l *usageLaw) allSignals() {
	all := l.s.Signals(l.clock)
	ids := func(a, b view.Signal) int { return strings.Compare(a.ConnectionID, b.ConnectionID) }
	if len(all) != len(l.s.Meters()) || !slices.IsSortedFunc(all, ids) {
		l.Fatalf("signals of all: %+v", all)
	}
	for i, g := range all { // those of some are the same
		if i > 0 && g.ConnectionID == all[i-1].ConnectionID {
			continue
		}
		some, others := l.s.SignalsOf([]string{"nobody's", g.ConnectionID}, l.clock)
		n := 0
		for _, h := range all {
			if h.ConnectionID == g.ConnectionID {
				n++
			}
		}
		if d := cmp.Diff(all[i:i+n], some); d != "" || others != speaking(all)-1 {
			l.Fatalf("signals of %s, and %d others: %s", g.ConnectionID, others, d)
		}
	}
	for _, g := range l.u.Signals {
		at := slices.IndexFunc(all, func(h view.Signal) bool {
			return h.ConnectionID == g.ConnectionID && h.Window == g.Window && h.Scope == g.Scope
		})
		h := all[at]
		if diff := h.Attributed - g.Attributed; diff < 0 || diff > 5 || h.Attributed+h.Unattributed != h.Used && h.HasSplit {
			l.Fatalf("%+v among all, %+v of the pool", h, g)
		}
		h.Split, g.Split = view.Split{}, view.Split{}
		h.Drift, g.Drift = 0, 0
		if h != g {
			l.Fatalf("%+v among all, %+v of the pool", h, g)
		}
	}
}

// speaking is of how many connections a list is.
func speaking(list []view.Signal) (n int) {
	for i := range list {
		if i == 0 || list[i].ConnectionID != list[i-1].ConnectionID {
			n++
		}
	}
	return n
}
