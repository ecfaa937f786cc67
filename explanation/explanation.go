// Package explanation is what an answer came from: the question, the rules that were
// in force, what the provider said, what was held, and the events that made up the
// consumption. Others find it out; this package has the form of it.
package explanation

import (
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
	"github.com/quotashare/quotashare/wire"
)

// Explanation is one answer with what it came from.
type Explanation struct {
	Question questions.Question
	// Reply is the answer as the log gives it, with its dimensions. AsOf is the state
	// and the instant that it is of.
	Reply questions.Reply
	// Recorded is the decision that was asked about by its id, nil when none was.
	Recorded *questions.Record
	// Differs names the fields of the recorded reply that are others than in Reply.
	Differs []string
	// Unproved says that the log lacks messages and another answer follows from what it
	// has. Then Reply is as it was recorded, with the dimensions that follow, and Differs
	// is empty.
	Unproved bool

	Rules   Rules
	Signals []usage.Signal // of the connections that the answer depends on
	Holds   Holds
	Lines   []Line
	Replay  Replay
	Notes   []string // what a reader should know, in sentences
}

// Rules are the documents that were in force.
type Rules struct {
	Pool      *plans.Pool // nil = the connection was in none
	PoolStamp plans.Stamp
	Enforcing bool // some limit of the pool was known, or some reading
	Warnings  wire.Faults
	Plans     []plans.PlanView // of the pool's connections, in pool order
	Settings  plans.Settings
	SetAt     plans.Stamp // of the settings
}

// Holds are the requests in flight on the pool's connections.
type Holds struct {
	Open int
	Top  []Hold // those that hold most of the unit that decided
}

// Hold is one request in flight.
type Hold struct {
	APIKeyID, ConnectionID, Model string
	Amounts                       quota.Amounts
	End                           int64 // of its lease, epoch ms
}

// Line is one dimension, or cap, with what its consumption is made of.
type Line struct {
	Unit   quota.Unit
	Window quota.Window
	Model  string // of a model cap; "" = all
	// From is where the older of the two buckets begins, or the cycle of the provider
	// that parts are taken of, epoch ms. What is before it weighs nothing, but for what
	// came for a cycle before its provider spoke of it.
	From int64
	// Consumed is what counts as consumed by the asking key, or by all keys without an
	// allocation together when it shares theirs.
	Consumed    quota.Amount
	HasConsumed bool
	// Found is what the events found weigh together. It is less than Consumed when the
	// log does not have all of them any more; for each event it may differ by the
	// smallest amount, which rounding loses. Any other difference is said in Notes.
	Found  quota.Amount
	Events int
	Top    []Event  // the heaviest, the heaviest first
	Keys   []KeyUse // who consumed most of the dimension, the most first
}

// KeyUse is what a key consumed of a dimension.
type KeyUse struct {
	APIKeyID string
	Consumed quota.Amount
}

// Event is a consumption or a correction that a line counts.
type Event struct {
	Seq          uint64
	Index        int
	ID           string // "" = it has none
	Adjustment   bool
	Reason       string // of an adjustment
	Time         int64  // where it stands on the time line, epoch ms
	APIKeyID     string
	ConnectionID string
	Model        string
	RequestID    string
	Cost         quota.Amount // of the line's unit
	// Split is what a provider's points are split by, of the event, in SplitBy; a part of
	// them is the event's weight, and Cost means nothing. Set when HasSplit.
	Split    quota.Amount
	SplitBy  quota.Unit
	HasSplit bool
	Weight   quota.Amount // what is left of it at the instant of the answer
}

// Replay says what was read to find this out.
type Replay struct {
	Snapshot uint64 // that the state began from; 0 = the first message of the log
	Seq      uint64 // of the last message that was folded
	// Of the messages that should have been read, those that the log does not have:
	// how many, from which to which.
	Missing, MissingFrom, MissingTo uint64
}
