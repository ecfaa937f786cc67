package projector

import (
	"maps"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// Draft is configuration that is not in force: one document that would be put or
// deleted.
type Draft struct {
	PoolID string      // "" = no pool changes
	Pool   *plans.Pool // nil = it is deleted

	ConnectionID string      // "" = no plan changes
	Plan         *plans.Plan // set by hand; nil = that is deleted

	Settings *plans.Settings // nil = they stay
}

// Effect is a key that is blocked under one configuration and not under the
// other.
type Effect struct {
	PoolID       string
	APIKeyID     string // quota.AllOthers = the keys that have no allocation of their own
	Reason       string // of the block
	Binding      questions.Binding
	HasBinding   bool
	RetryAfterMs int64 // -1 = never by itself
}

// Try says which keys would be blocked now if the draft were in force, and which
// would no longer be: asked by pool, without an estimate, and without a model
// unless the key has a cap for it. clock is the caller's time. Keys without an
// allocation of their own all have one answer, whichever they are.
func (s *State) Try(d *Draft, clock int64) (blocked, freed []Effect) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := trial{s: s, now: max(clock, s.logTime), before: &s.settings.doc, after: &s.settings.doc}
	if d.Settings != nil {
		t.after = d.Settings
		for _, p := range s.poolList {
			t.compare(p, p)
		}
	}
	if d.PoolID != "" {
		t.compare(s.pools[d.PoolID], s.draft(d.Pool, s.planWith(nil)))
	}
	// Its own pool is the only one that a plan matters to.
	if r := s.conns.find(d.ConnectionID); r != 0 && s.conn(r).pool != 0 {
		was := s.poolAt[s.conn(r).pool-1]
		t.compare(was, s.draft(was.doc, s.planWith(d)))
	}
	return t.blocked, t.freed
}

// draft makes a pool ready for questions without bringing it into force, nil for
// no document. Ids that nobody has used have no ref, and so no counters.
func (s *State) draft(doc *plans.Pool, planOf func(connectionID, provider string) plans.Plan) *pool {
	if doc == nil {
		return nil
	}
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
	p.resolve(planOf)
	return p
}

// trial compares pools under the rules of before and after.
type trial struct {
	s              *State
	now            int64
	before, after  *plans.Settings
	asked          Asked
	blocked, freed []Effect
}

// compare asks for every key with an allocation in one of both, for the others,
// and for the models that a key has a cap for.
func (t *trial) compare(was, next *pool) {
	models := modelsOf(was, next)
	for _, key := range keysOf(was, next) {
		list := models[key]
		delete(models, key)
		if t.differs(was, next, key, "") {
			continue // whichever the model
		}
		for _, model := range list {
			t.differs(was, next, key, model)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(models)) { // that have no allocation
		for _, model := range models[key] {
			t.differs(was, next, key, model)
		}
	}
}

// differs notes the effect on a key, and reports whether there is one.
func (t *trial) differs(was, next *pool, key, model string) bool {
	before, wasBlocked := t.judge(was, t.before, key, model)
	after, isBlocked := t.judge(next, t.after, key, model)
	switch {
	case isBlocked && !wasBlocked:
		t.blocked = append(t.blocked, after)
	case wasBlocked && !isBlocked:
		t.freed = append(t.freed, before)
	}
	return isBlocked != wasBlocked
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

// modelsOf returns the models that a key has a cap for in one of the pools.
func modelsOf(pools ...*pool) map[string][]string {
	models := make(map[string][]string)
	for _, p := range pools {
		if p == nil {
			continue
		}
		for _, c := range p.doc.ModelCaps {
			if !slices.Contains(models[c.APIKeyID], c.Model) {
				models[c.APIKeyID] = append(models[c.APIKeyID], c.Model)
			}
		}
	}
	return models
}

// judge asks whether the key is blocked by the pool.
func (t *trial) judge(p *pool, rules *plans.Settings, key, model string) (e Effect, blocks bool) {
	if p == nil || p.doc.Mode != plans.Enforce {
		return e, false
	}
	r := reader{
		s: t.s, p: p, key: t.s.names.find(key), model: t.s.names.find(model), name: strings.ToLower(model),
		ttl: rules.SignalTTLMs(),
	}
	allocation := p.resolved.Allocation(key)
	if allocation >= 0 && allocation == p.others {
		r.others = &t.asked.unlisted
	}
	f := &t.asked.Facts
	f.Gather(&fairshare.Question{
		Pool: p.resolved, Allocation: allocation, Connection: fairshare.AnyConnection, APIKeyID: key, Model: model,
		Threshold: rules.SaturationThreshold(), SoftFactor: rules.SoftDeprioritizeFactor(),
	}, &r, t.now)
	d := f.Decide(t.now)
	if !d.Reason.Blocks() {
		return e, false
	}
	e = Effect{PoolID: p.doc.ID, APIKeyID: key, Reason: d.Reason.String(), RetryAfterMs: d.RetryMs}
	if u, w, model, ok := f.Binding(d.Verdict); ok {
		e.Binding, e.HasBinding = questions.Binding{Unit: u, Window: w, Model: model}, true
	}
	return e, true
}
