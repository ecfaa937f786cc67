package decider

import (
	"context"

	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/projected"
)

// usable returns the header of a snapshot from which this program could begin, as far
// as is known: what has been read of it was whole, and of these rules and this log.
func (k *snapshotKeeper) usable(seq uint64) (snapshots.Header, bool) {
	h, err := k.dir.Header(seq)
	return h, err == nil && projected.Fits(h) && !k.refused.has(h) && !k.dir.Damaged(seq)
}

// sortOut refuses the snapshots that are of another log than this one. Their sequences
// say nothing here, and where they are the highest, whoever counts on the newest ones
// would count on them: who shares them, who deletes others, who purges the log.
func (k *snapshotKeeper) sortOut(ctx context.Context) {
	list, _ := k.dir.List() // who needs it to begin tells of an error
	for _, seq := range list {
		h, ok := k.usable(seq)
		if ok && k.inLog(ctx, projected.PositionIn(&h)) == otherLog {
			k.refused.add(h)
			k.e.o.Log.Warn("a snapshot is of another log, and is not used", "seq", seq)
		}
	}
}

// tidy removes the snapshots that are of no use, once there are as many of use as are
// to be kept. Sooner would be rash: a program that is told the wrong log, or goes back
// to its older version, can begin from them again.
func (k *snapshotKeeper) tidy() {
	list, _ := k.dir.List()
	var useless []uint64
	for _, seq := range list {
		if _, ok := k.usable(seq); !ok {
			useless = append(useless, seq)
		}
	}
	if len(list)-len(useless) < max(2, k.e.o.SnapshotKeep) {
		return
	}
	for _, seq := range useless {
		if err := k.dir.Remove(seq); err != nil {
			k.e.o.Log.Warn("a snapshot that is of no use cannot be removed", "seq", seq, "err", err)
			return
		}
		k.e.o.Log.Info("removed a snapshot that is of no use any more", "seq", seq)
	}
}
