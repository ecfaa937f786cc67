package httpapi

import (
	"context"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
)

// Watched is what happens, for those who watch it.
type Watched interface {
	// Changes returns at most limit configuration events after that sequence,
	// those that the state has, in the order of the log, and the sequence to go on
	// after, 0 when these were the last. What the log forgot is left out.
	Changes(ctx context.Context, after uint64, limit int) (list []Change, next uint64, err error)
	// Folded returns the sequence of the last event that the state has and that of
	// the last one which is configuration; 0 and 0 while there is no state. While
	// the state moves the second may be ahead of the first, and of Changes.
	Folded() (last, change uint64)

	// Process names this process among all: small letters and digits.
	Process() string
	// Blocks returns the rows after that number that will not change any more,
	// oldest first. Numbers begin at 1 and have no gaps, but only the newest rows
	// are kept: the first may be a later one.
	Blocks(after uint64) []Block
}

// Change is one configuration event of the log.
type Change struct {
	Seq      uint64
	Time     int64 // the broker's timestamp, epoch ms
	Subject  string
	Kind     string // pool, plan or settings; "" = its subject is for none
	ID       string // of the pool or connection
	Do       string // events.ConfigPut or events.ConfigDelete; "" = it says neither
	Actor    string
	Reason   string            // why somebody changed it
	Document []byte            // compact JSON; nil for a deletion, or when it is no document
	Rejected *events.Rejection // nil = it was folded
}

// Block is a row of the requests that this process blocked, or would have:
// those of one key on one connection or pool, for one reason, within a second.
type Block struct {
	Seq          uint64
	Time         int64 // of the first, epoch ms
	APIKeyID     string
	ConnectionID string // "" = the pool was asked about
	PoolID       string // "" = none
	Model        string // "" = none, or several
	Reason       string
	Binding      questions.Binding
	HasBinding   bool
	RetryAt      int64  // of the first, epoch ms; 0 = not by itself
	DecisionID   string // of the first
	Count        int
	WouldBlock   bool // they were allowed: the pool observes
}
