package model

import (
	"reflect"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// How long, in log time, ids of events and of settled requests are remembered,
// and how far an event may lie ahead of the broker, in milliseconds.
const (
	horizon    int64 = 7 * 24 * 3_600_000
	afterwards int64 = 3_600_000
	ahead      int64 = 120_000
)

// Entry is one message of the log, and what its publisher meant by it. One that
// cannot be understood means nothing and still has its time.
type Entry struct {
	Time   int64 // the broker's timestamp, epoch ms
	Events []events.Event
	Config *Config // nil = not configuration
}

// Config is one configuration document.
type Config struct {
	Pool       string      // the id of a pool that is put or deleted, "" = none
	PutPool    *plans.Pool // nil = it is deleted
	Connection string      // whose plan is put or deleted, "" = none
	PutPlan    []plans.Dimension
	HasPlan    bool // else it is deleted
	Settings   *Settings
}

// Settings are the settings that a decision depends on.
type Settings struct {
	Threshold, SoftFactor quota.Ratio
	SignalTTLMs           int64
}

// DefaultSettings returns the settings when nobody set any.
func DefaultSettings() Settings { return Settings{500_000, 700_000, 30_000} }

// Model is what the messages folded so far mean.
type Model struct {
	Time     int64 // log time
	Pools    map[string]*plans.Pool
	plans    map[string][]plans.Dimension // by connection, set by hand
	settings Settings

	uses    map[string][]use // by connection, as they came
	taken   map[eventName]taken
	holds   map[requestName]*hold
	settled map[requestName]int64 // log time of the consumption that began the hour
	gauges  map[gaugeName]*gauge
}

// New returns the model of an empty log.
func New() *Model {
	return &Model{
		Pools: make(map[string]*plans.Pool), plans: make(map[string][]plans.Dimension), settings: DefaultSettings(),
		uses: make(map[string][]use), taken: make(map[eventName]taken),
		holds: make(map[requestName]*hold), settled: make(map[requestName]int64), gauges: make(map[gaugeName]*gauge),
	}
}

type use struct {
	key, model string
	at         int64
	cost       quota.Amounts
	priced     bool
}

type eventName struct {
	kind events.Kind
	id   string
}

type taken struct {
	event events.Event
	at    int64 // log time
}

type requestName struct{ key, request string }

type hold struct {
	key, connection, model string
	amounts                quota.Amounts
	end, lease             int64
}

// Fate is what became of a hold event.
type Fate uint8

// The fates. Copied is an event whose id came before; it is not judged.
const (
	Opened Fate = iota
	Replaced
	Refused
	RefusedAndLost // it would have replaced one, which is gone now
	Late           // allowed after it was settled: nothing is held
	LateRefused
	Copied
)

// Ruling is what the fold must say to the hold event at one place of a message.
type Ruling struct {
	Index    int
	Question Question
	Verdict  Verdict
	Fate     Fate
	Moved    bool // replaced, to another connection

	Alternatives []string // as the fold must name them
	Others       bool     // the key has no allocation of its own, and all others have one
	AboveLimit   bool     // the estimate is more than a limit of the pool
}

// Held reports whether the hold is open after the ruling.
func (r *Ruling) Held() bool { return r.Fate == Opened || r.Fate == Replaced }

// Outcome is what a message did beside its rulings.
type Outcome struct {
	Rulings   []Ruling
	Expired   int
	Settled   int // holds ended by a consumption
	Elsewhere int // of these, by one on another connection
	Early     int // consumption of a request that has no hold (yet)
	Lowered   int // holds that a partial consumption lowered and renewed
	Released  int
	Idle      int // releases of what is not held
	Copied    int // events seen before
	Conflicts int
	Rejected  bool // configuration that is not taken
	Adopted   int  // open holds on connections that a put brought into a pool
	Orphaned  int  // open holds whose pool was deleted
}

// Fold takes in the next message.
func (m *Model) Fold(e *Entry) (o Outcome) {
	m.Time = max(m.Time, e.Time)
	for name, h := range m.holds {
		if m.Time >= h.end {
			delete(m.holds, name)
			o.Expired++
		}
	}
	if e.Config != nil {
		m.configure(e.Config, &o)
	}
	for i := range e.Events {
		m.fold(e, i, &o)
	}
	return o
}

func (m *Model) fold(e *Entry, i int, o *Outcome) {
	event := &e.Events[i]
	name := eventName{event.Kind, event.ID}
	if old, ok := m.taken[name]; ok && event.ID != "" && m.Time-old.at < horizon {
		if reflect.DeepEqual(old.event, *event) {
			o.Copied++
		} else {
			o.Conflicts++
		}
		if event.Kind == events.Hold {
			o.Rulings = append(o.Rulings, Ruling{Index: i, Fate: Copied})
		}
		return
	}
	m.taken[name] = taken{*event, m.Time}
	switch event.Kind {
	case events.Consumption, events.Adjustment:
		m.consume(event, e.Time, o)
	case events.Release:
		m.release(event, o)
	case events.Hold:
		o.Rulings = append(o.Rulings, m.rule(event, i))
	case events.Saturation:
		m.hear(event, e.Time)
	}
}

// amountsOf returns what the event is about, one request where it names none.
func amountsOf(e *events.Event) quota.Amounts {
	a := e.Cost
	whole := e.Kind == events.Hold || e.Kind == events.Consumption && !e.Partial
	if e.Given&1 == 0 && whole {
		a[quota.Requests] = 1000
	}
	return a
}

// placed returns where on the time line an event stands.
func placed(said, broker int64) int64 {
	if said == 0 || said > broker+ahead {
		return broker
	}
	return said
}

func (m *Model) consume(e *events.Event, broker int64, o *Outcome) {
	cost := amountsOf(e)
	x := use{e.APIKeyID, e.Model, placed(e.Time, broker), cost, e.Given&(1<<quota.USD) != 0}
	m.uses[e.ConnectionID] = append(m.uses[e.ConnectionID], x)
	for name, g := range m.gauges {
		if e.Kind == events.Consumption && name.connection == e.ConnectionID && name.scope == "" {
			g.use(x)
		}
	}
	if e.Kind == events.Adjustment || e.RequestID == "" {
		return
	}
	name := requestName{e.APIKeyID, e.RequestID}
	h := m.holds[name]
	if e.Partial {
		if h != nil {
			h.lower(cost)
			h.end = m.Time + h.lease
			o.Lowered++
		}
		return
	}
	// The hour begins with the first consumption; another within it does not begin
	// it anew.
	if at, known := m.settled[name]; !known || m.Time-at >= afterwards {
		m.settled[name] = m.Time
	}
	if h == nil {
		o.Early++
		return
	}
	o.Settled++
	if h.connection != e.ConnectionID {
		o.Elsewhere++
	}
	delete(m.holds, name)
}

func (h *hold) lower(cost quota.Amounts) {
	for u := range h.amounts {
		h.amounts[u] = max(0, h.amounts[u]-cost[u])
	}
}

func (m *Model) release(e *events.Event, o *Outcome) {
	name := requestName{e.APIKeyID, e.RequestID}
	if m.holds[name] == nil {
		o.Idle++
		return
	}
	o.Released++
	delete(m.holds, name)
}

// ConnectionOf returns the connection that a hold event is about. Of several none is
// chosen here: who offers one leaves no choice.
func ConnectionOf(e *events.Event) string {
	if len(e.Candidates) == 1 {
		return e.Candidates[0].ConnectionID
	}
	return e.ConnectionID
}

// rule judges a hold event without the hold that it would replace.
func (m *Model) rule(e *events.Event, index int) Ruling {
	name := requestName{e.APIKeyID, e.RequestID}
	connection, old := ConnectionOf(e), m.holds[name]
	delete(m.holds, name)
	q := Question{Key: e.APIKeyID, Request: e.RequestID, Connection: connection, Model: e.Model, Estimate: amountsOf(e), Reserve: true}
	r := Ruling{Index: index, Question: q, Verdict: m.Judge(&q, m.Time), Alternatives: m.Alternatives(&q, m.Time)}
	r.Others, r.AboveLimit = m.oddities(&q)
	at, known := m.settled[name]
	late := known && m.Time-at < afterwards
	switch allowed := r.Verdict.Allowed(); {
	case late && allowed:
		r.Fate = Late
	case late:
		r.Fate = LateRefused
	case !allowed && old != nil:
		r.Fate = RefusedAndLost
	case !allowed:
		r.Fate = Refused
	default:
		m.holds[name] = &hold{e.APIKeyID, connection, e.Model, q.Estimate, m.Time + e.LeaseMs, e.LeaseMs}
		if old != nil {
			r.Fate, r.Moved = Replaced, old.connection != connection
		}
	}
	return r
}

// oddities tell what is special about a question, for those who count.
func (m *Model) oddities(q *Question) (others, aboveLimit bool) {
	p := m.PoolOf(q.Connection)
	if p == nil {
		return false, false
	}
	others = allocationOf(p, q.Key) >= 0 && !listed(p, q.Key)
	for _, l := range m.Lines(q, m.Time) {
		aboveLimit = aboveLimit || l.Limit > 0 && q.Estimate[l.Unit] > l.Limit
	}
	return others, aboveLimit
}

// Open returns the number of open holds.
func (m *Model) Open() int { return len(m.holds) }

// HoldOpen reports whether the request is held.
func (m *Model) HoldOpen(key, request string) bool { return m.holds[requestName{key, request}] != nil }

func (m *Model) configure(c *Config, o *Outcome) {
	switch {
	case c.Settings != nil:
		m.settings = *c.Settings
	case c.Connection != "" && c.HasPlan:
		m.plans[c.Connection] = c.PutPlan
	case c.Connection != "":
		delete(m.plans, c.Connection)
	case c.PutPool == nil:
		o.Orphaned = m.inFlight(m.Pools[c.Pool])
		delete(m.Pools, c.Pool)
	default:
		for id, other := range m.Pools {
			if id != c.Pool && meet(other, c.PutPool) {
				o.Rejected = true
				return
			}
		}
		if m.Pools[c.Pool] == nil {
			o.Adopted = m.inFlight(c.PutPool)
		}
		m.Pools[c.Pool] = c.PutPool
	}
}

func meet(a, b *plans.Pool) bool {
	for _, x := range a.Connections {
		for _, y := range b.Connections {
			if x.ConnectionID == y.ConnectionID {
				return true
			}
		}
	}
	return false
}

// inFlight counts the open holds on the connections of a pool.
func (m *Model) inFlight(p *plans.Pool) (n int) {
	if p == nil {
		return 0
	}
	for _, h := range m.holds {
		if placeOf(p, h.connection) >= 0 {
			n++
		}
	}
	return n
}

// placeOf returns the place of a connection in the pool, -1 = it is not there.
func placeOf(p *plans.Pool, connection string) int {
	for i, c := range p.Connections {
		if c.ConnectionID == connection {
			return i
		}
	}
	return -1
}

// PoolOf returns the pool of a connection, nil = it is in none.
func (m *Model) PoolOf(connection string) *plans.Pool {
	for _, p := range m.Pools {
		if placeOf(p, connection) >= 0 {
			return p
		}
	}
	return nil
}
