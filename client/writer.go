package client

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/quotashare/quotashare/ingest/groups"
)

const (
	// ackWithin is how long an acknowledgement may take before a message is written
	// again. It is longer than a log with slow disks takes, and what is written twice
	// is stored once.
	ackWithin = 2 * time.Second
	// firstRetry and mostRetry are the pauses after a message that was not taken.
	firstRetry = 10 * time.Millisecond
	mostRetry  = time.Second
)

// writer brings the buffer into the log. One message is under way at a time, and
// what comes meanwhile is the next one: an event alone is written at once, many share
// an acknowledgement and with it the log's fsync, and there is no timer. With two
// under way the messages are half as large and the order of what is written again is
// lost.
type writer struct {
	buffer  *buffer
	to      transport
	disk    *disk // nil = none
	ids     *ids
	log     *slog.Logger
	body    []byte
	failing time.Time // since when the log takes none, and that was said; zero = it takes them
}

// ending ends a writer.
type ending struct {
	w       *writer
	abandon context.CancelFunc
	done    chan struct{}
	once    sync.Once
	err     error
}

// start begins to write.
func start(w *writer) *ending {
	ctx, abandon := context.WithCancel(context.Background())
	e := &ending{w: w, abandon: abandon, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		w.run(ctx)
	}()
	return e
}

// wait ends the writer: when all is written, or ctx ends. Who comes later waits for
// the first and has the same answer.
func (e *ending) wait(ctx context.Context) error {
	e.once.Do(func() {
		e.w.buffer.close()
		select {
		case <-e.done:
		case <-ctx.Done():
		}
		e.abandon()
		<-e.done
		e.err = e.w.buffer.abandon(context.Cause(ctx))
	})
	return e.err
}

// run writes until there is nothing and nothing comes, or ctx ends.
func (w *writer) run(ctx context.Context) {
	for ctx.Err() == nil {
		more, ended := w.buffer.take(w.to.room())
		switch {
		case more:
			w.deliver(ctx)
		case ended:
			return
		default:
			select {
			case <-w.buffer.bell:
			case <-ctx.Done():
			}
		}
	}
}

// deliver writes the message until the log has it, or will never take it. It keeps
// its id as long as it keeps its events: an acknowledgement may have been lost.
func (w *writer) deliver(ctx context.Context) {
	f := &w.buffer.flight
	id := w.ids.next("m")
	for wait := firstRetry; ; wait = min(2*wait, mostRetry) {
		spooled, err := w.store(ctx, f, id)
		switch {
		case err == nil && spooled:
			w.buffer.spooled()
			return
		case err == nil:
			w.recovered()
			w.buffer.stored()
			return
		case errors.Is(err, errTooLarge) && len(f.list) > 1:
			w.buffer.halve()
			id, wait = w.ids.next("m"), firstRetry
			continue
		case errors.Is(err, errTooLarge):
			w.log.Error("an event is too large for the log", "subject", f.kind.Subject(""), "bytes", len(f.list[0].body))
			w.buffer.tooLarge()
			return
		case ctx.Err() != nil:
			return
		}
		w.failed(err)
		if !pause(ctx, wait) {
			return
		}
		w.buffer.retried()
	}
}

// store brings the message into the log, or onto the disk where there is one.
func (w *writer) store(ctx context.Context, f *flight, id string) (spooled bool, err error) {
	w.body = f.encode(w.body[:0])
	if w.disk != nil {
		return w.disk.store(ctx, &groups.Message{Subject: f.kind.Subject(""), ID: id, Data: w.body, Events: len(f.list)})
	}
	ctx, cancel := context.WithTimeout(ctx, ackWithin)
	defer cancel()
	return false, w.to.store(ctx, f.kind.Subject(""), id, w.body)
}

// encode appends the array.
func (f *flight) encode(dst []byte) []byte {
	dst = append(dst, '[')
	for i, x := range f.list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, x.body...)
	}
	return append(dst, ']')
}

// pause waits, a quarter more or less, so that the gateways of a log that was away do
// not come back to it in step. It returns false when ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d*3/4 + rand.N(d/2))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// failed says once that the log takes no events.
func (w *writer) failed(err error) {
	if w.failing.IsZero() {
		w.failing = time.Now()
		w.log.Warn("the log takes no events; they wait and are sent again", "err", err)
	}
}

func (w *writer) recovered() {
	if !w.failing.IsZero() {
		w.log.Info("the log takes events again", "after", time.Since(w.failing).Round(time.Millisecond).String())
		w.failing = time.Time{}
	}
}
