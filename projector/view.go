package projector

import (
	"strings"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
	"github.com/quotashare/quotashare/windows"
	"github.com/quotashare/quotashare/wire"
)

// The methods in this file are for readers: they may be called from any
// goroutine while the fold goes on, and return nothing that it will change.

// At returns the sequence of the last message folded and the log time.
func (s *State) At() (seq uint64, logTime int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.pos.Seq, s.logTime
}

// Counts returns what became of the events so far.
func (s *State) Counts() Counts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.counts
}

// Settings returns the settings in force.
func (s *State) Settings() plans.Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.settings.doc
}

// SettingsAt returns the settings in force and where they come from.
func (s *State) SettingsAt() (plans.Settings, plans.Stamp) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.settings.doc, s.settings.stamp()
}

// Verdict returns what became of a configuration message. It is known for the
// newest 256 of them, and for those that were refused until the store has that.
func (s *State) Verdict(seq uint64) Verdict {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.verdicts.get(seq)
}

// LastConfig returns the sequence of the newest configuration message folded.
func (s *State) LastConfig() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.lastConfig
}

// Position returns the position of the last message folded. Its hash is that
// of the last cut. For the one that folds.
func (s *State) Position() Position { return s.pos }

// Pool is a pool document in force. The document is not changed any more.
type Pool struct {
	Doc *plans.Pool
	plans.Stamp
	Enforcing bool // some limit of it is known, or at log time some reading
	Warnings  wire.Faults
}

func (s *State) poolView(p *pool) Pool {
	return Pool{Doc: p.doc, Stamp: p.stamp(), Enforcing: s.enforces(p, s.logTime), Warnings: p.warnings}
}

// Regard returns the view that a document would have under the plans in force,
// but for that of the draft, if there is one.
func (s *State) Regard(doc *plans.Pool, d *Draft) Pool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.poolView(s.draft(doc, s.planWith(d)))
}

// Pools returns the pools in force, by id.
func (s *State) Pools() []Pool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]Pool, len(s.poolList))
	for i, p := range s.poolList {
		list[i] = s.poolView(p)
	}
	return list
}

// Pool returns the pool of that id.
func (s *State) Pool(id string) (Pool, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, ok := s.pools[id]
	if !ok {
		return Pool{}, false
	}
	return s.poolView(p), true
}

// Plans returns a page of the plans of all connections known, by their ids, and
// how many there are in all.
func (s *State) Plans(offset, limit int) (list []plans.PlanView, total int) {
	known := s.Connections()
	total = len(known)
	for _, c := range known[min(offset, total):min(offset+limit, total)] {
		list = append(list, s.Plan(c.ID))
	}
	return list, total
}

// Plan returns the plan in force of the connection, seen before or not.
func (s *State) Plan(connectionID string) plans.PlanView {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.planView(connectionID, s.planWith(nil))
}

// RegardPlan returns the view that the plan of the draft would have in force. It
// comes with the warnings of the connection's pool too, for that is what a plan
// matters to.
func (s *State) RegardPlan(d *Draft) plans.PlanView {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v := s.planView(d.ConnectionID, s.planWith(d))
	if p := s.pools[v.Pool]; p != nil {
		for _, f := range s.draft(p.doc, s.planWith(d)).warnings {
			v.Warnings.Add("pool."+f.Field, f.Problem)
		}
	}
	return v
}

func (s *State) planView(connectionID string, planOf func(connectionID, provider string) plans.Plan) plans.PlanView {
	v := plans.PlanView{ConnectionID: connectionID}
	r := s.conns.find(connectionID)
	if r != 0 {
		v.Provider = s.providerOf(r)
		manual := s.plans[r]
		v.Stamp = manual.stamp()
		if at := s.conn(r).pool; at != 0 {
			v.Pool = s.poolAt[at-1].doc.ID
		}
	}
	v.Plan = planOf(connectionID, v.Provider)
	v.Warnings = plans.PlanWarnings(v.Plan.Dimensions)
	if v.Pool == "" && (r == 0 || !s.conn(r).seen()) {
		v.Warnings.Add("connectionId", "is in no pool, and no event has named it: look whether it is spelt as its gateway spells it")
	}
	return v
}

// providerOf is that of the connection's pool, else that of its newest event.
func (s *State) providerOf(r ref) string {
	if at := s.conn(r).pool; at != 0 {
		return s.poolAt[at-1].doc.Provider
	}
	return s.names.id(s.conn(r).provider)
}

// Asked is one question with everything its answer depends on, gathered from
// one state. It is scratch: reused, and for one goroutine at a time.
type Asked struct {
	Facts fairshare.Facts
	// Pool is the document in force, nil when the connection is in none.
	Pool *plans.Pool
	// Now is the instant to judge at: the question's, else the later of the
	// asker's clock and the log time.
	Now int64
	// MaxLagMs is how old the state may be before an answer says so.
	MaxLagMs int64
	// HoldTTLMs is the lease of a hold that names none.
	HoldTTLMs int64
	// SampleRate is the part of the allowed answers that is recorded.
	SampleRate quota.Ratio
	// HeldLater is set when a hold was taken, or renewed, after the time that the
	// question asks for, or a counter was collected that weighed then: what there was
	// is gone.
	HeldLater bool
	// UnknownPool is set when the question names a pool that there is not.
	UnknownPool bool
	// FreeAt is, when the question lacks only a place on its connection and others
	// wait for one, the first instant at which there is one that nobody waits for,
	// epoch ms; routing.Never when time alone brings none, 0 when that is not why.
	FreeAt      int64
	reader      reader
	places      []int64 // when each connection of the pool has one, as fairshare.Question says
	verdictOnly bool    // nobody wants to know when a block ends
	locals      *Locals // nil = none count, as at a hold's place in the log
	roomIsKept  bool    // for the hold, for it waits
	notBefore   int64   // it cannot be held before
	traffic     traffic // of an explained one
	// Of the first question: shared by all of one Gather.
	unlisted   unlisted
	attributed attributed
	queue      queue
}

// Gather takes in what the questions depend on, all from one state, whose
// sequence and log time it returns. clock is the caller's time. For a question to
// be explained that has what all keys together caused, see attributed.
func (s *State) Gather(qs []questions.Question, clock int64, into []Asked) (seq uint64, logTime int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := max(clock, s.logTime)
	locals := s.Locals.read(now)
	defer locals.readDone()
	for i := range qs {
		into[i].begin(s, now, locals)
		if qs[i].At != 0 {
			into[i].Now = qs[i].At
		}
		var request idHash
		if qs[i].Reserve {
			request = requestOf(qs[i].APIKeyID, qs[i].RequestID)
		}
		s.gather(&qs[i], &into[i], &into[0], request)
		s.lookAhead(&qs[i], &into[i])
	}
	if len(into) > 0 {
		into[0].forgetShared()
	}
	return s.pos.Seq, s.logTime
}

// begin makes it ready for a question at an instant.
func (a *Asked) begin(s *State, now int64, locals *Locals) {
	rules := &s.settings.doc
	a.Now, a.HoldTTLMs, a.MaxLagMs, a.SampleRate = now, rules.HoldTTLMs(), rules.MaxLagMs(), rules.DecisionSampleRate()
	a.locals, a.verdictOnly, a.roomIsKept, a.notBefore, a.FreeAt = locals, false, false, 0, 0
}

// CountsLocals reports whether there are holds that the log does not have, which
// count if they are on the pool's connections.
func (a *Asked) CountsLocals() bool { return a.locals != nil }

// forgetShared forgets what is good for one state only.
func (a *Asked) forgetShared() {
	a.unlisted.pool, a.attributed, a.queue = nil, attributed{}, queue{}
}

// gather takes in what one question depends on. Of one that reserves, the open
// hold of the request is not counted.
func (s *State) gather(q *questions.Question, a, first *Asked, request idHash) {
	p, conn := s.asked(q)
	a.UnknownPool = p == nil && q.Pool != ""
	a.reader = reader{s: s, p: p, key: s.names.find(q.APIKeyID), ttl: s.settings.doc.SignalTTLMs(), peer: a.reader.peer}
	if q.Reserve {
		a.reader.without = s.holds.byID[request]
	}
	allocation := -1
	if p != nil {
		if i, ok := p.alloc[a.reader.key]; ok {
			allocation = i
		} else {
			allocation = p.others
			if p.others >= 0 {
				a.reader.others = &first.unlisted
			}
		}
	}
	if q.Explain {
		a.reader.attributed, a.reader.serving = &first.attributed, conn
	}
	a.reader.locals, a.reader.asker, a.reader.request = a.locals, q.APIKeyID, request
	s.gatherFacts(q, a, conn, allocation)
	if q.Explain && p != nil {
		a.gatherTraffic(first, conn)
	}
}

// gatherFacts takes in what the question depends on; the reader says whose.
func (s *State) gatherFacts(q *questions.Question, a *Asked, conn, allocation int) {
	f := fairshare.Question{
		Allocation: allocation, Connection: conn, APIKeyID: q.APIKeyID, Model: q.Model, Estimate: q.Estimate,
		Threshold:  s.settings.doc.SaturationThreshold(),
		SoftFactor: s.settings.doc.SoftDeprioritizeFactor(),
		Explain:    q.Explain,
		NoRetry:    a.verdictOnly,
		Brief:      !q.Explain,
	}
	if q.Reserve {
		a.gatherRoom(&f)
	}
	a.Pool = nil
	if p := a.reader.p; p != nil {
		a.Pool, f.Pool = p.doc, p.resolved
		if q.Model != "" {
			a.reader.model, a.reader.name = s.names.find(q.Model), q.Model
		}
	}
	a.HeldLater = q.At != 0 && q.At < s.logTime && (q.At < s.counters.idle.weighed || a.reader.heldAfter(q.At))
	a.Facts.Gather(&f, &a.reader, a.Now)
}

// gatherRoom takes in when there is room for a hold.
func (a *Asked) gatherRoom(f *fairshare.Question) {
	if !a.roomIsKept {
		f.RoomAt = a.reader.s.roomAt(a.reader.without)
	}
	f.NotBefore = a.notBefore
	if a.places = a.reader.places(a.places[:0], a.Now); len(a.places) > 0 {
		f.PlaceAt = a.places
	}
}

// asked returns the pool a question is about and the serving connection's
// place in it.
func (s *State) asked(q *questions.Question) (p *pool, conn int) {
	if q.Pool != "" {
		return s.pools[q.Pool], fairshare.AnyConnection
	}
	r := s.conns.find(q.ConnectionID)
	if r == 0 || s.conn(r).pool == 0 {
		return nil, fairshare.AnyConnection
	}
	return s.poolAt[s.conn(r).pool-1], int(s.conn(r).place)
}

// reader gives a question's facts from the state.
type reader struct {
	s     *State
	p     *pool
	key   ref // 0 = never seen: it has no counters
	model ref
	// without is the place of the hold that the question would replace; 0 = none.
	without uint32
	out     leftOut
	// locals are those that count beside the state's, for which the asker and the
	// request have their full names.
	locals  *Locals
	asker   string
	request idHash
	name    string    // of the model
	ttl     int64     // how long a signal stands, ms
	others  *unlisted // when the asker is one of the unlisted keys
	// What all keys caused on the connections that may answer; nil when nobody
	// wants to know.
	attributed *attributed
	serving    int // the connection asked for, or fairshare.AnyConnection
	// The asker's pair on the connection asked for last: one look-up serves
	// all dimensions of a pool with one connection.
	at    int
	mine  *pair
	known bool
	peer  *peer // another allocation's; nil until one is asked for
}

// peer reads as another allocation of the pool.
type peer struct {
	reader
	rest unlisted // when that is of the unlisted keys
}

// pairOf returns the pair of a key on one of the pool's connections. Where nobody
// used the connection, as many are of a pool of hundreds, it looks up nothing.
func (r *reader) pairOf(conn int, key, model ref) *pair {
	at := r.p.conns[conn]
	if key == 0 || r.s.conn(at).total == 0 {
		return nil // of key 0 it would be the total
	}
	return r.s.counters.find(pairKey{conn: at, key: key, model: model})
}

// Key implements fairshare.Counters.
func (r *reader) Key(conn int, u quota.Unit, w quota.Window) windows.Counter {
	if r.others != nil {
		return r.others.counter(r, conn, u, w)
	}
	if !r.known || r.at != conn {
		r.at, r.mine, r.known = conn, r.pairOf(conn, r.key, 0), true
	}
	return r.s.counters.get(r.mine, u, w)
}

// As implements fairshare.Counters. What an allocation reads is what a question of its
// key would, so there is nothing else to know of it.
func (r *reader) As(allocation int) fairshare.Counters {
	if r.peer == nil {
		r.peer = new(peer)
	}
	p, x := r.p, r.peer
	x.reader = reader{s: r.s, p: p, without: r.without, locals: r.locals, request: r.request, ttl: r.ttl, asker: p.doc.Allocations[allocation].APIKeyID}
	switch {
	case allocation != p.others:
		x.key = p.keys[allocation]
	case r.others != nil:
		x.others = r.others
	default:
		x.rest.pool = nil // it may be of another state
		x.others = &x.rest
	}
	return &x.reader
}

// Total implements fairshare.Counters.
func (r *reader) Total(conn int, u quota.Unit, w quota.Window) windows.Counter {
	total := r.s.conn(r.p.conns[conn]).total
	if total == 0 {
		return windows.Counter{}
	}
	return r.s.counters.get(r.s.counters.pairs.at(total-1), u, w)
}

// Model implements fairshare.Counters.
func (r *reader) Model(conn int, u quota.Unit) windows.Counter {
	if r.model == 0 {
		return windows.Counter{}
	}
	return r.s.counters.get(r.pairOf(conn, r.key, r.model), u, quota.Hourly)
}

// Reading implements fairshare.Counters.
func (r *reader) Reading(conn int, w quota.Window) fairshare.Reading {
	m := r.s.meterOf(r.p.conns[conn], w)
	if m == nil {
		return fairshare.Reading{}
	}
	x := fairshare.Reading{
		Current: fairshare.Level(m.Current(r.ttl)), Other: fairshare.Level(m.Remembered(r.ttl)),
		Part: m.Part(r.local(conn, m)), PartUntil: m.PartsUntil(), PartAt: m.Newest,
	}
	if r.attributed != nil && (r.serving == conn || r.serving == fairshare.AnyConnection) {
		x.Attributed = r.attributed.of(m)
	}
	return x
}

// local is what the asker used in the open cycle of a meter of that connection.
func (r *reader) local(conn int, m *meter) saturation.Usage {
	switch {
	case r.others != nil:
		return r.others.local(r, conn, m)
	case r.key == 0:
		return saturation.Usage{} // in an excerpt it would be that of all the rest
	}
	return m.Local(uint32(r.key))
}

// Scoped implements fairshare.Counters.
func (r *reader) Scoped(conn int, w quota.Window, dst []fairshare.Level) []fairshare.Level {
	for _, m := range r.s.metersOf(r.p.conns[conn]) {
		if m.window == w && m.scope != 0 && strings.Contains(strings.ToLower(r.name), m.id) {
			dst = append(dst, fairshare.Level(m.Current(r.ttl)), fairshare.Level(m.Remembered(r.ttl)))
		}
	}
	return dst
}
