package projector

import (
	"slices"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
	"github.com/quotashare/quotashare/windows"
)

// unlisted counts what the keys without an allocation of their own used: the
// total of a connection without the listed keys. The pairs of those are looked
// up once for all windows and all questions about a pool; a pool of many
// connections and keys would else keep the fold waiting.
type unlisted struct {
	pool   *pool
	pairs  []*pair
	ends   []int             // by connection, of its pairs
	listed []windows.Counter // scratch
	locals []localUse        // by connection and window; empty until one is asked for
	held   heldByUnit        // by their open holds, over or not
	summed bool              // held is known
}

// localUse is what the unlisted keys used in the open cycle of a meter.
type localUse struct {
	known bool
	used  saturation.Usage
}

// find looks up the listed keys' pairs. A connection that nobody used has none.
func (n *unlisted) find(s *State, p *pool) {
	n.pool, n.pairs, n.ends, n.locals, n.summed = p, n.pairs[:0], n.ends[:0], n.locals[:0], false
	for _, conn := range p.conns {
		if s.conn(conn).total != 0 {
			for _, key := range p.listed {
				if x := s.counters.find(pairKey{conn: conn, key: key}); x != nil {
					n.pairs = append(n.pairs, x)
				}
			}
		}
		n.ends = append(n.ends, len(n.pairs))
	}
}

// of makes sure that what was looked up is of the asked pool.
func (n *unlisted) of(r *reader) {
	if n.pool != r.p {
		n.find(r.s, r.p)
	}
}

func (n *unlisted) counter(r *reader, conn int, u quota.Unit, w quota.Window) windows.Counter {
	n.of(r)
	from := 0
	if conn > 0 {
		from = n.ends[conn-1]
	}
	n.listed = n.listed[:0]
	for _, x := range n.pairs[from:n.ends[conn]] {
		n.listed = append(n.listed, r.s.counters.get(x, u, w))
	}
	return windows.Others(r.Total(conn, u, w), n.listed...)
}

// local returns what the unlisted keys used in the open cycle of a meter of that
// connection: what all used, without the listed ones.
func (n *unlisted) local(r *reader, conn int, m *meter) saturation.Usage {
	n.of(r)
	if len(n.locals) == 0 {
		n.locals = slices.Grow(n.locals, len(r.p.conns)*quota.NumWindows)[:len(r.p.conns)*quota.NumWindows]
		clear(n.locals)
	}
	x := &n.locals[conn*quota.NumWindows+int(m.window)]
	if !x.known {
		x.known, x.used = true, m.LocalTotal()
		for _, key := range r.p.listed {
			x.used = x.used.Minus(m.Local(uint32(key)))
		}
	}
	return x.used
}

// holds returns what the unlisted keys hold on the pool's connections: what all
// hold, without the listed ones, or hold by hold where there are fewer of those.
func (n *unlisted) holds(r *reader) *heldByUnit {
	n.of(r)
	if n.summed {
		return &n.held
	}
	n.held, n.summed = heldByUnit{}, true
	for _, conn := range r.p.conns {
		c := r.s.holds.on(conn)
		switch {
		case c == nil:
		case int(c.n) < len(r.p.listed):
			r.s.holds.each(&c.group, ofConnection, func(x *hold) {
				if r.ofAsker(x) {
					n.held.add(&x.amounts)
				}
			})
		default:
			n.held.plus(&c.sum)
			for _, key := range r.p.listed {
				if g := r.s.holds.group(pairKey{conn: conn, key: key}); g != nil {
					n.held.minus(&g.sum)
				}
			}
		}
	}
	return &n.held
}
