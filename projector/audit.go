package projector

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
	"github.com/quotashare/quotashare/windows"
)

// What is in this file is for who explains a state, after it was folded: it looks at
// more than an answer has time for.

// PlaceAt returns where on the time line an event stands whose message the broker
// stored at that time, both epoch ms.
func PlaceAt(e *events.Event, broker int64) int64 {
	at, _ := placeAt(e.Time, broker)
	return at
}

// FoldedAt returns the log time at which the event of that id and content was
// folded, as far as the state remembers: for Horizon. Of an event that the log has
// twice it tells which one counted. known is false for one without an id too, and
// for one that was rejected. For the one that folds.
func (s *State) FoldedAt(it *events.Item) (at int64, known bool, err error) {
	n := identify(it)
	if !n.has {
		return 0, false, nil
	}
	e, known, err := s.dedup.find(n.id, s.logTime)
	return e.time, known && e.content == n.content, err
}

// Readings returns what an event says for a provider whose message the broker stored at
// that time, and where on the time line it stands, epoch ms. Headers that do not name
// their provider are read as those of the one that the connection has now.
func (s *State) Readings(e *events.Event, broker int64) (list []events.Reading, at int64) {
	at, _ = placeAt(e.Time, broker)
	if e.Headers == nil {
		return inLowerCase(e.Readings), at
	}
	provider := e.Provider
	if provider == "" {
		s.mu.RLock()
		provider = s.providerOf(s.conns.find(e.ConnectionID))
		s.mu.RUnlock()
	}
	return inLowerCase(respond(e, provider, at).readings), at
}

// Counted returns the counter of a key on a connection, of one model or of all
// ("").
func (s *State) Counted(connectionID, apiKeyID, model string, u quota.Unit, w quota.Window) windows.Counter {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k := pairKey{conn: s.conns.find(connectionID), key: s.names.find(apiKeyID), model: s.names.find(model)}
	if k.conn == 0 || k.key == 0 || model != "" && k.model == 0 {
		return windows.Counter{}
	}
	return s.counters.get(s.counters.find(k), u, w)
}

// Cycle is the open cycle of what a provider says about a window.
type Cycle struct {
	Start int64 // epoch ms
	Until int64 // to where keys have parts of it, epoch ms
	meter saturation.Meter
}

// Is reports whether a meter is in this cycle, with the same readings and the usage of
// all keys. Its number, its pot and what it knows of another window may be others: they
// depend on more than is read to find a cycle's beginning.
func (c *Cycle) Is(m *saturation.Meter) bool {
	head, other := c.meter.Head, m.Head
	for _, h := range [...]*saturation.Head{&head, &other} {
		h.Number, h.Pot, h.Waiting, h.Other = 0, 0, false, saturation.Window{}
	}
	return head == other && c.meter.LocalTotal() == m.LocalTotal()
}

// Opened returns a meter without usage at the beginning of the cycle, as far as is known
// of it after that. The level that it began with is not.
func (c *Cycle) Opened(w quota.Window) *saturation.Meter {
	return saturation.Restore(w, saturation.Head{Number: 1, Start: c.Start, Observed: c.Start, ResetAt: c.meter.ResetAt})
}

// Part returns the points of the cycle that a consumption in it caused.
func (c *Cycle) Part(cost *quota.Amounts) quota.Amount {
	return c.meter.Part(saturation.Usage{Requests: cost[quota.Requests], Tokens: cost[quota.Tokens], USD: cost[quota.USD]})
}

// SplitBy returns the unit by which the points of the cycle are split.
func (c *Cycle) SplitBy() quota.Unit { return c.meter.SplitBy() }

// Cycle returns the open cycle of a window of a connection. ok is false when its
// provider never spoke of that.
func (s *State) Cycle(connectionID string, w quota.Window) (c Cycle, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	conn := s.conns.find(connectionID)
	if conn == 0 {
		return c, false
	}
	m := s.meterOf(conn, w)
	if m == nil || m.Number == 0 {
		return c, false
	}
	return Cycle{Start: m.Start, Until: m.PartsUntil(), meter: *m.excerpt(conn, nil).Meter}, true
}

// Holding is a request in flight.
type Holding struct {
	APIKeyID, ConnectionID, Model string
	Amounts                       quota.Amounts
	End                           int64 // of its lease, epoch ms
}

// Holdings returns the holds on a pool's connections whose leases are not over at
// now: how many there are, and most of them, those that hold most of the unit
// first.
func (s *State) Holdings(p *plans.Pool, u quota.Unit, now int64, most int) (list []Holding, total int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range p.Connections {
		on := s.holds.on(s.conns.find(c.ConnectionID))
		if on == nil {
			continue
		}
		s.holds.each(&on.group, ofConnection, func(x *hold) {
			if x.end > now {
				list = append(list, Holding{
					APIKeyID: s.names.id(x.key), ConnectionID: c.ConnectionID, Model: s.names.id(x.model), Amounts: x.amounts, End: x.end,
				})
			}
		})
	}
	slices.SortFunc(list, func(a, b Holding) int {
		return cmp.Or(
			cmp.Compare(b.Amounts[u], a.Amounts[u]), cmp.Compare(a.End, b.End),
			strings.Compare(a.APIKeyID, b.APIKeyID), strings.Compare(a.ConnectionID, b.ConnectionID), strings.Compare(a.Model, b.Model),
		)
	})
	return list[:min(most, len(list))], len(list)
}

// Busy reports whether the log has messages that are not folded yet, as far as is
// known.
func (l *Loop) Busy() bool { return l.head.Load() != 0 || l.behind.Load() > 0 }
