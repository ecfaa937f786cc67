package replay

import (
	"context"
	"errors"
	"io"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// Each gives the messages from one sequence on, up to and with another, in the order of
// the log, and folds none of them. A message is good until the function returns, whose
// error ends the reading. It returns which of the range the log does not have any more.
func (o *Options) Each(ctx context.Context, from, to uint64, fn func(*events.Message) error) (Missing, error) {
	_, last, err := o.Log.Bounds(ctx)
	r := reading{end: min(to, last), read: from - 1, passed: from - 1}
	if err != nil || from > r.end {
		return Missing{}, err
	}
	source, stop, err := o.Log.From(ctx, from)
	if err != nil {
		return Missing{}, err
	}
	defer stop()
	r.source = source
	for n := 0; ; n++ {
		if n%projector.MaxRunItems == 0 && o.Pause != nil {
			if err := o.Pause(ctx); err != nil {
				return r.missing, err
			}
		}
		m, err := r.peek(ctx)
		if errors.Is(err, io.EOF) {
			r.finish(r.end)
			return r.missing, nil
		}
		if err == nil {
			err = fn(m)
		}
		if err != nil {
			return r.missing, err
		}
		r.take()
	}
}
