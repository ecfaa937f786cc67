package projector

import (
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// Effect is a key that is blocked under one of two documents and not under the
// other.
type Effect struct {
	APIKeyID     string // quota.AllOthers = the keys that have no allocation of their own
	Reason       string // of the block
	Binding      questions.Binding
	HasBinding   bool
	RetryAfterMs int64 // -1 = never by itself
}

// Try says which keys would be blocked now if the document took the place of
// the pool in force, and which would no longer be: asked by pool, without an
// estimate. clock is the caller's time. Keys without an allocation of their own
// all have one answer, whichever they are.
func (s *State) Try(id string, doc *plans.Pool, clock int64) (blocked, freed []Effect) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := max(clock, s.logTime)
	var a Asked
	was, next := s.pools[id], s.draft(doc)
	for _, key := range keysOf(was, next) {
		before, wasBlocked := s.effect(was, key, now, &a)
		after, isBlocked := s.effect(next, key, now, &a)
		switch {
		case isBlocked && !wasBlocked:
			blocked = append(blocked, after)
		case wasBlocked && !isBlocked:
			freed = append(freed, before)
		}
	}
	return blocked, freed
}

// keysOf returns the keys with an allocation in one of the pools, each once, and
// quota.AllOthers at the end.
func keysOf(pools ...*pool) (keys []string) {
	seen := map[string]bool{quota.AllOthers: true}
	for _, p := range pools {
		if p == nil {
			continue
		}
		for _, a := range p.doc.Allocations {
			if !seen[a.APIKeyID] {
				seen[a.APIKeyID] = true
				keys = append(keys, a.APIKeyID)
			}
		}
	}
	return append(keys, quota.AllOthers)
}

// draft makes a pool ready for questions without bringing it into force. Ids
// that nobody has used have no ref, and so no counters.
func (s *State) draft(doc *plans.Pool) *pool {
	p := &pool{doc: doc, alloc: make(map[ref]int, len(doc.Allocations)), others: -1}
	for _, c := range doc.Connections {
		p.conns = append(p.conns, s.conns.find(c.ConnectionID))
	}
	for i, a := range doc.Allocations {
		if a.APIKeyID == quota.AllOthers {
			p.others = i
		} else if r := s.names.find(a.APIKeyID); r != 0 {
			p.alloc[r] = i
			p.listed = append(p.listed, r)
		}
	}
	s.resolve(p)
	return p
}

// effect judges the key by the pool, and reports whether that blocks it.
func (s *State) effect(p *pool, key string, now int64, a *Asked) (e Effect, blocks bool) {
	if p == nil || p.doc.Mode != plans.Enforce {
		return e, false
	}
	a.Now, a.reader = now, reader{s: s, p: p, key: s.names.find(key)}
	allocation := p.resolved.Allocation(key)
	if allocation >= 0 && allocation == p.others {
		a.reader.others = &a.unlisted
	}
	s.gatherFacts(&questions.Question{APIKeyID: key}, a, fairshare.AnyConnection, allocation)
	d := a.Facts.Decide(now)
	if !d.Reason.Blocks() {
		return e, false
	}
	e = Effect{APIKeyID: key, Reason: d.Reason.String(), RetryAfterMs: d.RetryMs}
	if u, w, model, ok := a.Facts.Binding(d.Verdict); ok {
		e.Binding, e.HasBinding = questions.Binding{Unit: u, Window: w, Model: model}, true
	}
	return e, true
}
