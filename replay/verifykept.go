package replay

import "context"

// Kept are rows that know since when they are all there.
type Kept interface {
	// KeptSince returns the instant, epoch ms, since which none is gone that was
	// recorded. Recorded is later than answered, so what was answered since then is
	// there.
	KeptSince(ctx context.Context) (int64, error)
}

// notKept returns the instant, epoch ms, before which rows of a range may be gone that
// begins with the answers of message from, or at fromAt if that is not 0; 0 = none is
// gone. Rows that do not tell are believed to be all there. Decisions are kept for a
// shorter time than the log, and whoever counts them has to say so.
func notKept(ctx context.Context, o *Options, rows any, from uint64, fromAt int64) (since int64, err error) {
	kept, tells := rows.(Kept)
	if !tells {
		return 0, nil
	}
	if since, err = kept.KeptSince(ctx); err != nil {
		return 0, err
	}
	first, _, err := o.Log.Bounds(ctx)
	if err != nil || since <= fromAt {
		return 0, err
	}
	if fromAt != 0 {
		from = first // however old the message is that is answered from
	}
	// Before the log began nothing was answered from it.
	before, err := o.SeqAt(ctx, since-1)
	if err != nil || before < max(from, first) {
		return 0, err
	}
	return since, nil
}
