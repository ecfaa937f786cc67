package projector

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/quotashare/quotashare/quota"
)

// MaxHolds bounds the open holds of a state. It is a constant of the rules: the
// next hold is refused, everywhere alike.
const MaxHolds = 1_000_000

// requestOf names a request of a key: the first half of SHA-256 over the two ids,
// the length of the key in front so that no two requests of different keys are
// one. Requests are new ones all the time; giving each a ref, as keys have one,
// would remember them for ever.
func requestOf(key, request string) (id idHash) {
	var room [256]byte
	buf := append(binary.AppendUvarint(room[:0], uint64(len(key))), key...)
	sum := sha256.Sum256(append(buf, request...))
	copy(id[:], sum[:])
	return id
}

// hold is a request in flight; pointer-free. Places of holds and of groups count
// from 1, so that 0 is none.
type hold struct {
	id      idHash
	pairKey // the model is 0 when the request named none
	amounts quota.Amounts
	end     int64 // log time from which it counts no more
	lease   int64 // ms
	in      [numGroups]member
	heap    uint32 // place in byEnd
	open    bool
	stored  bool // the store has a record of it
	dirty   bool // it is on the list of the next cut
}

// member is a hold's place in the list of one of its groups.
type member struct{ group, prev, next uint32 }

// The groups that a hold is in.
const (
	ofConnection = iota
	ofKey        // of the key, on the connection
	ofModel      // of the key, with the model, on the connection
	numGroups
)

// group adds up the holds of a connection, of a key or of a model. A hold counts
// with at most the limit that it is counted against, so the largest amount is
// kept too: while that is within the limit, the sum is what counts.
type group struct {
	first, n  uint32
	sum, most quota.Amounts
	tops      [quota.NumUnits]uint32 // how many have the largest amount
}

// holds are all requests in flight.
type holds struct {
	byID    map[idHash]uint32
	list    arena[hold]
	free    []uint32 // places in list
	byEnd   []uint32 // a heap of places, the earliest end first
	groups  arena[group]
	unused  []uint32           // places in groups
	byGroup map[pairKey]uint32 // key 0: of the connection; model 0: of the key
	dirty   []uint32           // places changed since the last cut
	gone    []idHash           // those that the store has and the state has not
}

func newHolds() *holds {
	h := &holds{byID: make(map[idHash]uint32), byGroup: make(map[pairKey]uint32)}
	h.list.add()
	h.groups.add()
	return h
}

// len returns how many are open.
func (h *holds) len() int { return len(h.byEnd) }

func (h *holds) at(i uint32) *hold { return h.list.at(i) }

// group returns the group of that name, nil when no hold is in it.
func (h *holds) group(k pairKey) *group {
	if i := h.byGroup[k]; i != 0 {
		return h.groups.at(i)
	}
	return nil
}

// add opens a hold, whose id is not open, and returns its place.
func (h *holds) add(x hold) (at uint32) {
	if n := len(h.free); n > 0 {
		at = h.free[n-1]
		h.free = h.free[:n-1]
	} else {
		at, _ = h.list.add()
	}
	to := h.at(at)
	x.open, x.dirty = true, to.dirty // it may be on the list as the one before
	*to = x
	h.byID[x.id] = at
	for i := range numGroups {
		if i != ofModel || x.model != 0 {
			h.join(at, i)
		}
	}
	h.byEnd = append(h.byEnd, at)
	h.up(len(h.byEnd) - 1)
	return at
}

// touch puts the hold on the list of the next cut.
func (h *holds) touch(at uint32) {
	if x := h.at(at); !x.dirty {
		x.dirty = true
		h.dirty = append(h.dirty, at)
	}
}

// remove ends the hold at that place.
func (h *holds) remove(at uint32) {
	x := h.at(at)
	delete(h.byID, x.id)
	for i := range numGroups {
		if x.in[i].group != 0 {
			h.leave(at, i)
		}
	}
	h.unheap(int(x.heap))
	if x.stored {
		h.gone = append(h.gone, x.id)
	}
	*x = hold{dirty: x.dirty}
	h.free = append(h.free, at)
}

// lower takes the amounts from the hold, none below 0, and gives it a new end.
func (h *holds) lower(at uint32, by *quota.Amounts, end int64) {
	x := *h.at(at)
	for u := range x.amounts {
		x.amounts[u] = max(0, x.amounts[u]-by[u])
	}
	x.end = end
	h.remove(at)
	// What the store has is written over, and not deleted.
	if x.stored {
		h.gone = h.gone[:len(h.gone)-1]
	}
	x.in = [numGroups]member{}
	h.touch(h.add(x))
}

// groupName is the name of the hold's i-th group.
func (x *hold) groupName(i int) pairKey {
	switch i {
	case ofConnection:
		return pairKey{conn: x.conn}
	case ofKey:
		return pairKey{conn: x.conn, key: x.key}
	}
	return x.pairKey
}

// join puts the hold in front of the list of its i-th group, which is made when
// it is new.
func (h *holds) join(at uint32, i int) {
	x := h.at(at)
	name := x.groupName(i)
	to := h.byGroup[name]
	if to == 0 {
		if n := len(h.unused); n > 0 {
			to = h.unused[n-1]
			h.unused = h.unused[:n-1]
		} else {
			to, _ = h.groups.add()
		}
		h.byGroup[name] = to
	}
	g := h.groups.at(to)
	x.in[i] = member{group: to, next: g.first}
	if g.first != 0 {
		h.at(g.first).in[i].prev = at
	}
	g.first = at
	g.n++
	for u, a := range x.amounts {
		g.sum[u] += a
		g.rise(u, a)
	}
}

// rise takes in an amount that may be the largest.
func (g *group) rise(u int, a quota.Amount) {
	switch {
	case a > g.most[u]:
		g.most[u], g.tops[u] = a, 1
	case a == g.most[u]:
		g.tops[u]++
	}
}

// leave takes the hold out of its i-th group, which is gone with the last.
func (h *holds) leave(at uint32, i int) {
	x := h.at(at)
	m := x.in[i]
	g := h.groups.at(m.group)
	if m.prev != 0 {
		h.at(m.prev).in[i].next = m.next
	} else {
		g.first = m.next
	}
	if m.next != 0 {
		h.at(m.next).in[i].prev = m.prev
	}
	g.n--
	if g.n == 0 {
		*g = group{}
		delete(h.byGroup, x.groupName(i))
		h.unused = append(h.unused, m.group)
		return
	}
	for u, a := range x.amounts {
		g.sum[u] -= a
		if a != g.most[u] {
			continue
		}
		if g.tops[u]--; g.tops[u] == 0 {
			h.findMost(g, i, u)
		}
	}
}

// findMost looks for the largest amount anew. The largest of n ends once in n
// times, so that a step costs little in the mean.
func (h *holds) findMost(g *group, i, u int) {
	g.most[u] = 0
	for at := g.first; at != 0; at = h.at(at).in[i].next {
		g.rise(u, h.at(at).amounts[u])
	}
}

// within returns the sum of the group in a unit when each of its holds counts
// with its whole amount, none being above most; else ok is false, as it is when
// the sum would be more than an amount can be.
func (g *group) within(u quota.Unit, most quota.Amount) (sum quota.Amount, ok bool) {
	high, low := bits.Mul64(uint64(g.most[u]), uint64(g.n))
	return g.sum[u], high == 0 && low <= math.MaxInt64 && (most == 0 || g.most[u] <= most)
}

// each calls fn for every hold of the group, which is an i-th of theirs.
func (h *holds) each(g *group, i int, fn func(x *hold)) {
	for at := g.first; at != 0; {
		x := h.at(at)
		fn(x)
		at = x.in[i].next
	}
}

// over calls fn for every hold whose end is not after now. The heap has them at
// its top, so it looks at no more than twice as many as there are.
func (h *holds) over(now int64, fn func(x *hold)) { h.overFrom(0, now, fn) }

func (h *holds) overFrom(i int, now int64, fn func(x *hold)) {
	if i >= len(h.byEnd) {
		return
	}
	x := h.at(h.byEnd[i])
	if x.end > now {
		return
	}
	fn(x)
	h.overFrom(2*i+1, now, fn)
	h.overFrom(2*i+2, now, fn)
}

// The heap of ends.

func (h *holds) before(i, j int) bool { return h.at(h.byEnd[i]).end < h.at(h.byEnd[j]).end }

func (h *holds) swap(i, j int) {
	h.byEnd[i], h.byEnd[j] = h.byEnd[j], h.byEnd[i]
	h.at(h.byEnd[i]).heap, h.at(h.byEnd[j]).heap = uint32(i), uint32(j)
}

func (h *holds) up(i int) {
	h.at(h.byEnd[i]).heap = uint32(i)
	for i > 0 && h.before(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h *holds) down(i int) {
	for {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(h.byEnd) && h.before(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

// unheap takes place i out of the heap.
func (h *holds) unheap(i int) {
	last := len(h.byEnd) - 1
	h.swap(i, last)
	h.byEnd = h.byEnd[:last]
	if i < last {
		h.up(i)
		h.down(i)
	}
}
