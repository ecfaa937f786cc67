package starts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/objects"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// Shared begins with the snapshots that the broker keeps. It is a replay.Snapshots.
type Shared struct {
	Broker *objects.Store
	// Into is where those that are wanted are fetched to. It is the caller's and for
	// this alone.
	Into *snapdir.Dir
}

// Newest implements replay.Start.
func (s Shared) Newest(ctx context.Context, notAfter uint64) (*snapdir.Snapshot, error) {
	_, err := s.Broker.Newest(ctx, s.Into, upTo(notAfter))
	if errors.Is(err, objects.ErrNone) {
		return nil, fmt.Errorf("%w: %w", snapdir.ErrNone, err)
	}
	if err != nil {
		return nil, err
	}
	return Local{Dir: s.Into}.Newest(ctx, notAfter)
}

// Headers implements replay.Snapshots. The broker has a header beside each snapshot, and
// lists none whose header cannot be read.
func (s Shared) Headers(ctx context.Context) (list []snapshots.Header, _ []snapshots.Damaged, err error) {
	all, err := s.Broker.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		if projected.Fits(all[i].Header) {
			list = append(list, all[i].Header)
		}
	}
	slices.SortFunc(list, func(a, b snapshots.Header) int { return cmp.Compare(a.Seq, b.Seq) })
	return list, nil, nil
}

// Check implements replay.Snapshots: what is fetched is read to its last byte.
func (s Shared) Check(ctx context.Context, seq uint64) error {
	_, err := s.Broker.Fetch(ctx, seq, s.Into)
	if err != nil && damaged(err) { // one that is being removed lacks pieces, and then is gone
		_, err = s.Broker.Fetch(ctx, seq, s.Into)
	}
	if errors.Is(err, objects.ErrNone) {
		return nil
	}
	return err
}
