// Package projected saves the state of a projector as a snapshot, and puts it back.
//
// Save takes the store as it is at one moment, and the fold goes on meanwhile. What
// it writes was loaded first, into a state of its own: a store that does not load is
// not kept, and the header has the digest of what was loaded, so that whoever
// restores it can be held to it. It costs that state's memory for the time it takes.
//
// Restore writes the records into an empty store, the position last. Killed in the
// middle it leaves a store that Load calls corrupt, and never one that looks like a
// state.
package projected

import (
	"context"
	"errors"
	"fmt"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// ErrNothing says that there is nothing to save: no message was folded.
var ErrNothing = errors.New("no message of the log was folded yet, so there is nothing to keep")

// Save writes a snapshot of the store into the directory. An error of the store is
// that of Load, ErrNothing, or the context's.
func Save(ctx context.Context, dir *snapdir.Dir, from projector.Snapshotter) (h snapshots.Header, sum snapshots.Summary, err error) {
	at, err := from.Snapshot()
	if err != nil {
		return h, sum, fmt.Errorf("snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, at.Close()) }()
	records := ending{at, ctx}
	if h, err = HeaderOf(records); err != nil {
		return h, sum, fmt.Errorf("snapshot: %w", err)
	}
	sum, err = dir.Save(h, func(add func(key, value []byte) error) error {
		return projector.ScanRecords(records, add)
	})
	return h, sum, err
}

// HeaderOf loads the state of a store that is not written meanwhile, and returns the
// header that a snapshot of it has.
func HeaderOf(store projector.Reader) (h snapshots.Header, err error) {
	state, err := projector.Load(store)
	if err != nil {
		return h, err
	}
	pos := state.Position()
	if pos.Seq == 0 {
		return h, ErrNothing
	}
	digest, err := state.Digest()
	if err != nil {
		return h, err
	}
	_, logTime := state.At()
	return snapshots.Header{
		Rules: projector.RulesVersion, Seq: pos.Seq, Time: pos.Time, Hash: pos.Hash, LogTime: logTime, Digest: digest,
	}, nil
}

// ending is a reader that ends with its context, as a large store is read for
// seconds and a program that stops does not wait for it.
type ending struct {
	projector.Reader
	ctx context.Context
}

func (e ending) Scan(from, to []byte, fn func(key, value []byte) error) error {
	return e.Reader.Scan(from, to, func(key, value []byte) error {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		return fn(key, value)
	})
}

// PositionIn returns the position of the state that a snapshot has.
func PositionIn(h *snapshots.Header) projector.Position {
	return projector.Position{Seq: h.Seq, Time: h.Time, Hash: h.Hash}
}

// Fits reports whether the records of a snapshot mean to this program what they
// meant to the one that wrote them.
func Fits(h snapshots.Header) bool { return h.Rules == projector.RulesVersion }

// Restore writes a snapshot into a store that nothing was folded into, see
// projector.Restore. projector.ErrVersion says that it does not fit;
// snapshots.ErrDamaged that the file changed since it was found whole.
func Restore(ctx context.Context, into projector.Store, from *snapdir.Snapshot) error {
	h := from.Header()
	if !Fits(h) {
		return fmt.Errorf("restore: %w: snapshot %d has version %d, and this program %d", projector.ErrVersion, h.Seq, h.Rules, projector.RulesVersion)
	}
	return projector.Restore(ctx, into, from.Next, PositionIn(&h), h.LogTime)
}
