package decider

import (
	"context"
	"errors"
	"fmt"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/projected"
)

// Snapshot implements httpapi.Engine.
func (e *Engine) Snapshot(ctx context.Context) (httpapi.Snapshot, error) {
	if e.current.Load() == nil {
		return httpapi.Snapshot{}, e.without()
	}
	got, err := e.snapshots.ask(ctx)
	if errors.Is(err, projected.ErrNothing) {
		return httpapi.Snapshot{}, httpapi.Refuse(httpapi.ErrConflict, "snapshots: %v", projected.ErrNothing)
	}
	if err != nil {
		return httpapi.Snapshot{}, ended(err)
	}
	return snapshotView(&got.header, got.sum.Bytes), nil
}

func snapshotView(h *snapshots.Header, bytes int64) httpapi.Snapshot {
	return httpapi.Snapshot{
		Seq: h.Seq, Time: h.Time, LogTime: h.LogTime, Rules: h.Rules, Digest: fmt.Sprintf("%x", h.Digest), Bytes: bytes,
	}
}

// Snapshots implements httpapi.Engine.
func (e *Engine) Snapshots(context.Context) ([]httpapi.Snapshot, error) {
	k := e.snapshots
	if k.dir == nil {
		return nil, nil
	}
	seqs, err := k.dir.List()
	if err != nil {
		return nil, err
	}
	list := make([]httpapi.Snapshot, 0, len(seqs))
	for _, seq := range seqs {
		list = append(list, k.view(seq))
	}
	return list, nil
}

// view describes a snapshot by its header; reading each to its end would take
// seconds.
func (k *snapshotKeeper) view(seq uint64) httpapi.Snapshot {
	bytes, _ := k.dir.Size(seq) // one that cannot be opened has no header either
	h, err := k.dir.Header(seq)
	if err != nil {
		return httpapi.Snapshot{Seq: seq, Bytes: bytes, Problem: err.Error()}
	}
	v := snapshotView(&h, bytes)
	switch {
	case !projected.Fits(h):
		v.Problem = fmt.Sprintf("it was folded by rules version %d, and this program has %d", h.Rules, projector.RulesVersion)
	case k.refused.has(h):
		v.Problem = "it is of another log, or did not become a state"
	case k.dir.Damaged(seq):
		v.Problem = snapshots.ErrDamaged.Error()
	}
	return v
}
