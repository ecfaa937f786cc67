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

// Headers implements Snapshots.
func (s sharedStart) Headers(ctx context.Context) (list []snapshots.Header, err error) {
	all, err := s.broker.List(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Header.Rules == projector.RulesVersion {
			list = append(list, all[i].Header)
		}
	}
	slices.SortFunc(list, func(a, b snapshots.Header) int { return cmp.Compare(a.Seq, b.Seq) })
	return list, nil
}
