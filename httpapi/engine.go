package httpapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/usage"
	"github.com/quotashare/quotashare/wire"
)

// Decider answers questions.
type Decider interface {
	// Decide answers qs[i] into rs[i], all from one state. What cannot be
	// answered has its Err set.
	Decide(ctx context.Context, qs []questions.Question, rs []questions.Reply)
	// Preview answers as Decide would, and leaves no trace: it holds nothing,
	// counts nothing and logs nothing. A question that reserves is judged as if it
	// took the place of its own hold.
	Preview(ctx context.Context, qs []questions.Question, rs []questions.Reply)
}

// State says how far the fold is.
type State struct {
	AppliedSeq, LastSeq uint64
	LagMs               int64  // age of the oldest message not yet folded, 0 = none
	Digest              string // "" = not asked for
	Counts              Counts
	ReplayFrom          int64      // the first instant whose state can be folded again, epoch ms; 0 = none
	Retention           *Retention // nil = there was no plan yet
}

// Retention is the last plan of what may be deleted, and what became of it.
type Retention struct {
	PlannedAt int64 // epoch ms
	Finished  bool  // all of it is done, or left to the process that does it for all
	Problem   string
	Kept      []KeptSnapshot // the newest first
	Steps     []RetentionStep
}

// KeptSnapshot is a snapshot that stays.
type KeptSnapshot struct {
	Seq     uint64
	LogTime int64 // epoch ms
	Why     string
}

// RetentionStep is one thing that is deleted. What an action does not need is 0.
type RetentionStep struct {
	Action string
	Seq    uint64
	Before int64 // epoch ms
	Why    string
}

// Counts say what became of the events of the log so far.
type Counts struct {
	Folded, Duplicates, Rejected uint64
	Late                         uint64 // folded, though too old for some window
	Clamped                      uint64 // folded, though from too far in the future
}

// Pool is a pool document as the fold has it.
type Pool struct {
	Doc *plans.Pool
	plans.Stamp
	Enforcing bool // some limit is known, or some reading
	Warnings  wire.Faults
}

// Settings are the settings in force.
type Settings struct {
	Values plans.Settings
	plans.Stamp
}

// Meta goes with a configuration event: who, why, and against which revision.
type Meta struct {
	Actor, Reason    string
	ExpectedRevision uint64
	IfMatch          bool // ExpectedRevision counts
	// Trial, when set, takes what the change would do. Then nothing is written, and
	// what the method returns is the document as it would be, under the revision
	// in force.
	Trial *Trial
}

// PoolChange makes the next document of a pool from the one in force, nil when
// there is none. An equal one means that there is nothing to write. It may be
// called again when somebody else wrote first, and changes nothing it is given.
type PoolChange func(now *plans.Pool) (next *plans.Pool, err error)

// Trial is what a change would do now.
type Trial struct {
	Blocked, Freed []Effect
}

// Effect is a key whose requests would be blocked by a change, or are blocked
// without it.
type Effect struct {
	PoolID       string
	APIKeyID     string // quota.AllOthers = the keys without an allocation of their own
	Reason       string // of the block
	Binding      questions.Binding
	HasBinding   bool
	RetryAfterMs int64 // -1 = never by itself
}

// Connection is one connection that the engine has seen or was told of.
type Connection struct {
	ConnectionID string
	Provider     string // "" = not known
	PoolID       string // "" = in none
	Source       plans.Source
	Keys         int   // how many used it
	LastEventAt  int64 // log time of its last counted event, 0 = none
}

// Key is one API key that the engine has seen or that has an allocation.
type Key struct {
	APIKeyID    string
	Connections int  // how many it used
	Outside     bool // it used one that is in no pool
	Pools       []KeyPool
	LastEventAt int64 // log time of its last counted event, 0 = none
}

// KeyPool is a pool that a key has to do with.
type KeyPool struct {
	PoolID     string
	Allocation string // the key's id, quota.AllOthers, or "" when it has none
}

// Engine is what the API asks things of. Its methods are safe for concurrent
// use. Their errors are Refusals, or wrap one of the Err… below, or are faults
// of a document; any other error is our own and answered 500.
type Engine interface {
	Decider
	Configuration
	Watched
	Views
	Decisions
	Snapshots
	Explainer
	WhatIfs

	// State waits until minSeq is folded, or ctx ends and returns its error.
	// The digest is computed only when asked for.
	State(ctx context.Context, minSeq uint64, digest bool) (State, error)
	// Ready reports whether the fold has caught up with the log.
	Ready() bool

	// Rejected returns a page of what could not be folded. It does a bounded amount of
	// work: the newest first, a page may be short, or empty, and not be the last.
	Rejected(ctx context.Context, q *RejectedQuery) (RejectedPage, error)
}

// HeldUp is an Engine that knows what keeps it from getting ready.
type HeldUp interface {
	// HeldUp returns what it is, a Refusal, or nil when it only takes its time.
	HeldUp() error
}

// Publisher brings events into the log.
type Publisher interface {
	// Publish stores a JSON array of so many events and returns once they are durable.
	// The array must not be changed before.
	Publish(ctx context.Context, subject string, array []byte, events int) (Receipt, error)
	// Room is how many bytes an array may have at the moment; it does not wait.
	Room() int
}

// Receipt says where published events are.
type Receipt struct {
	Seq     uint64 // of their message in the log
	Spooled bool   // on this program's disk instead, for a log that is away
}

// Configuration reads and writes the documents. A write is an event in the log:
// its method waits until the event is folded and reports the fold's verdict.
// What would change nothing is not written.
type Configuration interface {
	// Pools returns all pools in the order of their ids; the caller may keep the
	// slice, and changes no document.
	Pools() []Pool
	Pool(id string) (Pool, bool)
	// ChangePool returns the pool as this call wrote it, even when somebody
	// changed it again since.
	ChangePool(ctx context.Context, id string, change PoolChange, m Meta) (Pool, error)
	// CreatePools writes all of these pools, or none; where there is a pool it is
	// ErrConflict.
	CreatePools(ctx context.Context, docs []*plans.Pool, m Meta) ([]Pool, error)
	// DeletePool deletes a pool; ErrNotFound when there is none.
	DeletePool(ctx context.Context, id string, m Meta) error

	// Plans returns a page of the plans of all connections known, by their ids,
	// and how many there are in all.
	Plans(offset, limit int) (list []plans.PlanView, total int)
	Plan(connectionID string) plans.PlanView
	PutPlan(ctx context.Context, connectionID string, dims []plans.Dimension, m Meta) (plans.PlanView, error)
	// DeletePlan deletes the plan set by hand, where there is one.
	DeletePlan(ctx context.Context, connectionID string, m Meta) error

	Settings() Settings
	ChangeSettings(ctx context.Context, change func(now plans.Settings) (plans.Settings, error), m Meta) (Settings, error)
}

// Views shows what was counted.
type Views interface {
	// Usage returns how a pool stands; ErrNotFound when there is none.
	Usage(ctx context.Context, poolID string) (*usage.Snapshot, error)
	// Reach returns how far the keys of a pool could come if this were its document; of
	// the keys those from offset on, limit at most.
	Reach(ctx context.Context, doc *plans.Pool, offset, limit int) (*usage.Reach, error)
	// History returns a pool's use by time; ErrNotFound when there is no such
	// pool. The query is normalized.
	History(ctx context.Context, q usage.Query) (*usage.History, error)
	// Connections and Keys return all that are known, by id.
	Connections() []Connection
	Keys() []Key
}

// Causes of a Refusal; each has its status.
var (
	ErrNotFound    = errors.New("there is no such document")                                                     // 404
	ErrConflict    = errors.New("the document conflicts with one that is stored")                                // 409
	ErrLostRace    = errors.New("somebody else changed the document first: read it again and repeat the change") // 412
	ErrTooLarge    = errors.New("the message is larger than the log takes: split it")                            // 413
	ErrUnavailable = errors.New("the log takes no writes at the moment: try again")                              // 503
	ErrBusy        = errors.New("another audit is running")                                                      // 429
)

// Refusal is a cause with a text of its own, which people read as it is.
type Refusal struct {
	Cause error // one of the Err… above
	Text  string
}

// Refuse returns a Refusal; format and args make its text.
func Refuse(cause error, format string, args ...any) error {
	return &Refusal{Cause: cause, Text: fmt.Sprintf(format, args...)}
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }
