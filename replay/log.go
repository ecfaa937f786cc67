package replay

import (
	"context"

	"github.com/quotashare/quotashare/projector"
)

// Log is what is replayed. It is never read through the reader of an engine.
type Log interface {
	// Source reads what comes after a position; the zero Position reads all there
	// is. Its Next returns projector.ErrLogChanged when the log has another message
	// at the position. The function ends the reading.
	Source(ctx context.Context, after projector.Position) (projector.Source, func(), error)
	// From reads what there is from a sequence on, as Source does.
	From(ctx context.Context, seq uint64) (projector.Source, func(), error)
	// Bounds returns the sequences of the first and the last message. Of an empty
	// log first is one more than last.
	Bounds(ctx context.Context) (first, last uint64, err error)
}
