package projector

// chain is the pairs of one connection, or those of one key: the newest of them
// and how many there are. The others hang behind it through ofConn or ofKey. All
// places are counted from 1, 0 ends a chain. Totals and pairs with a model are in
// no chain.
//
// Lists in slices would be found faster and cost a pointer for each connection
// and key, which the garbage collector would have to follow.
type chain struct{ first, n uint32 }

// link is a pair's neighbours in a chain. It has both, so that a pair is taken out
// of a chain of a million without going along it.
type link struct{ next, before uint32 }

// linkOf says which link of a pair belongs to a chain.
type linkOf func(*pair) *link

func connLink(p *pair) *link { return &p.ofConn }
func keyLink(p *pair) *link  { return &p.ofKey }

// chainAt returns the chain of the ref and makes it when it is new.
func chainAt(a *arena[chain], r ref) *chain {
	for a.n <= uint32(r) {
		a.add()
	}
	return a.at(uint32(r))
}

// chainOf returns the chain of the ref, the empty one when nothing was chained.
func chainOf(a *arena[chain], r ref) chain {
	if a.n <= uint32(r) {
		return chain{}
	}
	return *a.at(uint32(r))
}

// chain hangs pair i into its chains before it gets its first counter. That is
// the moment because the store has counters and no pairs: what is chained is the
// same after a restart.
func (c *counters) chain(i uint32, p *pair) {
	if p.key == 0 || p.counted() {
		return
	}
	c.hang(chainAt(&c.byConn, p.conn), i, connLink)
	c.hang(chainAt(&c.byName, p.key), i, keyLink)
}

// hang makes pair i the first of the chain.
func (c *counters) hang(in *chain, i uint32, of linkOf) {
	if in.first != 0 {
		of(c.pairs.at(in.first - 1)).before = i + 1
	}
	*of(c.pairs.at(i)) = link{next: in.first}
	in.first, in.n = i+1, in.n+1
}

// unhang takes pair i out of the chain.
func (c *counters) unhang(in *chain, i uint32, of linkOf) {
	l := of(c.pairs.at(i))
	if l.before == 0 {
		in.first = l.next
	} else {
		of(c.pairs.at(l.before - 1)).next = l.next
	}
	if l.next != 0 {
		of(c.pairs.at(l.next - 1)).before = l.before
	}
	in.n--
}

// counted reports whether the pair has counters.
func (p *pair) counted() bool { return p.series != [len(p.series)]uint32{} }

// changed returns the log time of the last event counted in the pair, which has
// no model; 0 = none.
func (c *counters) changed(p *pair) (last int64) {
	for _, at := range p.series {
		if at != 0 {
			last = max(last, c.series.at(at-1).changed)
		}
	}
	return last
}

// eachKeyOf calls fn for each key counted on the connection until it returns
// false, the newest key first. The caller holds the lock.
func (s *State) eachKeyOf(conn ref, fn func(key ref, p *pair) bool) {
	for at := chainOf(&s.counters.byConn, conn).first; at != 0; {
		p := s.counters.pairs.at(at - 1)
		if !fn(p.key, p) {
			return
		}
		at = p.ofConn.next
	}
}
