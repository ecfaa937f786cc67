package projector

import (
	"slices"
	"strings"
	"sync"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/wire"
)

// RulesVersion names the way this program folds. A program that would fold the
// same log into another state has another version, and a store of another
// version is rebuilt from the log.
const RulesVersion = 6

// State is what the log folds into. One goroutine changes it (Apply, Cut);
// others read it through its View.
type State struct {
	mu sync.RWMutex // held for writing while readers could see a change

	pos     Position
	logTime int64 // newest broker timestamp folded, epoch ms
	counts  Counts

	conns    *interner
	connInfo arena[connection] // by ref
	names    *interner         // keys, models, providers

	counters *counters
	pools    map[string]*pool
	poolList []*pool // the same in the byte order of their ids: they are listed more often than changed
	poolAt   []*pool // connection.pool - 1; nil = free
	plans    map[ref]planEntry
	settings settings
	verdicts verdicts
	minutes  minutes
	meters   meters
	holds    *holds
	maxHolds int // MaxHolds, but in tests
	routes   routes
	expected expected
	// Locals are counted beside the state's holds by who asks, and never by the fold;
	// nil = none. Set before the first message is folded.
	Locals *Locals
	// OnJudged, when set, is given the expected holds that were judged together, once
	// they can be read. It must not block, and keeps nothing of the list.
	OnJudged func([]*Expected)
	// OnConsumption, when set, is given each consumption before it is counted, and says
	// whether it is. It is called by the fold, with the state as it is there, and must
	// not call it. No engine sets it: what it leaves out, no other state lacks.
	OnConsumption func(*Arrival) (counts bool, err error)
	// OnAdjustment, when set, is given each adjustment before it is counted, in the same
	// way.
	OnAdjustment func(*Arrival)
	// lastConfig is the sequence of the newest message under quota.config.>,
	// folded or rejected: the next one must follow it.
	lastConfig uint64

	// Below is the fold's own; readers never look at it.
	last       events.Message // at pos; its hash is computed when it is cut
	dedup      *dedup
	settled    *dedup                // requests whose consumption came
	cutting    sync.Mutex            // held while settled is cut, and by who reads it beside the fold
	folding    uint64                // sequence of the message that is folded
	judging    Asked                 // scratch
	judged     []*Expected           // by the run under way
	historyAt  map[historyKey]uint32 // places in minutes.fresh
	rowsFrom   int64                 // day; minute rows of those before it are deleted by the next cut, 0 = none
	newIDs     [2]ref                // by table: ids up to here are written
	commits    commits               // of the store, with the one that was cut last
	dirtyConns []ref
	dirtyConf  map[confKey]struct{}
	rejected   []rejection // not written yet
	keyBuf     []byte
	valBuf     []byte
}

// connection is what is known of one connection; pointer-free.
type connection struct {
	provider ref    // in names; of the newest event that named one
	total    uint32 // pair of the total over all keys, + 1; 0 = none
	pool     int32  // place in poolAt + 1; 0 = in no pool
	place    int32  // in the pool's connections
	changed  int64  // log time of the last change of its record; 0 = in no event yet
	meters   uint32 // place in meters.byConn + 1; 0 = none
	dirty    bool
}

// seen reports whether an event named the connection. One that only a document
// named has a ref and no record.
func (c *connection) seen() bool { return c.changed != 0 }

// pool is a pool in force, made ready for decisions.
type pool struct {
	origin
	doc      *plans.Pool
	resolved *plans.Resolved
	warnings wire.Faults
	at       int32 // place in poolAt
	conns    []ref // in pool order
	alloc    map[ref]int
	listed   []ref // keys with an allocation of their own, in a draft without those never seen
	keys     []ref // by allocation; 0 = quota.AllOthers, or in a draft a key never seen
	others   int   // allocation of quota.AllOthers; -1 = none
	places   bool  // a connection of it takes so many at a time
	lane     *lane // nil in a draft
}

type planEntry struct {
	origin
	dimensions []plans.Dimension
}

type settings struct {
	origin
	doc plans.Settings
}

// origin is where a document in force comes from.
type origin struct {
	revision   uint64 // stream sequence of its last event
	time       int64  // the broker's timestamp of that event, epoch ms
	actor, why string // who changed it and for what reason, as they say
}

func (o *origin) stamp() plans.Stamp {
	return plans.Stamp{Revision: o.revision, UpdatedAt: o.time, Actor: o.actor, Reason: o.why}
}

func originOf(m *events.Message, e *events.Event) origin {
	return origin{revision: m.Seq, time: m.Time, actor: strings.Clone(e.Actor), why: strings.Clone(e.Why)}
}

// confKey names a configuration document by its record's tag and id.
type confKey struct {
	tag byte
	id  string
}

// rejection is a rejected event that QUOTA_REJECTED does not have yet.
type rejection struct {
	seq   uint64
	index int
	value []byte
}

// Counts count what became of the events of the log. They survive restarts
// but are no part of the digest: redelivery changes them.
type Counts struct {
	Messages   uint64 // messages applied
	Folded     uint64 // events folded
	Duplicates uint64 // events with an id and content seen before
	Late       uint64 // folded events that some window was too far ahead for
	Clamped    uint64 // folded events from too far in the future
	Rejected   uint64 // events that could not be folded
	FarResets  uint64 // readings whose reset was too far ahead to be one
	Holds      HoldCounts
	ByReason   [len(Reasons)]uint64
	ByOutcome  [numOutcomes]uint64   // readings, by what they were taken for: saturation.Outcome
	ByProblem  [len(Problems)]uint64 // headers of responses that could not be read
}

// HoldCounts count what became of holds. Each that was opened ends as one of
// settled, released, expired, replaced and withdrawn, or is open still. Each that
// waited was granted, which opens it, timed out or left, or waits still.
type HoldCounts struct {
	Opened    uint64
	Settled   uint64 // their consumption came
	Released  uint64 // given up
	Expired   uint64 // their lease ended
	Replaced  uint64 // by another hold of the same request
	Withdrawn uint64 // another hold of the same request was refused
	Refused   uint64 // events judged as a block, also by a pool that only observes when there is no room
	Late      uint64 // events of requests that were settled before: judged, and not held
	Waited    uint64 // let into a backlog
	Granted   uint64 // from a backlog
	TimedOut  uint64 // nothing was free in the time that they had
	Left      uint64 // given up while they waited, asked for anew, or of a pool that was deleted
}

func (c *HoldCounts) all() []*uint64 {
	return []*uint64{&c.Opened, &c.Settled, &c.Released, &c.Expired, &c.Replaced, &c.Withdrawn, &c.Refused, &c.Late, &c.Waited, &c.Granted, &c.TimedOut, &c.Left}
}

// all returns the counts in the order in which they are stored.
func (c *Counts) all() []*uint64 {
	list := []*uint64{&c.Messages, &c.Folded, &c.Duplicates, &c.Late, &c.Clamped, &c.Rejected, &c.FarResets}
	list = append(list, c.Holds.all()...)
	for _, more := range [...][]uint64{c.ByReason[:], c.ByOutcome[:], c.ByProblem[:]} {
		for i := range more {
			list = append(list, &more[i])
		}
	}
	return list
}

// Reasons are the reasons of rejection in the order of Counts.ByReason.
var Reasons = [...]events.Reason{
	events.Undecodable, events.Invalid, events.IDConflict, events.OverflowReason,
	events.UnknownSubject, events.TTLNotAllowed, events.ConfigUnmarked, events.ConfigInvalid,
}

// NewState returns the empty state, whose de-dup entries come from store.
func NewState(store Reader) *State {
	s := &State{
		conns:     newInterner(),
		names:     newInterner(),
		counters:  newCounters(),
		pools:     make(map[string]*pool),
		plans:     make(map[ref]planEntry),
		settings:  settings{doc: plans.DefaultSettings()},
		dedup:     newDedup(store),
		settled:   newSettled(store),
		holds:     newHolds(),
		maxHolds:  MaxHolds,
		routes:    newRoutes(),
		historyAt: make(map[historyKey]uint32),
		dirtyConf: make(map[confKey]struct{}),
	}
	s.connInfo.add() // place 0 is no connection
	return s
}

// connRef gives the connection a ref and a place in connInfo.
func (s *State) connRef(id string) ref {
	r := s.conns.intern(id)
	for s.connInfo.n <= uint32(r) {
		s.connInfo.add()
	}
	return r
}

func (s *State) conn(r ref) *connection { return s.connInfo.at(uint32(r)) }

// findPool returns where in poolList the pool of that id is or belongs.
func (s *State) findPool(id string) (at int, found bool) {
	return slices.BinarySearchFunc(s.poolList, id, func(p *pool, id string) int { return strings.Compare(p.doc.ID, id) })
}
