package projector

import (
	"github.com/quotashare/quotashare/quota"
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
}

// find looks up the listed keys' pairs. A connection that nobody used has none.
func (n *unlisted) find(s *State, p *pool) {
	n.pool, n.pairs, n.ends = p, n.pairs[:0], n.ends[:0]
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

func (n *unlisted) counter(r *reader, conn int, u quota.Unit, w quota.Window) windows.Counter {
	if n.pool != r.p {
		n.find(r.s, r.p)
	}
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
