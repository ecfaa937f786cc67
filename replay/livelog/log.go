package livelog

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/jetsource"
)

// NATSOptions say how a log is read from a broker.
type NATSOptions struct {
	Conn *nats.Conn
	// PurgeAge is the age below which the log forgets nothing. A snapshot whose
	// message is gone although it is younger is of another log.
	PurgeAge time.Duration
	// Gentle reads little at a time: for who shares a processor with those whose
	// answers must be fast.
	Gentle bool
	// Patience is how long a broker that does not answer is waited for; 0 = Patience.
	Patience time.Duration
	Log      *slog.Logger // nil = nobody is told of a broker that does not answer
}

// Patience is how long an audit waits for a broker that is away: longer than one takes
// to start again, and not so long that who looks on takes it for work.
const Patience = 20 * time.Second

// Log is a replay.Log in a broker. Reading it ends with jetsource.ErrAway when the broker
// stays away.
type Log struct {
	o  NATSOptions
	js jetstream.JetStream
}

// NATSLog returns the log that a broker has. It touches nothing.
func NATSLog(o NATSOptions) (*Log, error) {
	js, err := jetstream.New(o.Conn)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Log{o: o, js: js}, nil
}

// Source implements replay.Log.
func (l *Log) Source(_ context.Context, after projector.Position) (projector.Source, func(), error) {
	return l.open(after, 0)
}

// From implements replay.Log.
func (l *Log) From(_ context.Context, seq uint64) (projector.Source, func(), error) {
	return l.open(projector.Position{}, seq)
}

// gentleBatch is how many messages a gentle reader asks for: a megabyte, or two large
// ones.
const gentleBatch = 256

func (l *Log) open(after projector.Position, from uint64) (projector.Source, func(), error) {
	batch := 0
	if l.o.Gentle {
		batch = gentleBatch
	}
	s, err := jetsource.New(jetsource.Options{
		Conn: l.o.Conn, Stream: events.Stream, After: after, From: from, Batch: batch, PurgeAge: l.o.PurgeAge,
		Patience: cmp.Or(l.o.Patience, Patience), Quiet: true, Log: l.o.Log,
	})
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

// Bounds implements replay.Log.
func (l *Log) Bounds(ctx context.Context) (first, last uint64, err error) {
	s, err := l.js.Stream(ctx, events.Stream)
	if err != nil {
		return 0, 0, fmt.Errorf("log: stream %s: %w", events.Stream, err)
	}
	state := s.CachedInfo().State
	// Of a stream that never had a message the broker says 0 and 0.
	return max(state.FirstSeq, 1), state.LastSeq, nil
}

// latest is the last instant in ms that the broker can count in ns, in the year 2262.
// Beyond it, and before the first that it can, it would take a time for another one.
const latest = math.MaxInt64/int64(time.Millisecond) - 1

// SeqAt returns the sequence of the last message whose broker's timestamp is at or
// before at, epoch ms; 0 when there was none. The message itself may be gone. It is
// exact where the timestamps rise, as those of a clock that was never set back do; else
// it is one such place, for who can do with that: replay.Options.SeqAt knows the right
// one, and reads for it.
//
// A consumer that starts at a time stands before the first message that it would
// deliver, so one question tells, and nothing is delivered. Halving the sequences would
// be a dozen questions, and each may hit a gap.
func (l *Log) SeqAt(ctx context.Context, at int64) (uint64, error) {
	// The broker counts in ns, and all of its millisecond is at or before at.
	after := time.UnixMilli(min(max(at, 0), latest) + 1)
	c, err := l.js.CreateConsumer(ctx, events.Stream, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartTimePolicy,
		OptStartTime:      &after,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: time.Minute,
	})
	if err != nil {
		return 0, fmt.Errorf("log: the message at %s: %w", time.UnixMilli(at).UTC().Format(time.RFC3339), err)
	}
	info := c.CachedInfo()
	// Best effort: a consumer that stays is dropped when it is inactive.
	_ = l.js.DeleteConsumer(ctx, events.Stream, info.Name)
	return info.Delivered.Stream, nil
}
