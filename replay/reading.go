package replay

import (
	"context"
	"fmt"
	"io"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// reading reads a source to an end, and knows what was not there.
type reading struct {
	source  projector.Source
	end     uint64
	queue   []events.Message // read and not taken
	read    uint64           // sequence of the last message read
	dry     bool             // the log had no more
	passed  uint64           // sequence up to which all is taken, or missing
	missing Missing
}

// peek returns the next message, good until the next call; io.EOF says that there is
// none up to the end.
func (r *reading) peek(ctx context.Context) (*events.Message, error) {
	for len(r.queue) == 0 {
		if r.read >= r.end || r.dry {
			return nil, io.EOF
		}
		got, err := r.source.Next(ctx)
		if err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
		// The end may be of a message that is gone: then the log says that it has
		// no more, and nothing else will come.
		r.queue, r.dry = got.List, got.Pending == 0
		if n := len(got.List); n > 0 {
			r.read = got.List[n-1].Seq
		}
	}
	if r.queue[0].Seq > r.end {
		return nil, io.EOF
	}
	return &r.queue[0], nil
}

// take takes the message that peek returned.
func (r *reading) take() {
	r.pass(r.queue[0].Seq)
	r.queue = r.queue[1:]
}

// pass notes what is missing before the sequence, and that all up to it is done.
func (r *reading) pass(seq uint64) {
	if n := seq - r.passed - 1; n > 0 {
		if r.missing.Count == 0 {
			r.missing.First = r.passed + 1
		}
		r.missing.Count += n
		r.missing.Last = seq - 1
	}
	r.passed = seq
}

// finish notes that nothing more is there up to the sequence.
func (r *reading) finish(seq uint64) {
	if seq > r.passed {
		r.pass(seq + 1)
		r.passed = seq
	}
}
