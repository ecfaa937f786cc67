package projector

import (
	"slices"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/quota"
)

// Held implements fairshare.Counters. It adds up groups, not holds, and takes off
// what does not count: holds that are over by now and not yet by log time, and the
// one that the question would replace. Where a hold is larger than what it counts
// with, it goes along all of them.
func (r *reader) Held(u quota.Unit, most quota.Amount, whose fairshare.Whose, now int64) quota.Amount {
	if r.s.holds.len() == 0 {
		return 0
	}
	sum, ok := r.groupsHold(u, most, whose)
	if !ok {
		return r.holdsHold(u, most, whose, now)
	}
	r.s.holds.over(now, func(x *hold) {
		if r.counts(x, whose) {
			sum -= x.amounts[u]
		}
	})
	if r.without != 0 {
		if x := r.s.holds.at(r.without); x.end > now && r.counts(x, whose) {
			sum -= x.amounts[u]
		}
	}
	return sum
}

// groupsHold adds up the groups; ok is false when their sum is not what counts.
func (r *reader) groupsHold(u quota.Unit, most quota.Amount, whose fairshare.Whose) (sum quota.Amount, ok bool) {
	for _, conn := range r.p.conns {
		all := r.s.holds.group(pairKey{conn: conn})
		if all == nil {
			continue
		}
		held, ok := r.groupHolds(all, conn, u, most, whose)
		if !ok {
			return 0, false
		}
		sum = quota.AddSat(sum, held)
	}
	return sum, true
}

// groupHolds returns what of one connection's holds, all of which are in the
// group, counts.
func (r *reader) groupHolds(all *group, conn ref, u quota.Unit, most quota.Amount, whose fairshare.Whose) (quota.Amount, bool) {
	switch {
	case whose == fairshare.OfAll || r.others != nil && whose == fairshare.OfAsker:
		sum, ok := all.within(u, most)
		if ok && whose == fairshare.OfAsker {
			// Each listed key's holds are among all, and no larger.
			for _, key := range r.p.listed {
				if g := r.s.holds.group(pairKey{conn: conn, key: key}); g != nil {
					sum -= g.sum[u]
				}
			}
		}
		return sum, ok
	case r.key == 0:
		return 0, true
	}
	name := pairKey{conn: conn, key: r.key}
	if whose == fairshare.OfAskersModel {
		if name.model = r.model; r.model == 0 {
			return 0, true
		}
	}
	g := r.s.holds.group(name)
	if g == nil {
		return 0, true
	}
	return g.within(u, most)
}

// holdsHold goes along the holds of the pool, each with at most most.
func (r *reader) holdsHold(u quota.Unit, most quota.Amount, whose fairshare.Whose, now int64) (sum quota.Amount) {
	r.each(func(x *hold) {
		if x.end <= now || !r.counts(x, whose) {
			return
		}
		amount := x.amounts[u]
		if most > 0 {
			amount = min(amount, most)
		}
		sum = quota.AddSat(sum, amount)
	})
	return sum
}

// each calls fn for every open hold on the pool's connections, but for the one
// that the question would replace.
func (r *reader) each(fn func(x *hold)) {
	h := r.s.holds
	for _, conn := range r.p.conns {
		if g := h.group(pairKey{conn: conn}); g != nil {
			h.each(g, ofConnection, func(x *hold) {
				if r.without == 0 || x != h.at(r.without) {
					fn(x)
				}
			})
		}
	}
}

// counts reports whether the hold is on one of the pool's connections and theirs
// whose holds are asked for.
func (r *reader) counts(x *hold, whose fairshare.Whose) bool {
	switch whose {
	case fairshare.OfAsker:
		if !r.ofAsker(x) {
			return false
		}
	case fairshare.OfAskersModel:
		if !r.ofModel(x) {
			return false
		}
	}
	return slices.Contains(r.p.conns, x.conn)
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
	r.each(func(x *hold) {
		dst = append(dst, fairshare.Hold{Amounts: x.amounts, End: x.end, Key: r.ofAsker(x), Model: r.ofModel(x)})
	})
	return dst
}

// HoldOpen reports whether a hold of that request is open.
func (s *State) HoldOpen(apiKeyID, requestID string) bool {
	request := requestOf(apiKeyID, requestID)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.holds.byID[request] != 0
}

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
		x.FirstEnd = s.holds.at(s.holds.byEnd[0]).end
	}
	return x
}
