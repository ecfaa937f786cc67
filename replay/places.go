package replay

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots/projected"
)

// SeqAt returns the sequence of the last message of a log time at or before at, epoch
// ms; 0 when there was none. The message itself may be gone. Log time is the newest of
// the broker's timestamps up to a message, so it never falls.
//
// A timestamp alone does not tell it: a broker whose clock is set back stores earlier
// ones behind later ones. Who asks it for a time, or halves the log by timestamps, finds
// one of several places, or overlooks a whole file of messages that ends with an early
// one. So messages are read, from the newest place on of which log time is known: that
// of a snapshot. What is folded next begins there as well, so a place costs at most as
// much again.
func (o *Options) SeqAt(ctx context.Context, at int64) (uint64, error) {
	return o.seqAt(ctx, at, mark{})
}

// mark is a place of which log time is known.
type mark struct {
	seq     uint64
	logTime int64 // epoch ms
}

// seqAt is SeqAt by who knows a place at or before the instant; the zero mark is where
// the log begins.
func (o *Options) seqAt(ctx context.Context, at int64, known mark) (uint64, error) {
	seq, _, err := o.placeAt(ctx, at, known)
	return seq, err
}

// placeAt is seqAt that says, too, up to which message nothing is missing before that
// place: a message that is gone has no time.
func (o *Options) placeAt(ctx context.Context, at int64, known mark) (seq, there uint64, err error) {
	_, last, err := o.Log.Bounds(ctx)
	if err != nil {
		return 0, 0, err
	}
	list, err := headers(ctx, o.Start)
	if err != nil {
		return 0, 0, err
	}
	for _, h := range slices.Backward(list) {
		if h.LogTime > at || h.Seq <= known.seq || h.Seq > last {
			continue
		}
		source, stop, err := o.Log.Source(ctx, projected.PositionIn(&h))
		if err != nil {
			return 0, 0, err
		}
		seq, there, err := o.scan(ctx, source, h.Seq, last, at)
		if stop(); !errors.Is(err, projector.ErrLogChanged) {
			return seq, there, err
		}
	}
	source, stop, err := o.Log.From(ctx, known.seq+1)
	if err != nil {
		return 0, 0, err
	}
	defer stop()
	return o.scan(ctx, source, known.seq, last, at)
}

// scan reads what is after a message until one is later than the instant; there is the
// last one before that, or after.
func (o *Options) scan(ctx context.Context, source projector.Source, after, last uint64, at int64) (seq, there uint64, err error) {
	r := reading{source: source, end: last, read: after, passed: after}
	for n := projector.MaxRunItems; ; n++ {
		if n >= projector.MaxRunItems && o.Pause != nil {
			if err := o.Pause(ctx); err != nil {
				return 0, 0, err
			}
			n = 0
		}
		m, err := r.peek(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return last, r.passed, nil
		case err != nil:
			return 0, 0, err
		case m.Time > at:
			return m.Seq - 1, r.passed, nil
		}
		r.take()
	}
}

// markEvery is how far apart in log time the places are that a player remembers: of two
// months some megabytes.
const markEvery int64 = 60_000

// mark remembers where the fold is.
func (p *Player) mark() {
	seq, now := p.state.At()
	if n := len(p.marks); n == 0 || now-p.marks[n-1].logTime >= markEvery {
		p.marks = append(p.marks, mark{seq, now})
	}
}

// passed returns the newest place that the player remembers at or before the instant, the
// zero mark when it began later.
func (p *Player) passed(at int64) mark {
	i, _ := slices.BinarySearchFunc(p.marks, at, func(m mark, at int64) int {
		if m.logTime <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return mark{}
	}
	return p.marks[i-1]
}
