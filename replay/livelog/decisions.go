package livelog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/questions"
)

// Rows are the replay.Rows of a broker, and replay.Kept.
type Rows struct {
	js  jetstream.JetStream
	log *slog.Logger
}

// NATSRows returns the rows of the decision log that a broker has. A message that is
// none of them is told to the log and passed over: whoever may publish can put one
// there.
func NATSRows(conn *nats.Conn, log *slog.Logger) (*Rows, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("decisions: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Rows{js: js, log: log}, nil
}

// Bounds of reading.
const (
	rowsAtOnce = 32               // messages, each with up to max_payload of rows
	rowsWithin = 10 * time.Second // for these
)

// errRowsBrokeOff is a stream of which the broker sent less than it has.
var errRowsBrokeOff = errors.New("the broker stopped in the middle of the recorded decisions")

// Each implements replay.Rows: it reads what the stream has when it begins.
func (r *Rows) Each(ctx context.Context, fn func(*questions.Record) error) (err error) {
	c, err := r.js.CreateConsumer(ctx, ingest.DecisionsStream, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: time.Minute,
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", ingest.DecisionsStream, err)
	}
	defer func() {
		_ = r.js.DeleteConsumer(ctx, ingest.DecisionsStream, c.CachedInfo().Name) // it ends by itself
	}()
	for left := c.CachedInfo().NumPending; left > 0; {
		n, err := r.some(ctx, c, int(min(left, rowsAtOnce)), fn)
		if err != nil {
			return fmt.Errorf("stream %s: %w", ingest.DecisionsStream, err)
		}
		left -= uint64(n)
	}
	return nil
}

// some reads so many messages.
func (r *Rows) some(ctx context.Context, c jetstream.Consumer, most int, fn func(*questions.Record) error) (n int, err error) {
	within, cancel := context.WithTimeout(ctx, rowsWithin)
	defer cancel()
	got, err := c.Fetch(most, jetstream.FetchContext(within))
	if err != nil {
		return 0, err
	}
	for m := range got.Messages() {
		n++
		if err == nil {
			err = r.rows(m, fn)
		}
	}
	switch {
	case err != nil:
		return n, err
	case ctx.Err() != nil:
		return n, ctx.Err()
	case n == 0:
		return n, errors.Join(errRowsBrokeOff, got.Error())
	}
	return n, nil
}

// rows gives the rows of one message.
func (r *Rows) rows(m jetstream.Msg, fn func(*questions.Record) error) error {
	list, err := questions.ParseRecords(m.Data())
	if err != nil {
		r.log.Warn("a message among the decisions is none of them", "subject", m.Subject(), "err", err)
		return nil
	}
	for i := range list {
		if err := fn(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// KeptSince implements replay.Kept. The stream drops the oldest first, so what it has begins
// with its first message; one that never dropped any began when it was made.
func (r *Rows) KeptSince(ctx context.Context) (int64, error) {
	s, err := r.js.Stream(ctx, ingest.DecisionsStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return time.Now().UnixMilli(), nil // nothing is recorded yet
	}
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", ingest.DecisionsStream, err)
	}
	info := s.CachedInfo()
	switch state := &info.State; {
	case state.FirstSeq <= 1:
		return info.Created.UnixMilli(), nil
	case state.Msgs == 0:
		return state.LastTime.UnixMilli() + 1, nil // the last one is gone too
	default:
		return state.FirstTime.UnixMilli(), nil
	}
}
