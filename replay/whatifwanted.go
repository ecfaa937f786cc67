package replay

import (
	"strings"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/windows"
)

// judged is a decision of a side, with the dimension of the pool that blocked it.
type judged struct {
	whatif.Decision
	short ofPool // the zero ofPool = none did
}

// decided is what a row counts of a verdict, and whose room it lacked. Caps, places and
// suspensions are no matter of how a pool shares, and where a provider says that an
// account is used up, nothing of it is left unused.
func decided(a *projector.Asked, v fairshare.Verdict) judged {
	d := judged{Decision: whatif.Decision{Block: v.Reason.Blocks(), Passes: v.Allowed(), Deprioritize: v.Deprioritize, Reason: v.Reason.String()}}
	if v.Reason == fairshare.FairShare || v.Reason == fairshare.GlobalSaturated && v.Scope == fairshare.ScopePool {
		u, w, _, _ := a.Facts.Binding(v)
		d.short = ofPool{a.Pool.ID, u, w}
	}
	return d
}

// refusal is what a dimension had no room for, in the bucket of that index.
type refusal struct {
	short  ofPool
	index  int64
	amount quota.Amount
}

// bucketAt is that of a dimension while it is open, nil when it was closed, or is another.
func (s *side) bucketAt(name ofPool, index int64) *bucket {
	if b := s.capacity[name]; b != nil && b.index == index && !b.taken {
		return b
	}
	return nil
}

// turnAway takes note of a request that a side stopped, at that time. One that gives its
// id is one request, and counts once in a bucket.
func (s *side) turnAway(d *judged, id requestID, cost *quota.Amounts, at int64) {
	if d.short == (ofPool{}) || d.Passes {
		return
	}
	index, _ := windows.Bucket(at, d.short.window.Millis())
	b := s.bucketAt(d.short, index)
	if b == nil {
		return // it came late, and its bucket is counted
	}
	b.blocked = true
	amount := cost[d.short.unit]
	if id.requestID != "" {
		if r, known := s.refused.find(id); known && r.short == d.short && r.index == index {
			return
		}
		s.refused.put(id, refusal{d.short, index, amount}, at)
	}
	b.wanted = quota.AddSat(b.wanted, amount)
}

// turnAwayPart adds a part to its request that was stopped.
func (s *side) turnAwayPart(id requestID, cost *quota.Amounts, at int64) {
	r, known := s.refused.find(id)
	if !known {
		return
	}
	if b := s.bucketAt(r.short, r.index); b != nil {
		amount := cost[r.short.unit]
		b.wanted, r.amount = quota.AddSat(b.wanted, amount), quota.AddSat(r.amount, amount)
		s.refused.put(id, r, at)
	}
}

// comeBack is turnAway undone: the request is served after all.
func (s *side) comeBack(id requestID) {
	r, known := s.refused.find(id)
	if !known {
		return
	}
	s.refused.forget(id)
	if b := s.bucketAt(r.short, r.index); b != nil {
		b.wanted = max(0, b.wanted-r.amount)
	}
}

// requestID names a request; the zero one, or one without an id, is none.
type requestID struct{ apiKeyID, requestID string }

// recent remembers something of requests, and forgets it after an hour or two.
type recent[V any] struct {
	now, older map[requestID]V
	since      int64
}

const recentFor = 3_600_000 // ms

func (r *recent[V]) find(id requestID) (v V, known bool) {
	if id.requestID == "" {
		return v, false
	}
	if v, known = r.now[id]; !known {
		v, known = r.older[id]
	}
	return v, known
}

func (r *recent[V]) forget(id requestID) {
	delete(r.now, id)
	delete(r.older, id)
}

// put remembers it in memory of the id's own.
func (r *recent[V]) put(id requestID, v V, at int64) {
	if r.now == nil || at-r.since >= recentFor {
		r.older, r.now, r.since = r.now, make(map[requestID]V), at
	}
	r.now[requestID{strings.Clone(id.apiKeyID), strings.Clone(id.requestID)}] = v
}
