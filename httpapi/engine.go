package httpapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
)

// Decider answers questions.
type Decider interface {
	// Decide answers qs[i] into rs[i], all from one state. What cannot be
	// answered has its Err set.
	Decide(ctx context.Context, qs []questions.Question, rs []questions.Reply)
}

// State says how far the fold is.
type State struct {
	AppliedSeq, LastSeq uint64
	LagMs               int64  // age of the oldest message not yet folded, 0 = none
	Digest              string // "" = not asked for
	Counts              Counts
}

// Counts say what became of the events of the log so far.
type Counts struct {
	Folded, Duplicates, Rejected uint64
	Late                         uint64 // folded, though too old for some window
	Clamped                      uint64 // folded, though from too far in the future
}

// Pool is a pool document as the fold has it.
type Pool struct {
	Doc       *plans.Pool
	Revision  uint64 // stream sequence of its last event
	Enforcing bool   // some limit is known, or some reading
}

// Plan is what one connection's plan is at present, wherever it comes from.
type Plan struct {
	ConnectionID, Provider string
	Plan                   plans.Plan
	Revision               uint64 // stream sequence of its last event, 0 = none
}

// Meta goes with a configuration event: who, why, and against which revision.
type Meta struct {
	Actor, Reason    string
	ExpectedRevision uint64
	IfMatch          bool // ExpectedRevision counts
}

// Engine is what the API asks things of. Its methods are safe for concurrent
// use. Their errors are Refusals, or wrap one of the Err… below, or are faults
// of a document; any other error is our own and answered 500.
type Engine interface {
	Decider

	// State waits until minSeq is folded, or ctx ends and returns its error.
	// The digest is computed only when asked for.
	State(ctx context.Context, minSeq uint64, digest bool) (State, error)
	// Ready reports whether the fold has caught up with the log.
	Ready() bool

	// Pools returns all pools in the order of their ids; the caller may keep the
	// slice, and changes no document.
	Pools() []Pool
	Pool(id string) (Pool, bool)
	Plan(connectionID string) Plan

	// PutPool and PutPlan write the configuration event, wait until it is folded
	// and report the fold's verdict.
	PutPool(ctx context.Context, p *plans.Pool, m Meta) (Pool, error)
	PutPlan(ctx context.Context, connectionID string, dims []plans.Dimension, m Meta) (Plan, error)

	// DeletePool and DeletePlan do the same with a deletion. What is not there is
	// deleted already, and nothing is written.
	DeletePool(ctx context.Context, id string, m Meta) error
	DeletePlan(ctx context.Context, connectionID string, m Meta) error

	// Publish stores one JSON message and returns its sequence once the log has
	// acknowledged it. msgID is its Nats-Msg-Id.
	Publish(ctx context.Context, subject, msgID string, data []byte) (seq uint64, err error)

	// Rejected returns a page of what could not be folded, oldest first, and how
	// many there are in all.
	Rejected(ctx context.Context, offset, limit int) (list []events.Rejected, total int, err error)
}

// Causes of a Refusal; each has its status.
var (
	ErrConflict    = errors.New("the document conflicts with one that is stored")                                // 409
	ErrLostRace    = errors.New("somebody else changed the document first: read it again and repeat the change") // 412
	ErrTooLarge    = errors.New("the message is larger than the log takes: split it")                            // 413
	ErrUnavailable = errors.New("the log takes no writes at the moment: try again")                              // 503
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
