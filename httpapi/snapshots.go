package httpapi

import "context"

// Snapshots keep the state whole.
type Snapshots interface {
	// Snapshot takes one of everything folded so far, and returns what it is.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Snapshots returns those that are there, the newest first.
	Snapshots(ctx context.Context) ([]Snapshot, error)
}

// Snapshot is the state as it was at one message, in a file.
type Snapshot struct {
	Seq     uint64 // of the last message folded
	Time    int64  // the broker's timestamp of that message, epoch ms
	LogTime int64  // of the state, epoch ms
	Rules   uint64 // version of the rules that it was folded by
	Digest  string // of the state, in hex
	Bytes   int64  // of the file
	// Problem says why this program cannot begin from it, "" = it can, as far as
	// its header tells. Of one that cannot be read only Seq and Bytes are known.
	Problem string
}
