package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/jetsource"
	"github.com/quotashare/quotashare/projector/pebblestore"
)

// reading is a log to read, and how much is in it.
type reading struct {
	*world
	r      *runner
	shape  logShape
	last   uint64 // sequence of its last message
	events int    // configuration among them
	rounds int    // stores made so far
}

// openReading writes a log of that shape, which no engine reads.
func (r *runner) openReading(ctx context.Context, shape logShape) (l *reading, err error) {
	l = &reading{r: r, shape: shape, events: r.events}
	if l.world, err = r.openWorld(ctx, relaxedSync); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if shape.holds {
		if err := l.configure(ctx); err != nil {
			return l, err
		}
	}
	l.last, err = shape.write(ctx, l.js, r.events)
	return l, err
}

// configure begins the log with a pool for each connection, so that holds are
// judged by it.
func (l *reading) configure(ctx context.Context) error {
	for i := range logConnections {
		conn := connName(i)
		documents := map[string][]byte{
			events.ConfigPlan.Subject(conn): plans.AppendPlanJSON(nil, conn, dimensions()),
			events.ConfigPool.Subject(conn): plans.AppendPoolJSON(nil, poolOf(conn, conn, logKeys)),
		}
		for subject, document := range documents {
			m := nats.NewMsg(subject)
			m.Header.Set(events.HeaderConfig, events.ConfigPut)
			m.Data = document
			if _, err := l.js.PublishMsg(ctx, m); err != nil {
				return err
			}
			l.events++
		}
	}
	return nil
}

// fold reads the log into the store, which must be empty, from the beginning
// until everything is visible, and returns events per second.
func (l *reading) fold(ctx context.Context, store projector.Store) (slice, error) {
	state, err := projector.Load(store)
	if err != nil {
		return slice{}, err
	}
	m := startMeter()
	source, err := jetsource.New(jetsource.Options{Conn: l.served, Stream: events.Stream, PurgeAge: time.Hour, Log: l.r.log})
	if err != nil {
		return slice{}, err
	}
	loop := projector.NewLoop(state, store, source)
	run, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- loop.Run(run) }()
	err = loop.Wait(ctx, l.last)
	s := m.rate(l.events)
	cancel()
	err = errors.Join(err, <-done)
	source.Close()
	if err == nil {
		err = l.check(state.Counts())
	}
	return s, err
}

// check reports what is missing when everything should be folded.
func (l *reading) check(c projector.Counts) error {
	settled := 0
	if l.shape.holds {
		settled = l.r.events / 2
	}
	if c.Folded != uint64(l.events) || c.Holds.Settled != uint64(settled) {
		return fmt.Errorf("%d of %d events were folded, and %d of %d holds settled: %+v", c.Folded, l.events, c.Holds.Settled, settled, c)
	}
	return nil
}

// foldToDisk folds into a new store, which is gone afterwards.
func (l *reading) foldToDisk(ctx context.Context) (s slice, err error) {
	l.rounds++
	dir := filepath.Join(l.r.dir, fmt.Sprintf("state-%d", l.rounds))
	store, err := pebblestore.Open(pebblestore.Options{Dir: dir, Log: l.r.log})
	if err != nil {
		return s, err
	}
	s, err = l.fold(ctx, store)
	return s, errors.Join(err, store.Close(), os.RemoveAll(dir))
}

// consume reads the log with the client library's ordered consumer and throws
// everything away.
func (l *reading) consume(ctx context.Context) (slice, error) {
	m := startMeter()
	js, err := jetstream.New(l.served)
	if err != nil {
		return slice{}, err
	}
	consumer, err := js.OrderedConsumer(ctx, events.Stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return slice{}, err
	}
	n, all := uint64(0), make(chan struct{})
	reading, err := consumer.Consume(func(jetstream.Msg) {
		if n++; n == l.last {
			close(all)
		}
	})
	if err != nil {
		return slice{}, err
	}
	select {
	case <-all:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s := m.rate(l.events)
	reading.Stop()
	<-reading.Closed()
	return s, err
}

// foldLog measures reading a log of that shape into a store on disk.
func foldLog(shape logShape) func(context.Context, *runner) ([]Row, error) {
	return func(ctx context.Context, r *runner) ([]Row, error) {
		d, err := r.readings(ctx, shape)
		if err != nil {
			return nil, err
		}
		row := d.row("fold, "+shape.String(), "events/s")
		if shape.perMessage > 1 {
			row.Note = "the bare part never looks into a message"
			return []Row{row}, nil
		}
		return []Row{row.judged(ratioAtLeast(0.8))}, nil
	}
}

func (r *runner) readings(ctx context.Context, shape logShape) (d duel, err error) {
	l, err := r.openReading(ctx, shape)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	return alternate(ctx, r.foldRounds, l.foldToDisk, l.consume)
}
