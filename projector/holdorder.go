package projector

import "github.com/quotashare/quotashare/quota"

// The orders that a hold is in, each a binary heap of places: for each unit, those
// of its connection that hold something of it, the largest amount first; and by
// their ends all holds, and those of its connection, the earliest first. The
// alternative, a sorted list, would be looked at only from its top as well.
const (
	byEnd       = quota.NumUnits + iota
	byEndOnConn // … on its connection
	numOrders
)

// rank is where the hold belongs in an order: the lowest first.
func (x *hold) rank(order int) int64 {
	if order >= byEnd {
		return x.end
	}
	return -int64(x.amounts[order])
}

// enter puts a hold, which is in its groups, into its orders.
func (h *holds) enter(at uint32) {
	x := h.at(at)
	c := h.conns.at(x.in[ofConnection].group)
	for u, a := range x.amounts {
		if a > 0 {
			h.push(&c.largest[u], u, at)
		}
	}
	h.push(&h.ends, byEnd, at)
	h.push(&c.ends, byEndOnConn, at)
}

// withdraw takes a hold, which is in its groups still, out of its orders.
func (h *holds) withdraw(at uint32) {
	x := h.at(at)
	c := h.conns.at(x.in[ofConnection].group)
	for u, a := range x.amounts {
		if a > 0 {
			h.drop(&c.largest[u], u, x.at[u])
		}
	}
	h.drop(&h.ends, byEnd, x.at[byEnd])
	h.drop(&c.ends, byEndOnConn, x.at[byEndOnConn])
}

func (h *holds) push(q *[]uint32, order int, at uint32) {
	*q = append(*q, at)
	h.up(*q, order, uint32(len(*q)-1))
}

// drop takes the i-th out of the order: the last takes its place, from where it
// belongs further up or further down.
func (h *holds) drop(q *[]uint32, order int, i uint32) {
	last := uint32(len(*q) - 1)
	moved := (*q)[last]
	*q = (*q)[:last]
	if i == last {
		return
	}
	(*q)[i] = moved
	h.up(*q, order, i)
	h.down(*q, order, h.at(moved).at[order])
}

// up moves the i-th to before those that it belongs before.
func (h *holds) up(q []uint32, order int, i uint32) {
	at := q[i]
	rank := h.at(at).rank(order)
	for i > 0 {
		parent := (i - 1) / 2
		if h.at(q[parent]).rank(order) <= rank {
			break
		}
		h.put(q, order, i, q[parent])
		i = parent
	}
	h.put(q, order, i, at)
}

// down moves the i-th to behind those that it belongs behind.
func (h *holds) down(q []uint32, order int, i uint32) {
	at := q[i]
	rank := h.at(at).rank(order)
	for n := uint32(len(q)); ; {
		child := 2*i + 1
		if child+1 < n && h.at(q[child+1]).rank(order) < h.at(q[child]).rank(order) {
			child++
		}
		if child >= n || h.at(q[child]).rank(order) >= rank {
			break
		}
		h.put(q, order, i, q[child])
		i = child
	}
	h.put(q, order, i, at)
}

func (h *holds) put(q []uint32, order int, i, at uint32) {
	q[i] = at
	h.at(at).at[order] = i
}

// over calls fn for every hold whose end is not after now, until fn says that it
// has enough; then over is false.
func (h *holds) over(now int64, fn func(x *hold) bool) bool {
	return h.upTo(h.ends, byEnd, now, 0, fn)
}

// above calls fn in the same way for every hold of the connection that holds more
// than most of a unit.
func (h *holds) above(c *onConn, u quota.Unit, most quota.Amount, fn func(x *hold) bool) bool {
	return h.upTo(c.largest[u], int(u), -int64(most)-1, 0, fn)
}

// anyAbove reports whether there is one.
func (h *holds) anyAbove(c *onConn, u quota.Unit, most quota.Amount) bool {
	q := c.largest[u]
	return len(q) > 0 && h.at(q[0]).amounts[u] > most
}

// upTo calls fn for every hold whose rank is at most that. They are at the top, so
// it looks at no more than twice as many as there are, and one.
func (h *holds) upTo(q []uint32, order int, rank int64, i int, fn func(x *hold) bool) bool {
	if i >= len(q) {
		return true
	}
	x := h.at(q[i])
	if x.rank(order) > rank {
		return true
	}
	return fn(x) && h.upTo(q, order, rank, 2*i+1, fn) && h.upTo(q, order, rank, 2*i+2, fn)
}
