package decider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest"
)

// Bounds of how rows are published.
const (
	decisionsEvery = 250 * time.Millisecond // how often is looked for rows that are over
	maxRows        = 1000                   // of one message
	maxUnacked     = 256                    // messages at a time
	headerRoom     = 1024                   // bytes; they count for max_payload
	ackWithin      = 2 * time.Second
	// giveUpAfter is how long a flight is tried. It is far within the broker's
	// window for duplicates, so that what was stored without our knowing is not
	// stored again.
	giveUpAfter = 30 * time.Second
)

// decisionsWriter publishes the rows.
type decisionsWriter struct {
	rows    *decisions
	js      jetstream.JetStream
	most    int          // bytes of a message
	now     func() int64 // epoch ms
	log     *slog.Logger
	every   time.Duration
	giveUp  time.Duration
	failing bool // and that was said
}

// startDecisions begins to publish rows; stop publishes what there is, within a
// bounded time, and returns when nothing runs any more.
func (e *Engine) startDecisions() (stop func(), err error) {
	js, err := jetstream.New(e.o.Conn, jetstream.WithPublishAsyncTimeout(ackWithin), jetstream.WithPublishAsyncMaxPending(2*maxUnacked))
	if err != nil {
		return nil, err
	}
	w := &decisionsWriter{rows: e.decisions, js: js, most: int(e.o.Conn.MaxPayload()) - headerRoom, now: func() int64 { return e.now() }, log: e.o.Log, every: decisionsEvery, giveUp: giveUpAfter}
	if e.changeDecisions != nil {
		e.changeDecisions(w)
	}
	ctx, end := context.WithCancel(context.Background())
	publishing, abandon := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer js.CleanupPublisher()
		w.run(ctx, publishing)
		w.flush(publishing, true)
	}()
	return func() {
		end()
		late := time.AfterFunc(stopWithin, abandon)
		<-done
		late.Stop()
		abandon()
	}, nil
}

// run publishes what is over until the context ends. What is under way then goes
// on: publishing ends later.
func (w *decisionsWriter) run(ctx, publishing context.Context) {
	for ctx.Err() == nil {
		select {
		case <-w.rows.bell:
		case <-ctx.Done():
			return
		}
		for !w.rows.empty() {
			select {
			case <-time.After(w.every):
			case <-ctx.Done():
				return
			}
			w.flush(publishing, false)
		}
	}
}

// batch is one message of rows.
type batch struct {
	msg  *nats.Msg
	rows int
}

// flush publishes the rows that are over, or all, and tries again what the broker
// did not take, until that has lasted too long or the context ends.
func (w *decisionsWriter) flush(ctx context.Context, all bool) {
	flight, number := w.rows.take(w.now(), all)
	if len(flight) == 0 {
		w.rows.landed()
		return
	}
	defer w.rows.landed()
	ctx, cancel := context.WithTimeout(ctx, w.giveUp)
	defer cancel()
	left := w.batches(flight, number)
	for wait := firstRetry; ; wait = min(2*wait, mostRetry) {
		var err error
		if left, err = w.publish(ctx, left); len(left) == 0 {
			w.recovered()
			return
		}
		w.failed(err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			for _, b := range left {
				w.rows.dropped.Add(uint64(b.rows))
			}
			return
		}
	}
}

// failed says once that rows cannot be stored.
func (w *decisionsWriter) failed(err error) {
	if !w.failing {
		w.failing = true
		w.log.Warn("decisions cannot be recorded; trying again, answers go on", "stream", ingest.DecisionsStream, "err", err)
	}
}

func (w *decisionsWriter) recovered() {
	if w.failing {
		w.failing = false
		w.log.Info("decisions are recorded again", "lost", w.rows.dropped.Load()+w.rows.displaced.Load())
	}
}

// publish sends the batches, some at a time, and returns those that were not
// acknowledged, with one of the reasons. One that no broker would take is dropped.
func (w *decisionsWriter) publish(ctx context.Context, list []batch) (left []batch, err error) {
	for len(list) > 0 {
		some := list[:min(len(list), maxUnacked)]
		list = list[len(some):]
		futures := make([]jetstream.PubAckFuture, len(some))
		for i, b := range some {
			f, fail := w.js.PublishMsgAsync(b.msg, jetstream.WithStallWait(ackWithin))
			switch {
			case fail == nil:
				futures[i] = f
			case errors.Is(fail, nats.ErrMaxPayload):
				w.rows.dropped.Add(uint64(b.rows))
			default:
				left, err = append(left, b), fail
			}
		}
		for i, b := range some {
			if futures[i] == nil {
				continue
			}
			if fail := acknowledged(ctx, futures[i]); fail != nil {
				left, err = append(left, b), fail
				continue
			}
			w.rows.stored.Add(uint64(b.rows))
		}
	}
	return left, err
}

func acknowledged(ctx context.Context, f jetstream.PubAckFuture) error {
	select {
	case <-f.Ok():
		return nil
	case err := <-f.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// batches makes messages of the rows: those of one connection in one message, as
// far as it holds them.
func (w *decisionsWriter) batches(flight []*row, number uint64) (list []batch) {
	var order []string
	of := map[string][]*row{}
	for _, r := range flight {
		if of[r.ConnectionID] == nil {
			order = append(order, r.ConnectionID)
		}
		of[r.ConnectionID] = append(of[r.ConnectionID], r)
	}
	for _, connection := range order {
		for rows := of[connection]; len(rows) > 0; {
			data, n := pack(rows, w.most)
			rows = rows[n:]
			msg := nats.NewMsg(decisionSubject(connection))
			msg.Header.Set(events.HeaderContentType, "application/json")
			msg.Header.Set(events.HeaderMsgID, flightID{w.rows.process, number}.message(len(list)))
			msg.Data = data
			list = append(list, batch{msg: msg, rows: n})
		}
	}
	return list
}

// pack encodes the first n rows, as many as are allowed in most bytes, but one at
// least.
func pack(rows []*row, most int) (data []byte, n int) {
	data = []byte{'['}
	for _, r := range rows[:min(len(rows), maxRows)] {
		before := len(data)
		if n > 0 {
			data = append(data, ',')
		}
		data = r.AppendJSON(data)
		if n > 0 && len(data)+1 > most {
			data = data[:before]
			break
		}
		n++
	}
	return append(data, ']'), n
}

// decisionSubject is where the rows of a connection go, "" = of none.
func decisionSubject(connection string) string {
	if connection == "" {
		return ingest.DecisionsPrefix + "_"
	}
	return ingest.DecisionsPrefix + events.EscapeID(connection)
}

// flightID names a flight among those of all processes. It is in the ids of its
// messages, where readers find it.
type flightID struct {
	process string
	number  uint64
}

// message is the id of the i-th message of the flight, by which the broker knows
// one that is sent again.
func (f flightID) message(i int) string { return fmt.Sprintf("%s.%d.%d", f.process, f.number, i) }

// flightOf reads the flight of a message's id; the zero one when it is another's.
func flightOf(id string) (f flightID) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 {
		return flightID{}
	}
	n, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return flightID{}
	}
	return flightID{parts[0], n}
}
