package decider

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
)

// holdWriter brings holds into the log. One message is under way at a time; what
// arrives meanwhile is the next one. So a hold alone is written at once, and many
// share the log's acknowledgement, and with it its fsync, without a timer: waiting
// for more to come would only be longer for the first.
type holdWriter struct {
	js   jetstream.JetStream
	log  *slog.Logger
	name string // of this process, in message ids
	most int    // bytes of a message
	bell chan struct{}

	mu    sync.Mutex
	queue [][]byte // JSON documents of events
	batch uint64
}

func newHoldWriter(e *Engine) *holdWriter {
	return &holdWriter{
		js: e.js, log: e.o.Log, name: e.ids.prefix, most: int(e.o.Conn.MaxPayload()) - 512, // room for headers
		bell: make(chan struct{}, 1),
	}
}

// put queues holds, in their order.
func (w *holdWriter) put(ps []*pending) {
	w.mu.Lock()
	for _, x := range ps {
		w.queue = append(w.queue, x.body)
	}
	w.mu.Unlock()
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// run writes until ctx ends.
func (w *holdWriter) run(ctx context.Context) error {
	for {
		select {
		case <-w.bell:
		case <-ctx.Done():
			return ctx.Err()
		}
		for body := w.take(); body != nil; body = w.take() {
			if err := w.write(ctx, body); err != nil {
				return err
			}
		}
	}
}

// take makes an array of what is queued, as much as a message can have.
func (w *holdWriter) take() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, size := 0, 2
	for n < len(w.queue) && n < events.MaxEvents && size+len(w.queue[n])+1 <= w.most {
		size += len(w.queue[n]) + 1
		n++
	}
	if n == 0 {
		return nil
	}
	body := append(make([]byte, 0, size), '[')
	for i, hold := range w.queue[:n] {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, hold...)
	}
	w.queue = append(w.queue[:0], w.queue[n:]...)
	w.batch++
	return append(body, ']')
}

// holdAckWithin is how long an acknowledgement may take before a message is written
// again.
const holdAckWithin = time.Second

// write publishes a message until the log has it.
func (w *holdWriter) write(ctx context.Context, body []byte) error {
	m := nats.NewMsg("quota.hold")
	m.Data = body
	m.Header.Set(events.HeaderContentType, "application/json")
	m.Header.Set(events.HeaderMsgID, w.name+"holds-"+strconv.FormatUint(w.batch, 10))
	for {
		within, cancel := context.WithTimeout(ctx, holdAckWithin)
		_, err := w.js.PublishMsg(within, m)
		cancel()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		w.log.Warn("the log takes no holds; trying again", "err", err)
	}
}
