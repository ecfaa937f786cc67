package projector

import (
	"context"
	"errors"
	"fmt"

	"github.com/quotashare/quotashare/events"
)

// Position is the last applied message of the log: what a store was folded up
// to, and enough to recognise that message again.
type Position struct {
	Seq  uint64   // 0 = nothing applied yet
	Time int64    // the broker's timestamp, epoch ms
	Hash [32]byte // HashOf the message
}

// ErrFull says that a store has no room for a commit at the moment.
var ErrFull = errors.New("the disk of the store is full")

// ErrClosed says that a store, or a snapshot of it, is closed.
var ErrClosed = errors.New("the store is closed")

// HashOf returns what a position keeps of a message: its hash, or zero for one
// that the broker forgets by itself. Such a message is rejected, and still the
// last one applied until another comes; its absence must not look like another
// log.
func HashOf(m *events.Message) (hash [32]byte) {
	if m.Expires() {
		return hash
	}
	return events.Hash(m)
}

// Expires reports whether the message of the position may be gone from the log
// at any time.
func (p *Position) Expires() bool { return p.Hash == [32]byte{} }

// Reader reads a store as of its newest commit.
type Reader interface {
	// Get appends the value of the key to dst.
	Get(key, dst []byte) (value []byte, ok bool, err error)
	// Scan calls fn for each key in [from, to), in byte order. Neither slice
	// is valid after fn returns. An error of fn ends the scan and is returned.
	Scan(from, to []byte, fn func(key, value []byte) error) error
}

// Snapshot is a store as it was at one moment, for readers beside the one that
// commits. Its reads return ErrClosed once it or its store is closed.
type Snapshot interface {
	Reader
	// Close lets the snapshot go; until then the store keeps what is deleted
	// meanwhile. A second Close does nothing.
	Close() error
}

// Snapshotter is what takes snapshots of a store.
type Snapshotter interface {
	// Snapshot may be called from any goroutine, also while a commit waits.
	// ErrClosed means that the store is closed.
	Snapshot() (Snapshot, error)
}

// Batch collects changes that become visible together or not at all. It copies
// what it is given.
type Batch interface {
	Set(key, value []byte) error
	// Merge merges the value onto what is under the key, see MergeOnto; where
	// nothing is, it becomes the value.
	Merge(key, value []byte) error
	Delete(key []byte) error
	// DeleteRange deletes the keys in [from, to).
	DeleteRange(from, to []byte) error
	Close() error
}

// Store keeps records. Commits are atomic and ordered, and need not be synced:
// after a crash the store may be at an older commit, never between two.
type Store interface {
	Reader
	Snapshotter
	NewBatch() Batch
	// Commit writes the batch and closes it. ErrFull leaves all as it was, the
	// batch too: the commit may be tried again.
	Commit(Batch) error
	// Close waits for the reads of snapshots that are under way, and closes
	// the snapshots.
	Close() error
}

// Source reads the log in order.
type Source interface {
	// Next returns the messages after the last returned one, at least one,
	// waiting for it. ErrLogChanged means that the log no longer has, at the
	// position last returned, the message that was returned.
	Next(ctx context.Context) (Messages, error)
}

// Messages is a run of messages in stream order.
type Messages struct {
	List []events.Message
	// Pending is how many more the log had after the last of them when it was
	// sent.
	Pending uint64
}

// ErrLogChanged says that the log is not the one that a position came from: it
// was replaced, or rolled back and written on, or has lost what it should
// still have. State folded from it must be rebuilt.
var ErrLogChanged = errors.New("the log was replaced or rolled back")

// ErrCorrupt says that a store has a record that no fold has written.
var ErrCorrupt = errors.New("the store is corrupt")

func corrupt(what string, b []byte) error {
	return fmt.Errorf("%w: bad %s %x", ErrCorrupt, what, b[:min(len(b), 64)])
}
