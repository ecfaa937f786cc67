package replay

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/quotashare/quotashare/projector"
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
	Headers(ctx context.Context) ([]snapshots.Header, []Damaged, error)
	// Check reads a snapshot to its last byte. An error that wraps snapshots.ErrDamaged
	// or snapshots.ErrFormat is the snapshot's. One that was removed meanwhile is fine.
	Check(ctx context.Context, seq uint64) error
}

// Damaged is a snapshot that cannot be read.
type Damaged struct {
	Seq uint64
	Err error
}

// headers are those of a start that tells what it has.
func headers(ctx context.Context, s Start) (list []snapshots.Header, err error) {
	if s, ok := s.(Snapshots); ok {
		list, _, err = s.Headers(ctx)
	}
	return list, err
}

// LocalStart begins with the snapshots of a directory.
func LocalStart(dir *snapdir.Dir) Snapshots { return localStart{dir} }

type localStart struct{ dir *snapdir.Dir }

// Newest implements Start.
func (s localStart) Newest(_ context.Context, notAfter uint64) (*snapdir.Snapshot, error) {
	return s.dir.Newest(func(h snapshots.Header) bool {
		return h.Seq <= notAfter && h.Rules == projector.RulesVersion
	})
}

// Headers implements Snapshots.
func (s localStart) Headers(context.Context) (list []snapshots.Header, damaged []Damaged, err error) {
	seqs, err := s.dir.List()
	if err != nil {
		return nil, nil, err
	}
	for _, seq := range slices.Backward(seqs) {
		h, err := s.dir.Header(seq)
		switch {
		case err == nil && h.Rules == projector.RulesVersion:
			list = append(list, h)
		case err == nil, errors.Is(err, fs.ErrNotExist): // of other rules, or removed meanwhile
		case unfit(err):
			damaged = append(damaged, Damaged{seq, err})
		default:
			return nil, nil, err
		}
	}
	return list, damaged, nil
}

// Check implements Snapshots.
func (s localStart) Check(_ context.Context, seq uint64) error {
	_, _, err := s.dir.Send(seq, io.Discard)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
