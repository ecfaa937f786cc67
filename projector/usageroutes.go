package projector

import (
	"cmp"
	"slices"

	"github.com/quotashare/quotashare/usage"
)

// addFlights adds what is in flight on each connection, as a choice would see it.
func (x *usageSheet) addFlights() {
	r := reader{s: &x.State, p: x.pool}
	for i, conn := range x.pool.conns {
		c := &x.pool.doc.Connections[i]
		x.snapshot.Flights = append(x.snapshot.Flights, usage.Flight{
			ConnectionID: c.ConnectionID, InFlight: r.inFlight(conn, c.ConnectionID, x.now), MaxConcurrent: c.MaxConcurrent,
		})
	}
}

// backlogOf is who waits for a connection of the pool at an instant. The caller holds the
// lock.
func (s *State) backlogOf(p *pool, now int64) (b usage.Backlog) {
	for t := range p.lane.backlog.Turns() {
		if n, since := p.lane.waitsOf(t.Key, now); n > 0 {
			b.Waiting += int(n)
			b.Keys = append(b.Keys, usage.Wait{APIKeyID: s.names.id(ref(t.Key)), Waiting: int(n), Since: since})
		}
	}
	slices.SortFunc(b.Keys, func(a, b usage.Wait) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.APIKeyID, b.APIKeyID))
	})
	b.Keys = slices.Clip(b.Keys[:min(len(b.Keys), usage.MaxWaiting)])
	return b
}
