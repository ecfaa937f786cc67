package httpapi

import (
	"context"
	"strings"
)

// snapshotsDouble is the part of an Engine in memory that keeps snapshots: two that
// are good for nothing, and what was taken.
type snapshotsDouble struct {
	taken   []Snapshot
	nothing bool // none can be taken
}

func (d *snapshotsDouble) Snapshot(context.Context) (Snapshot, error) {
	if d.nothing {
		return Snapshot{}, Refuse(ErrConflict, "snapshots: nothing was folded yet")
	}
	d.taken = append(d.taken, Snapshot{
		Seq: 4711, Time: 1_700_000_000_000, LogTime: 1_700_000_000_001, Rules: 6, Digest: strings.Repeat("0f", 32), Bytes: 1234,
	})
	return d.taken[0], nil
}

func (d *snapshotsDouble) Snapshots(context.Context) ([]Snapshot, error) {
	return append(d.taken,
		Snapshot{
			Seq: 41, Time: 1_600_000_000_000, LogTime: 1_600_000_000_000, Rules: 5, Digest: strings.Repeat("f0", 32), Bytes: 99,
			Problem: "it was folded by rules version 5, and this program has 6",
		},
		Snapshot{Seq: 7, Bytes: 3, Problem: "the snapshot is damaged"},
	), nil
}
