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
}

func (s logShape) String() string {
	text := "one event a message"
	if s.perMessage > 1 {
		text = fmt.Sprintf("arrays of %d", s.perMessage)
	}
	if s.ids {
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
	e := usage(n, keyName(key), fmt.Sprintf("codex-%02d", conn))
	if s.ids {
		e.ID = fmt.Sprintf("01JD9Q8ZK3W0%012d", n)
	}
	e.Time = start - 3_600_000 + int64(n)*3_600_000/int64(total)
	return e
}

// write publishes total events of the shape on the subject and returns the
// sequence of the last message.
func (s logShape) write(ctx context.Context, js jetstream.JetStream, subject string, total int) (uint64, error) {
	start := time.Now().UnixMilli()
	p := publisher{js: js, subject: subject}
	batch := make([]events.Event, 0, s.perMessage)
	for n := range total {
		batch = append(batch, s.eventAt(n, total, start))
		if len(batch) < s.perMessage && n < total-1 {
			continue
		}
		if err := p.publish(batch); err != nil {
			return 0, err
		}
		batch = batch[:0]
	}
	return p.flush(ctx)
}

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
func (p *publisher) publish(batch []events.Event) (err error) {
	var body []byte
	if len(batch) == 1 {
		body = events.AppendJSON(nil, &batch[0])
	} else {
		body = events.AppendArray(nil, wire.JSON, batch)
	}
	p.last, err = p.js.PublishAsync(p.subject, body, jetstream.WithStallWait(patience))
	return err
}

// flush waits for the acknowledgement of the last message and returns its
// sequence. The broker acknowledges in order.
func (p *publisher) flush(ctx context.Context) (uint64, error) {
	select {
	case ack := <-p.last.Ok():
		return ack.Sequence, nil
	case err := <-p.last.Err():
		return 0, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
