package projector

import (
	"slices"
	"strings"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// perLock is how many pairs or connections a list looks at before it lets the
// fold go on: some 50 µs, where all of a million pairs would be a tenth of a
// second in which no question is answered either.
const perLock = 1024

// Connection is a connection with what is known of it.
type Connection struct {
	ID        string
	Provider  string       // of its pool, else of its newest event; "" = unknown
	Pool      string       // id; "" = in none
	Source    plans.Source // of its plan
	Keys      int          // how many keys were counted on it
	LastEvent int64        // log time of its last counted event, epoch ms; 0 = none
}

// Connections returns every connection that an event named, that is in a pool or
// that has a manual plan, by id. Each is as it was at some moment of the call.
func (s *State) Connections() []Connection {
	var list []Connection
	for from, last := ref(1), ref(1); from <= last; from += perLock {
		list, last = s.connectionsFrom(from, list)
	}
	slices.SortFunc(list, func(a, b Connection) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// connectionsFrom appends the next perLock connections, and returns the last
// there is.
func (s *State) connectionsFrom(from ref, list []Connection) ([]Connection, ref) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	last := s.conns.len()
	for r := from; r <= last && r-from < perLock; r++ {
		c := s.conn(r)
		_, planned := s.plans[r]
		if !c.seen() && c.pool == 0 && !planned {
			continue // a pool or plan that is gone named it, and nobody else
		}
		list = append(list, s.connectionView(r))
	}
	return list, last
}

func (s *State) connectionView(r ref) Connection {
	c := s.conn(r)
	v := Connection{ID: s.conns.id(r), Provider: s.providerOf(r), Keys: int(chainOf(&s.counters.byConn, r).n)}
	v.Source = s.planOf(r, v.Provider).Source
	if c.pool != 0 {
		v.Pool = s.poolAt[c.pool-1].doc.ID
	}
	if c.total != 0 {
		v.LastEvent = s.counters.changed(s.counters.pairs.at(c.total - 1))
	}
	return v
}

// Key is an API key with where it was seen and where it belongs.
type Key struct {
	ID          string
	Connections int       // how many it was counted on
	Outside     bool      // one of them is in no pool
	Pools       []KeyPool // by id; it has an allocation there, or was counted on one of its connections
	LastEvent   int64     // log time of its last counted event, epoch ms; 0 = none
}

// KeyPool is a key's place in a pool.
type KeyPool struct {
	Pool       string // id
	Allocation string // the key's own id, quota.AllOthers, or "": none
}

// Keys returns every key that was counted or has an allocation of its own, by
// id. Pools and connections are those of the moment of the call, last events may
// be newer.
func (s *State) Keys() []Key {
	return s.newKeyLister().run()
}

// run makes the list, once.
func (l *keyLister) run() []Key {
	defer l.s.counters.idle.letGo()
	for more := true; more; {
		more = l.look()
		l.take()
	}
	l.finish()
	for r, pools := range l.listing { // they were never seen
		p := l.pools[pools[0]]
		l.key, l.now = r, Key{ID: p.doc.Allocations[p.alloc[r]].APIKeyID}
		l.finish()
	}
	slices.SortFunc(l.list, func(a, b Key) int { return strings.Compare(a.ID, b.ID) })
	return l.list
}

// keyLister goes along the chains of all keys, a part under each lock.
type keyLister struct {
	s       *State
	pools   []*pool       // in force at the call, by id; what is read of them never changes
	poolOf  []int         // by connection: place in pools + 1
	listing map[ref][]int // pools that have an allocation of the key which is not in list yet
	names   ref           // how many there were at the call

	at     ref    // the key of the chain
	next   uint32 // its next pair + 1
	looked []sighting

	key  ref // of now
	now  Key
	in   []int // its pools
	list []Key
}

// sighting is what a pair says of its key.
type sighting struct {
	key  ref
	id   string // "" when the sighting before has it
	conn ref
	last int64
}

func (s *State) newKeyLister() *keyLister {
	s.mu.RLock()
	s.counters.idle.hold()
	l := &keyLister{s: s, pools: slices.Clone(s.poolList), names: s.names.len()}
	conns := s.conns.len()
	s.mu.RUnlock()
	l.poolOf, l.listing = make([]int, conns+1), make(map[ref][]int)
	for i, p := range l.pools {
		for _, c := range p.conns {
			l.poolOf[c] = i + 1
		}
		for _, k := range p.listed {
			l.listing[k] = append(l.listing[k], i)
		}
	}
	return l
}

// look collects sightings from the state and reports whether there are more. A
// chain grows at its front alone, and loses nothing while somebody goes along, so
// going on in the middle of one is safe.
func (l *keyLister) look() (more bool) {
	l.looked = l.looked[:0]
	s := l.s
	s.mu.RLock()
	defer s.mu.RUnlock()
	for range perLock {
		if l.next != 0 {
			l.see(s.counters.pairs.at(l.next - 1))
			continue
		}
		if l.at == l.names {
			return false
		}
		l.at++
		l.next = chainOf(&s.counters.byName, l.at).first
	}
	return true
}

func (l *keyLister) see(p *pair) {
	l.next = p.ofKey.next
	if int(p.conn) >= len(l.poolOf) {
		return // its connection is newer than the call
	}
	x := sighting{key: p.key, conn: p.conn, last: l.s.counters.changed(p)}
	if n := len(l.looked); n == 0 || l.looked[n-1].key != p.key {
		x.id = l.s.names.id(p.key)
	}
	l.looked = append(l.looked, x)
}

// take adds up what was seen.
func (l *keyLister) take() {
	for _, x := range l.looked {
		if x.key != l.key {
			l.finish()
			l.key, l.now = x.key, Key{ID: x.id}
		}
		l.now.Connections++
		l.now.LastEvent = max(l.now.LastEvent, x.last)
		if in := l.poolOf[x.conn]; in == 0 {
			l.now.Outside = true
		} else {
			l.in = append(l.in, in-1)
		}
	}
}

// finish puts the key into the list, when there is one.
func (l *keyLister) finish() {
	if l.key == 0 {
		return
	}
	l.in = append(l.in, l.listing[l.key]...)
	delete(l.listing, l.key)
	slices.Sort(l.in)
	for _, i := range slices.Compact(l.in) {
		l.now.Pools = append(l.now.Pools, KeyPool{Pool: l.pools[i].doc.ID, Allocation: l.pools[i].allocationOf(l.key, l.now.ID)})
	}
	l.list = append(l.list, l.now)
	l.key, l.in = 0, l.in[:0]
}

// allocationOf returns the id of the allocation that the key falls under.
func (p *pool) allocationOf(key ref, id string) string {
	if _, own := p.alloc[key]; own {
		return id
	}
	if p.others >= 0 {
		return quota.AllOthers
	}
	return ""
}
