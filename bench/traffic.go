package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// usage is the n-th event of a made-up traffic, without id and time.
func usage(n int, key, conn string) events.Event {
	tokens := 100 + n*7919%20_000
	return events.Event{
		Kind: events.Consumption, APIKeyID: key, ConnectionID: conn, Provider: "codex", Model: models[n%len(models)],
		Cost: quota.Amounts{
			quota.Requests: quota.Amount(quota.Requests.Scale()),
			quota.Tokens:   quota.Amount(int64(tokens) * quota.Tokens.Scale()),
			quota.USD:      quota.Amount(tokens * 13_000),
		},
		Given: 1<<quota.Requests | 1<<quota.Tokens | 1<<quota.USD,
	}
}

var models = []string{"gpt-5-codex", "gpt-5-mini", "claude-sonnet-4"}

// logShape says what a log for reading looks like.
type logShape struct {
	perMessage int
	ids        bool
	requests   bool // with requestIds, each of which is remembered
	holds      bool // half of the events are the holds of the others' requests
}

func (s logShape) String() string {
	text := "one event a message"
	if s.perMessage > 1 {
		text = fmt.Sprintf("arrays of %d", s.perMessage)
	}
	switch {
	case s.holds:
		text += ", holds and their settlements"
	case s.requests:
		text += ", with ids and requestIds"
	case s.ids:
		text += ", with ids"
	}
	return text
}

// The traffic of a log: so many keys on each of so many connections, over the
// hour before start.
const (
	logConnections = 20
	logKeys        = 50
)

// eventAt returns event n of total. The multiplications scatter: neighbours are
// of other keys, as in real traffic.
func (s logShape) eventAt(n, total int, start int64) events.Event {
	conn, key := n*31%logConnections, n*17%logKeys
	e := usage(n, keyName(key), connName(conn))
	if s.ids {
		e.ID = fmt.Sprintf("01JD9Q8ZK3W0%012d", n)
	}
	if s.requests {
		e.RequestID = requestID(n)
	}
	e.Time = start - 3_600_000 + int64(n)*3_600_000/int64(total)
	return e
}

// write publishes total events of the shape and returns the sequence of the last
// message. The holds of a message of consumption are the message before it.
func (s logShape) write(ctx context.Context, js jetstream.JetStream, total int) (uint64, error) {
	start := time.Now().UnixMilli()
	used, held := publisher{js: js, subject: events.Consumption.Subject("")}, publisher{js: js, subject: events.Hold.Subject("")}
	if s.holds {
		total /= 2
	}
	batch := make([]events.Event, 0, s.perMessage)
	for n := range total {
		batch = append(batch, s.eventAt(n, total, start))
		if len(batch) < s.perMessage && n < total-1 {
			continue
		}
		if s.holds {
			if err := held.publish(holdsOf(batch)); err != nil {
				return 0, err
			}
		}
		if err := used.publish(batch); err != nil {
			return 0, err
		}
		batch = batch[:0]
	}
	return used.flush(ctx)
}

// holdsOf returns the holds of the requests that were used so.
func holdsOf(used []events.Event) []events.Event {
	holds := make([]events.Event, len(used))
	for i := range used {
		u := &used[i]
		holds[i] = events.Event{
			Kind: events.Hold, ID: u.RequestID, APIKeyID: u.APIKeyID, ConnectionID: u.ConnectionID, Model: u.Model,
			RequestID: u.RequestID, Cost: u.Cost, Given: u.Given, LeaseMs: 300_000, DecisionID: u.RequestID,
		}
	}
	return holds
}

func connName(i int) string { return fmt.Sprintf("codex-%02d", i) }

func requestID(n int) string { return fmt.Sprintf("01JD9Q8ZK3W1%012d", n) }

// array returns the body of a message that begins with event n, for traffic
// that has no end and needs no times.
func (s logShape) array(n int) []byte {
	batch := make([]events.Event, s.perMessage)
	for i := range batch {
		batch[i] = s.eventAt(n+i, 1, 0)
		batch[i].Time = 0
	}
	return events.AppendArray(nil, wire.JSON, batch)
}

// publisher publishes without waiting for each acknowledgement.
type publisher struct {
	js      jetstream.JetStream
	subject string
	last    jetstream.PubAckFuture
}

// patience is how long a publisher waits for room among what is not yet
// acknowledged.
const patience = time.Minute

// publish sends the events in one message, as an array unless it is one.
func (p *publisher) publish(batch []events.Event) error {
	var body []byte
	if len(batch) == 1 {
		body = events.AppendJSON(nil, &batch[0])
	} else {
		body = events.AppendArray(nil, wire.JSON, batch)
	}
	return p.send(body)
}

func (p *publisher) send(body []byte) (err error) {
	p.last, err = p.js.PublishAsync(p.subject, body, jetstream.WithStallWait(patience))
	return err
}

// flush waits for the acknowledgement of the last message and returns its
// sequence, 0 when nothing was published. The broker acknowledges in order.
func (p *publisher) flush(ctx context.Context) (uint64, error) {
	if p.last == nil {
		return 0, nil
	}
	select {
	case ack := <-p.last.Ok():
		return ack.Sequence, nil
	case err := <-p.last.Err():
		return 0, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
