package projector

import (
	"slices"

	"github.com/quotashare/quotashare/plans"
)

// A connection takes so many requests at a time: as many holds have a place on it,
// and the next one waits for the end of one of them. Holds are looked at by their
// ends, so what is over by now and not yet by log time takes no place.

// limitsPlaces reports whether a connection of the pool takes so many at a time.
func limitsPlaces(doc *plans.Pool) bool {
	return slices.ContainsFunc(doc.Connections, func(c plans.Connection) bool { return c.MaxConcurrent > 0 })
}

// places appends the first instant, for each of the pool's connections, at which it has
// a place; nothing when all have one always.
func (r *reader) places(dst []int64, now int64) []int64 {
	if r.p == nil || !r.p.places {
		return dst
	}
	for i, conn := range r.p.conns {
		dst = append(dst, r.placeAt(conn, &r.p.doc.Connections[i], now))
	}
	return dst
}

// placeAt is the first instant at which the connection has a place, 0 = now. More
// may be in flight than it takes, after a change of the pool; then so many more end
// before one has a place.
func (r *reader) placeAt(conn ref, c *plans.Connection, now int64) int64 {
	if c.MaxConcurrent == 0 {
		return 0
	}
	over := r.inFlight(conn, c.ConnectionID, now) - c.MaxConcurrent
	if over < 0 {
		return 0
	}
	if over == 0 && r.without == 0 && r.locals == nil {
		if h := r.s.holds; h.at(h.on(conn).ends[0]).end > now { // of most questions all are like this
			return h.at(h.on(conn).ends[0]).end
		}
	}
	return r.endsAfter(conn, c.ConnectionID, now)[over]
}

// inFlight is how many requests are in flight on a connection, beside the one that
// asks.
func (r *reader) inFlight(conn ref, id string, now int64) (n int64) {
	if c := r.s.holds.on(conn); c != nil {
		n = int64(c.n)
		r.s.holds.upTo(c.ends, byEndOnConn, now, 0, func(*hold) bool { n--; return true })
		if x := r.replaced(); x != nil && x.conn == conn && x.end > now {
			n--
		}
	}
	r.eachLocal(id, now, func(*local) { n++ })
	return n
}

// endsAfter returns when these end, in order.
func (r *reader) endsAfter(conn ref, id string, now int64) (ends []int64) {
	if c := r.s.holds.on(conn); c != nil {
		r.s.holds.each(&c.group, ofConnection, func(x *hold) {
			if x.end > now && x != r.replaced() {
				ends = append(ends, x.end)
			}
		})
	}
	r.eachLocal(id, now, func(x *local) { ends = append(ends, x.End) })
	slices.Sort(ends)
	return ends
}

// replaced is the hold that the question would replace, nil when there is none.
func (r *reader) replaced() *hold {
	if r.without == 0 {
		return nil
	}
	return r.s.holds.at(r.without)
}

// eachLocal calls fn for the local holds on a connection that count at now, but for
// that of the request itself.
func (r *reader) eachLocal(id string, now int64, fn func(x *local)) {
	if r.locals == nil {
		return
	}
	if c := r.locals.byConn[id]; c != nil {
		for _, x := range c.list {
			if x.End > now && x.request != r.request {
				fn(x)
			}
		}
	}
}
