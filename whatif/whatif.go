// Package whatif is what a history would have been under other rules: the rules that
// are tried, and what came of them beside what was. Others find it out; this package
// has the form of it.
//
// Two sides are told apart everywhere: Before is the history under the rules that were
// in force, After is the same history under those that are tried.
package whatif

import (
	"maps"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Trial is what is tried, and on which part of the history.
type Trial struct {
	Pools   []*plans.Pool
	Without []string // ids of pools that are deleted
	Rules   []Rule
	Plans   []Plan
	// Settings is an object of values by name, null for the default; the zero Value =
	// none change.
	Settings wire.Value
	From, To Place // the zero Place = the last day of the log
	// Warnings are what in the documents means nothing.
	Warnings wire.Faults
}

// Plan is the plan of a connection set by hand.
type Plan struct {
	ConnectionID string
	Dimensions   []plans.Dimension
	Delete       bool // back to the catalogue
}

// Rule is a pool that shares in another way: its documents of the history stay in all
// else, those that come in the range too.
type Rule struct {
	PoolID     string
	Rule       plans.Rule
	HasRule    bool  // else it keeps its rule
	Reserve    int64 // percent, 0..400
	HasReserve bool  // else it keeps its reserve
}

// On returns the pool as it is tried. What the pool has, the copy shares with it.
func (r *Rule) On(p *plans.Pool) *plans.Pool {
	tried := *p
	if r.HasRule {
		tried.Rule = r.Rule
	}
	if r.HasReserve {
		tried.Reserve = r.Reserve
	}
	return &tried
}

// Place is a place in the log: the message of a sequence, or the last one that the
// broker had at a time.
type Place struct {
	Seq  uint64
	Time int64 // epoch ms; counts when Seq is 0
}

// IsZero reports whether it names no place.
func (p Place) IsZero() bool { return p == Place{} }

// Sides are the two that are compared.
const (
	Before = iota
	After
	NumSides
)

// Side is what one side decided for a key, and let it consume.
type Side struct {
	Allowed       int64
	Blocked       int64 // in a pool that observes: would have been
	WouldBlock    int64 // of the blocked, those that only an observing pool saw
	Deprioritized int64 // of the allowed
	Served        quota.Amounts
	Reasons       map[string]int64 // of the blocked
}

// Row is a key on both sides.
type Row struct {
	APIKeyID string
	Sides    [NumSides]Side
	// NewlyBlocked are the decisions that let pass before and block after, and
	// NewlyAllowed the other way round.
	NewlyBlocked, NewlyAllowed int64
}

// Capacity is a dimension of a pool on one side: what of its limit nobody used.
//
// It is counted by the window's buckets, in those in which somebody asked for the
// connection of the pool: the total at the end of a bucket is exactly what was
// consumed in it. So Unused is the sum over the buckets of
//
//	max(0, limit − total at the bucket's end)
//
// and a bucket that the range ends in counts as it stands then. Buckets in which nobody
// asked would be unused under any rules, and are left out on both sides.
//
// What is left unused is no loss unless somebody was turned away for it. Withheld is the
// part of it in the buckets in which this dimension blocked somebody: what the rule kept
// from being used. Most of it nobody may have asked for, so Wanted is at most what was:
// the sum over those buckets of
//
//	min(unused, Σ what this dimension blocked in it)
//
// A request that gives its id is one, however often it asks, and none when it is served in
// the same bucket later; without an id each question is a request. One without an estimate
// asks for nothing, and is why Withheld stands beside Wanted.
type Capacity struct {
	Buckets  int64        // how many there were
	Limit    quota.Amount // sum of the limits at the buckets' ends, 0 = unknown in all
	Used     quota.Amount // sum of the totals where the limit was known
	Unused   quota.Amount
	Withheld quota.Amount // of Unused
	Wanted   quota.Amount // of Withheld
}

// Pool is a dimension of a pool on both sides; a side that has not got it is zero.
type Pool struct {
	PoolID string
	Unit   quota.Unit
	Window quota.Window
	Sides  [NumSides]Capacity
}

// Report is what came of a trial.
type Report struct {
	From, To     uint64 // sequences of the first and the last message
	FromAt, ToAt int64  // broker's timestamps there, epoch ms; 0 = not known
	Rows         []Row  // by key
	Pools        []Pool // by pool, unit and window
	Asked        Asked
	Replay       Replay
	Notes        []string // what a reader should know, in sentences
}

// Asked counts what was judged on each side.
type Asked struct {
	Consumptions int64 // that had no hold
	Holds        int64
	Blocks       int64 // recorded, each of several equal ones
	// Degraded are recorded blocks that no rule gave: they are left out.
	Degraded int64
	// Unlike are recorded blocks that the rules in force let pass where they were
	// answered: what a decider knew and the log does not, decided them.
	Unlike int64
	// Waiting are holds that waited for a connection when the range ended, by side.
	Waiting [NumSides]int64
}

// Replay says what the state at the beginning was made of.
type Replay struct {
	Snapshot                  uint64 // sequence of the snapshot, 0 = from the first message
	Missing                   uint64 // messages that the log did not have any more
	MissingFirst, MissingLast uint64
}

// Differs reports whether anything is not the same on both sides.
func (r *Row) Differs() bool {
	before, after := &r.Sides[Before], &r.Sides[After]
	return r.NewlyBlocked+r.NewlyAllowed > 0 || before.Served != after.Served || before.Allowed != after.Allowed ||
		before.Blocked != after.Blocked || before.WouldBlock != after.WouldBlock || before.Deprioritized != after.Deprioritized ||
		!maps.Equal(before.Reasons, after.Reasons)
}

// Total returns the sum of all rows.
func (r *Report) Total() (t Row) {
	for i := range r.Rows {
		t.add(&r.Rows[i])
	}
	return t
}

// Units are those that something was served of, on either side of any row.
func (r *Report) Units() (list []quota.Unit) {
	t := r.Total()
	for u := range quota.Unit(quota.NumUnits) {
		if t.Sides[Before].Served[u] != 0 || t.Sides[After].Served[u] != 0 {
			list = append(list, u)
		}
	}
	return list
}

func (t *Row) add(r *Row) {
	t.NewlyBlocked += r.NewlyBlocked
	t.NewlyAllowed += r.NewlyAllowed
	for i := range r.Sides {
		t.Sides[i].add(&r.Sides[i])
	}
}

func (s *Side) add(o *Side) {
	s.Allowed += o.Allowed
	s.Blocked += o.Blocked
	s.WouldBlock += o.WouldBlock
	s.Deprioritized += o.Deprioritized
	s.Serve(&o.Served)
	for reason, n := range o.Reasons {
		s.block(reason, n)
	}
}

// Serve counts what was consumed.
func (s *Side) Serve(cost *quota.Amounts) {
	for u, a := range cost {
		s.Served[u] = quota.AddSat(s.Served[u], a)
	}
}

func (s *Side) block(reason string, n int64) {
	if s.Reasons == nil {
		s.Reasons = make(map[string]int64)
	}
	s.Reasons[reason] += n
}

// Decision is one decision, as far as a row counts it.
type Decision struct {
	Block        bool // also one that only an observing pool saw
	Passes       bool // the answer let pass
	Deprioritize bool
	Reason       string
}

// Count counts n equal decisions.
func (s *Side) Count(d *Decision, n int64) {
	switch {
	case d.Block:
		s.Blocked += n
		if d.Passes {
			s.WouldBlock += n
		}
		s.block(d.Reason, n)
	default:
		s.Allowed += n
		if d.Deprioritize {
			s.Deprioritized += n
		}
	}
}

// Differ counts n decisions that were the one before and the other after.
func (r *Row) Differ(before, after *Decision, n int64) {
	switch {
	case !before.Block && after.Block:
		r.NewlyBlocked += n
	case before.Block && !after.Block:
		r.NewlyAllowed += n
	}
}
