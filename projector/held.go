package projector

import (
	"slices"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/quota"
)

// Held implements fairshare.Counters. It adds up groups, not holds, and takes off
// what does not count: of holds that are over by now and not yet by log time, and of
// the one that the question would replace, all; of those that hold more than most,
// what is above it.
func (r *reader) Held(u quota.Unit, most quota.Amount, whose fairshare.Whose, now int64) quota.Amount {
	held := r.heldInLog(u, most, whose, now)
	if r.locals != nil {
		held = quota.AddSat(held, r.heldLocally(u, most, whose, now))
	}
	return held
}

func (r *reader) heldInLog(u quota.Unit, most quota.Amount, whose fairshare.Whose, now int64) quota.Amount {
	if r.s.holds.len() == 0 {
		return 0
	}
	r.leaveOut(now)
	total := r.heldBy(u, whose)
	total.minus(r.out.held[whose][u])
	if most > 0 {
		for _, conn := range r.p.conns {
			if c := r.s.holds.on(conn); c != nil {
				total.minus(r.excess(c, conn, u, most, whose))
			}
		}
	}
	return total.amount()
}

// heldBy adds up the groups.
func (r *reader) heldBy(u quota.Unit, whose fairshare.Whose) (total heldSum) {
	if whose == fairshare.OfAsker && r.others != nil {
		return r.others.holds(r)[u]
	}
	for _, conn := range r.p.conns {
		if c := r.s.holds.on(conn); c != nil {
			if g := r.groupOf(c, conn, whose); g != nil {
				total.plus(g.sum[u])
			}
		}
	}
	return total
}

// groupOf returns the group on a connection that the holds are all of, nil when
// there are none. Of the unlisted keys' it is the connection's, of which it is a
// part.
func (r *reader) groupOf(c *onConn, conn ref, whose fairshare.Whose) *group {
	switch {
	case whose == fairshare.OfAll || whose == fairshare.OfAsker && r.others != nil:
		return &c.group
	case r.key == 0 || whose == fairshare.OfAskersModel && r.model == 0:
		return nil
	case whose == fairshare.OfAsker:
		return r.s.holds.group(pairKey{conn: conn, key: r.key})
	}
	return r.s.holds.group(pairKey{conn: conn, key: r.key, model: r.model})
}

// excess is what the holds on a connection hold above most. It looks at those that
// do, whosever they are; when they are more than the asked ones in all, as they may
// be when the asker has a cap that is small for others, at the asked ones.
func (r *reader) excess(c *onConn, conn ref, u quota.Unit, most quota.Amount, whose fairshare.Whose) (total heldSum) {
	if !r.s.holds.anyAbove(c, u, most) {
		return total
	}
	g := r.groupOf(c, conn, whose)
	if g == nil {
		return total
	}
	add := func(x *hold) {
		if x.amounts[u] > most && x.end > r.out.at && !r.replaces(x) && r.isOf(x, whose) {
			total.add(x.amounts[u] - most)
		}
	}
	looked := uint32(0)
	if !r.s.holds.above(c, u, most, func(x *hold) bool { add(x); looked++; return looked <= g.n }) {
		total = heldSum{}
		r.s.holds.each(g, r.inGroup(whose), add)
	}
	return total
}

// inGroup is which of a hold's groups groupOf returns.
func (r *reader) inGroup(whose fairshare.Whose) int {
	switch {
	case whose == fairshare.OfAll || whose == fairshare.OfAsker && r.others != nil:
		return ofConnection
	case whose == fairshare.OfAsker:
		return ofKey
	}
	return ofModel
}

// leftOut is what the groups have and what does not count, for one reader at one
// instant.
type leftOut struct {
	known bool
	at    int64
	held  [fairshare.OfAskersModel + 1]heldByUnit
}

// leaveOut finds out what does not count at instant now: once for all lines of a
// question, for while the log is quiet many leases may be over. When more are over
// than the pool has holds, it looks at those.
func (r *reader) leaveOut(now int64) {
	if r.out.known && r.out.at == now {
		return
	}
	r.out = leftOut{known: true, at: now}
	h := r.s.holds
	if h.firstEnd() <= now {
		looked, most := 0, r.count()
		if !h.over(now, func(x *hold) bool { r.leave(x); looked++; return looked <= most }) {
			r.out.held = [len(r.out.held)]heldByUnit{}
			r.all(func(x *hold) {
				if x.end <= now {
					r.leave(x)
				}
			})
		}
	}
	if r.without != 0 && h.at(r.without).end > now {
		r.leave(h.at(r.without))
	}
}

// leave adds up a hold that does not count.
func (r *reader) leave(x *hold) {
	if !slices.Contains(r.p.conns, x.conn) {
		return
	}
	for whose := range r.out.held {
		if r.isOf(x, fairshare.Whose(whose)) {
			r.out.held[whose].add(&x.amounts)
		}
	}
}

// count returns how many holds the pool's connections have.
func (r *reader) count() (n int) {
	for _, conn := range r.p.conns {
		if c := r.s.holds.on(conn); c != nil {
			n += int(c.n)
		}
	}
	return n
}

// all calls fn for every hold on the pool's connections.
func (r *reader) all(fn func(x *hold)) {
	for _, conn := range r.p.conns {
		if c := r.s.holds.on(conn); c != nil {
			r.s.holds.each(&c.group, ofConnection, fn)
		}
	}
}

// heldAfter reports whether a hold that counts was taken or renewed after instant at.
func (r *reader) heldAfter(at int64) (later bool) {
	if r.p != nil {
		r.all(func(x *hold) { later = later || x.end-x.lease > at })
	}
	return later
}

// replaces reports whether the hold is the one that the question would replace.
func (r *reader) replaces(x *hold) bool { return r.without != 0 && x == r.s.holds.at(r.without) }

// isOf reports whether a hold on one of the pool's connections is of those.
func (r *reader) isOf(x *hold, whose fairshare.Whose) bool {
	switch whose {
	case fairshare.OfAsker:
		return r.ofAsker(x)
	case fairshare.OfAskersModel:
		return r.ofModel(x)
	}
	return true
}

// ofAsker reports whether a hold is the asker's, or of one of the unlisted keys when
// it asks as they.
func (r *reader) ofAsker(x *hold) bool {
	if r.others == nil {
		return x.key == r.key
	}
	_, listed := r.p.alloc[x.key]
	return !listed
}

// ofModel reports whether a hold is the asking key's own and of the asked model.
func (r *reader) ofModel(x *hold) bool { return r.model != 0 && x.model == r.model && x.key == r.key }

// Holds implements fairshare.Counters.
func (r *reader) Holds(dst []fairshare.Hold) []fairshare.Hold {
	r.all(func(x *hold) {
		if !r.replaces(x) {
			dst = append(dst, fairshare.Hold{Amounts: x.amounts, End: x.end, Key: r.ofAsker(x), Model: r.ofModel(x), Allocation: r.p.asks(x.key)})
		}
	})
	if r.locals != nil {
		dst = r.localHolds(dst)
	}
	return dst
}

// HoldOpen reports whether a hold of that request is open.
func (s *State) HoldOpen(apiKeyID, requestID string) bool {
	request := requestOf(apiKeyID, requestID)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.holds.byID[request] != 0
}

// Renews reports whether a hold of the request was open, which is not counted here.
func (a *Asked) Renews() bool { return a.reader.without != 0 }

// HoldStats are figures of the open holds.
type HoldStats struct {
	Open     int
	FirstEnd int64 // of the lease that ends first, epoch ms; 0 = none is open
}

// Holds returns figures of the open holds.
func (s *State) Holds() (x HoldStats) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if x.Open = s.holds.len(); x.Open > 0 {
		x.FirstEnd = s.holds.firstEnd()
	}
	return x
}
