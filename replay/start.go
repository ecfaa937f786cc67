package replay

import (
	"context"
	"fmt"

	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// Start is where the snapshots are that a replay may begin with.
type Start interface {
	// Newest opens the newest snapshot that can be used and is of no later message
	// than notAfter. An error that wraps snapdir.ErrNone says that there is none.
	Newest(ctx context.Context, notAfter uint64) (*snapdir.Snapshot, error)
}

// Snapshots is a Start that tells what it has.
type Snapshots interface {
	Start
	// Headers returns those of the snapshots that fit, the oldest first, and which
	// snapshots have none that can be read. Whether the rest is whole is not looked at.
	Headers(ctx context.Context) ([]snapshots.Header, []snapshots.Damaged, error)
	// Check reads a snapshot to its last byte. An error that wraps snapshots.ErrDamaged
	// or snapshots.ErrFormat is the snapshot's. One that was removed meanwhile is fine.
	Check(ctx context.Context, seq uint64) error
}

// lost says that the log ends before a snapshot of it was taken; "" = it does not. What is
// folded of such a log is complete as far as it goes, and nothing else tells.
func (o *Options) lost(ctx context.Context) (note string, err error) {
	list, err := headers(ctx, o.Start)
	if err != nil || len(list) == 0 {
		return "", err
	}
	seq := list[len(list)-1].Seq
	_, last, err := o.Log.Bounds(ctx)
	if err != nil || seq <= last {
		return "", err
	}
	return fmt.Sprintf("there is a snapshot of message %d, and the log ends with message %d: it has lost its end, or the snapshot is of another log", seq, last), nil
}

// headers are those of a start that tells what it has.
func headers(ctx context.Context, s Start) (list []snapshots.Header, err error) {
	if s, ok := s.(Snapshots); ok {
		list, _, err = s.Headers(ctx)
	}
	return list, err
}
