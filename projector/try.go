package projector

import (
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
//
// Pools are looked at one after the other, each as of one moment of the call, and
// judged outside of the lock: two judgements for each of many keys would keep all
// decisions waiting.
func (s *State) Try(d *Draft, clock int64) (blocked, freed []Effect) {
	var t trial
	for _, id := range s.touchedBy(d) {
		if t.begin(s, d, id, clock) {
			t.compare()
		}
	}
	return t.blocked, t.freed
}

// touchedBy returns the ids of the pools whose decisions the draft can change.
func (s *State) touchedBy(d *Draft) (ids []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if d.PoolID != "" {
		ids = append(ids, d.PoolID)
	}
	if r := s.conns.find(d.ConnectionID); r != 0 && s.conn(r).pool != 0 {
		ids = append(ids, s.poolAt[s.conn(r).pool-1].doc.ID)
	}
	if d.Settings == nil || !blocksOtherwise(&s.settings.doc, d.Settings) {
		return ids
	}
	for _, p := range s.poolList {
		ids = append(ids, p.doc.ID)
	}
	return ids
}

// blocksOtherwise reports whether settings differ in what a block can depend on.
func blocksOtherwise(a, b *plans.Settings) bool {
	return a.SaturationThreshold() != b.SaturationThreshold() || a.SignalTTLMs() != b.SignalTTLMs()
}

// trial compares one pool after the other with what it would be.
type trial struct {
	now            int64
	x              *excerpt // of both
	was, next      *pool    // nil = there is none
	before, after  plans.Settings
	rows           []trialRow
	facts          fairshare.Facts
	rest           unlisted
	blocked, freed []Effect
}

// trialRow is a key that is asked for, and the models that it has a cap for.
type trialRow struct {
	key    string
	ref    ref
	models []trialModel
}

type trialModel struct {
	name string
	ref  ref
}

// begin takes the pool of that id and its draft out of the state; false when there
// is neither.
func (t *trial) begin(s *State, d *Draft, id string, clock int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t.now = max(clock, s.logTime)
	t.before, t.after = s.settings.doc, s.settings.doc
	if d.Settings != nil {
		t.after = *d.Settings
	}
	t.was, t.next = s.pools[id], nil
	switch {
	case id == d.PoolID:
		t.next = s.draft(d.Pool, s.planWith(d))
	case t.was != nil:
		t.next = s.draft(t.was.doc, s.planWith(d))
	}
	if t.was == nil && t.next == nil {
		return false
	}
	t.rows = s.trialRows(t.was, t.next)
	t.take(s)
	return true
}

// take makes the excerpt of the connections and keys of both, and has both speak
// of its connections.
func (t *trial) take(s *State) {
	var all pool
	places := make(map[ref]ref) // by connection of the state
	for _, p := range []*pool{t.was, t.next} {
		if p == nil {
			continue
		}
		for _, c := range p.conns {
			if _, known := places[c]; !known {
				all.conns = append(all.conns, c)
				places[c] = ref(len(all.conns))
			}
		}
	}
	all.doc = &plans.Pool{}
	for _, r := range t.rows {
		if r.ref != 0 {
			all.listed = append(all.listed, r.ref)
		}
	}
	t.x = s.excerptOf(&all, nil)
	for _, r := range t.rows {
		for _, m := range r.models {
			t.x.takeModel(s, all.conns, r.ref, m.ref)
		}
	}
	t.was, t.next = t.was.within(places), t.next.within(places)
	t.rest.pool = nil
}

// within returns a copy of the pool whose connections are those of an excerpt.
func (p *pool) within(places map[ref]ref) *pool {
	if p == nil {
		return nil
	}
	own := *p
	own.conns = make([]ref, len(p.conns))
	for i, c := range p.conns {
		own.conns[i] = places[c]
	}
	return &own
}

// compare asks for every row with both, and notes what differs.
func (t *trial) compare() {
	t.x.openHolds()
	for i := range t.rows {
		r := &t.rows[i]
		if t.differs(r, trialModel{}) {
			continue // whichever the model
		}
		for _, m := range r.models {
			t.differs(r, m)
		}
	}
}

// differs notes the effect on a key, and reports whether there is one.
func (t *trial) differs(r *trialRow, m trialModel) bool {
	t.x.settings.doc = t.before
	before, wasBlocked := t.judge(t.was, r, m)
	t.x.settings.doc = t.after
	after, isBlocked := t.judge(t.next, r, m)
	switch {
	case isBlocked && !wasBlocked:
		t.blocked = append(t.blocked, after)
	case wasBlocked && !isBlocked:
		t.freed = append(t.freed, before)
	}
	return isBlocked != wasBlocked
}

// trialRows returns the keys with an allocation in one of the pools, each once,
// then quota.AllOthers, then those that have caps for models and no allocation.
func (s *State) trialRows(pools ...*pool) (rows []trialRow) {
	at := make(map[string]int)
	row := func(key string) *trialRow {
		i, known := at[key]
		if !known {
			i = len(rows)
			at[key] = i
			rows = append(rows, trialRow{key: key, ref: s.names.find(key)})
		}
		return &rows[i]
	}
	for _, p := range pools {
		for i := range p.allocations() {
			if key := p.doc.Allocations[i].APIKeyID; key != quota.AllOthers {
				row(key)
			}
		}
	}
	row(quota.AllOthers).ref = 0
	seen := make(map[[2]string]bool)
	for _, p := range pools {
		for i := range p.modelCaps() {
			c := &p.doc.ModelCaps[i]
			if name := [2]string{c.APIKeyID, c.Model}; !seen[name] {
				seen[name] = true
				r := row(c.APIKeyID)
				r.models = append(r.models, trialModel{c.Model, s.names.find(c.Model)})
			}
		}
	}
	return rows
}

func (p *pool) allocations() []plans.Allocation {
	if p == nil {
		return nil
	}
	return p.doc.Allocations
}

func (p *pool) modelCaps() []plans.ModelCap {
	if p == nil {
		return nil
	}
	return p.doc.ModelCaps
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
		var r ref
		if a.APIKeyID == quota.AllOthers {
			p.others = i
		} else if r = s.names.find(a.APIKeyID); r != 0 {
			p.alloc[r] = i
			p.listed = append(p.listed, r)
		}
		p.keys = append(p.keys, r)
	}
	p.resolve(planOf)
	return p
}

// judge asks whether the key is blocked by the pool.
func (t *trial) judge(p *pool, row *trialRow, m trialModel) (e Effect, blocks bool) {
	if p == nil || p.doc.Mode != plans.Enforce {
		return e, false
	}
	rules := &t.x.settings.doc
	r := reader{s: &t.x.State, p: p, key: row.ref, model: m.ref, name: m.name, ttl: rules.SignalTTLMs()}
	allocation := p.resolved.Allocation(row.key)
	if allocation >= 0 && allocation == p.others {
		r.others = &t.rest
	}
	t.facts.Gather(&fairshare.Question{
		Pool: p.resolved, Allocation: allocation, Connection: fairshare.AnyConnection, APIKeyID: row.key, Model: m.name,
		Threshold: rules.SaturationThreshold(), SoftFactor: rules.SoftDeprioritizeFactor(),
	}, &r, t.now)
	d := t.facts.Decide(t.now)
	if !d.Reason.Blocks() {
		return e, false
	}
	e = Effect{PoolID: p.doc.ID, APIKeyID: row.key, Reason: d.Reason.String(), RetryAfterMs: d.RetryMs}
	if u, w, model, ok := t.facts.Binding(d.Verdict); ok {
		e.Binding, e.HasBinding = questions.Binding{Unit: u, Window: w, Model: model}, true
	}
	return e, true
}
