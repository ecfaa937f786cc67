package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/objects"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// SharedStart begins with the snapshots that the broker keeps. Those that are wanted
// are fetched into the directory, which is the caller's and for this alone.
func SharedStart(broker *objects.Store, into *snapdir.Dir) Snapshots {
	return sharedStart{broker: broker, into: into}
}

type sharedStart struct {
	broker *objects.Store
	into   *snapdir.Dir
}

// Newest implements Start.
func (s sharedStart) Newest(ctx context.Context, notAfter uint64) (*snapdir.Snapshot, error) {
	_, err := s.broker.Newest(ctx, s.into, func(h snapshots.Header) bool {
		return h.Seq <= notAfter && h.Rules == projector.RulesVersion
	})
	if errors.Is(err, objects.ErrNone) {
		return nil, fmt.Errorf("%w: %w", snapdir.ErrNone, err)
	}
	if err != nil {
		return nil, err
	}
	return localStart{s.into}.Newest(ctx, notAfter)
}

// Headers implements Snapshots. The broker has a header beside each snapshot, and lists
// none whose header cannot be read.
func (s sharedStart) Headers(ctx context.Context) (list []snapshots.Header, _ []Damaged, err error) {
	all, err := s.broker.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		if all[i].Header.Rules == projector.RulesVersion {
			list = append(list, all[i].Header)
		}
	}
	slices.SortFunc(list, func(a, b snapshots.Header) int { return cmp.Compare(a.Seq, b.Seq) })
	return list, nil, nil
}

// Check implements Snapshots: what is fetched is read to its last byte.
func (s sharedStart) Check(ctx context.Context, seq uint64) error {
	_, err := s.broker.Fetch(ctx, seq, s.into)
	if err != nil && unfit(err) { // one that is being removed lacks pieces, and then is gone
		_, err = s.broker.Fetch(ctx, seq, s.into)
	}
	if errors.Is(err, objects.ErrNone) {
		return nil
	}
	return err
}
