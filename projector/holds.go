package projector

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

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
	event   idHash // of the event that opened it
	pairKey        // the model is 0 when the request named none
	amounts quota.Amounts
	end     int64 // log time from which it counts no more
	lease   int64 // ms
	in      [numGroups]member
	at      [numOrders]uint32 // its place in each order that it is in
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

// group adds up the holds of a connection, of a key or of a model.
type group struct {
	first, n uint32
	sum      heldByUnit
}

// onConn is the group of a connection. A hold counts with at most the limit that it
// is counted against, so its holds are in the order of their amounts as well: what
// of a sum does not count is found without looking at what does.
type onConn struct {
	group
	largest [quota.NumUnits][]uint32 // those that hold something of the unit
	ends    []uint32                 // all of them, the earliest end first
}

// heldSum adds up amounts, of which a million are more than an int64 holds: the bits
// of each from the 32nd on, and those below.
type heldSum struct{ high, low int64 }

const lowBits = 1<<32 - 1

func (s *heldSum) add(a quota.Amount) { s.high, s.low = s.high+int64(a>>32), s.low+int64(a&lowBits) }

func (s *heldSum) sub(a quota.Amount) { s.high, s.low = s.high-int64(a>>32), s.low-int64(a&lowBits) }

func (s *heldSum) plus(x heldSum)  { s.high, s.low = s.high+x.high, s.low+x.low }
func (s *heldSum) minus(x heldSum) { s.high, s.low = s.high-x.high, s.low-x.low }

// amount returns the sum, the largest amount when it is more.
func (s heldSum) amount() quota.Amount {
	high := s.high + s.low>>32
	if high > math.MaxInt64>>32 {
		return math.MaxInt64
	}
	return quota.Amount(high<<32 | s.low&lowBits)
}

// heldByUnit is a sum for each unit.
type heldByUnit [quota.NumUnits]heldSum

func (s *heldByUnit) add(amounts *quota.Amounts) {
	for u, a := range amounts {
		s[u].add(a)
	}
}

func (s *heldByUnit) sub(amounts *quota.Amounts) {
	for u, a := range amounts {
		s[u].sub(a)
	}
}

func (s *heldByUnit) plus(x *heldByUnit) {
	for u := range x {
		s[u].plus(x[u])
	}
}

func (s *heldByUnit) minus(x *heldByUnit) {
	for u := range x {
		s[u].minus(x[u])
	}
}

// holds are all requests in flight.
type holds struct {
	byID    map[idHash]uint32
	list    arena[hold]
	free    []uint32           // places in list
	ends    []uint32           // all, the earliest end first
	byConn  arena[uint32]      // places in conns, by connection
	conns   arena[onConn]      // of every connection that ever had one
	groups  arena[group]       // of keys and models that have some
	unused  []uint32           // places in groups
	byGroup map[pairKey]uint32 // model 0: of the key
	dirty   []uint32           // places changed since the last cut
	gone    []idHash           // those that the store has and the state has not
}

func newHolds() *holds {
	h := &holds{byID: make(map[idHash]uint32), byGroup: make(map[pairKey]uint32)}
	h.list.add()
	h.groups.add()
	h.conns.add()
	return h
}

// len returns how many are open.
func (h *holds) len() int { return len(h.ends) }

// firstEnd is when the lease ends that ends first; some hold is open.
func (h *holds) firstEnd() int64 { return h.at(h.ends[0]).end }

func (h *holds) at(i uint32) *hold { return h.list.at(i) }

// on returns the holds of a connection, nil when it has none.
func (h *holds) on(conn ref) *onConn {
	if uint32(conn) >= h.byConn.n {
		return nil
	}
	if i := *h.byConn.at(uint32(conn)); i != 0 && h.conns.at(i).n > 0 {
		return h.conns.at(i)
	}
	return nil
}

// group returns the group of a key or, with a model, of that on a connection, nil
// when no hold is in it.
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
	h.enter(at)
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
	h.withdraw(at)
	for i := range numGroups {
		if x.in[i].group != 0 {
			h.leave(at, i)
		}
	}
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

// groupName is the name of the hold's i-th group, one of ofKey and ofModel.
func (x *hold) groupName(i int) pairKey {
	if i == ofKey {
		return pairKey{conn: x.conn, key: x.key}
	}
	return x.pairKey
}

// groupAt returns the group at a place of the i-th of a hold's groups.
func (h *holds) groupAt(i int, place uint32) *group {
	if i == ofConnection {
		return &h.conns.at(place).group
	}
	return h.groups.at(place)
}

// join puts the hold in front of the list of its i-th group.
func (h *holds) join(at uint32, i int) {
	x := h.at(at)
	place := h.needGroup(x, i)
	g := h.groupAt(i, place)
	x.in[i] = member{group: place, next: g.first}
	if g.first != 0 {
		h.at(g.first).in[i].prev = at
	}
	g.first = at
	g.n++
	g.sum.add(&x.amounts)
}

// needGroup returns the place of the hold's i-th group, which it makes when it is
// new.
func (h *holds) needGroup(x *hold, i int) (place uint32) {
	if i == ofConnection {
		return h.needConn(x.conn)
	}
	name := x.groupName(i)
	if place = h.byGroup[name]; place != 0 {
		return place
	}
	if n := len(h.unused); n > 0 {
		place = h.unused[n-1]
		h.unused = h.unused[:n-1]
	} else {
		place, _ = h.groups.add()
	}
	h.byGroup[name] = place
	return place
}

func (h *holds) needConn(conn ref) uint32 {
	for h.byConn.n <= uint32(conn) {
		h.byConn.add()
	}
	place := h.byConn.at(uint32(conn))
	if *place == 0 {
		*place, _ = h.conns.add()
	}
	return *place
}

// leave takes the hold out of its i-th group. That of a key or model is gone with
// the last; a connection is used again, and keeps the room of its orders.
func (h *holds) leave(at uint32, i int) {
	x := h.at(at)
	m := x.in[i]
	g := h.groupAt(i, m.group)
	if m.prev != 0 {
		h.at(m.prev).in[i].next = m.next
	} else {
		g.first = m.next
	}
	if m.next != 0 {
		h.at(m.next).in[i].prev = m.prev
	}
	g.n--
	g.sum.sub(&x.amounts)
	if g.n == 0 && i != ofConnection {
		delete(h.byGroup, x.groupName(i))
		h.unused = append(h.unused, m.group)
	}
}

// each calls fn for every hold of the group, which is an i-th of theirs.
func (h *holds) each(g *group, i int, fn func(x *hold)) {
	for at := g.first; at != 0; {
		x := h.at(at)
		fn(x)
		at = x.in[i].next
	}
}
