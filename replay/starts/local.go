package starts

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// Local begins with the snapshots of a directory. It is a replay.Snapshots.
type Local struct{ Dir *snapdir.Dir }

// Newest implements replay.Start.
func (s Local) Newest(_ context.Context, notAfter uint64) (*snapdir.Snapshot, error) {
	return s.Dir.Newest(upTo(notAfter))
}

// Headers implements replay.Snapshots.
func (s Local) Headers(context.Context) (list []snapshots.Header, bad []snapshots.Damaged, err error) {
	seqs, err := s.Dir.List()
	if err != nil {
		return nil, nil, err
	}
	for _, seq := range slices.Backward(seqs) {
		h, err := s.Dir.Header(seq)
		switch {
		case err == nil && projected.Fits(h):
			list = append(list, h)
		case err == nil, errors.Is(err, fs.ErrNotExist): // of other rules, or removed meanwhile
		case damaged(err):
			bad = append(bad, snapshots.Damaged{Seq: seq, Err: err})
		default:
			return nil, nil, err
		}
	}
	return list, bad, nil
}

// Check implements replay.Snapshots.
func (s Local) Check(_ context.Context, seq uint64) error {
	_, _, err := s.Dir.Send(seq, io.Discard)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// upTo says which snapshots a state of the message notAfter or a later one can be
// folded from.
func upTo(notAfter uint64) func(snapshots.Header) bool {
	return func(h snapshots.Header) bool { return h.Seq <= notAfter && projected.Fits(h) }
}

// damaged reports whether an error is the snapshot's, and not that of who reads it.
func damaged(err error) bool {
	return errors.Is(err, snapshots.ErrDamaged) || errors.Is(err, snapshots.ErrFormat)
}
