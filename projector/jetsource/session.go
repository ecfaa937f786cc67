package jetsource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
)

// session is one ephemeral consumer and the pulls on it. Anything that is not
// as expected ends it: a message out of the consumer's own count, silence, a
// consumer that is gone. The source then opens another one.
type session struct {
	conn     *nats.Conn
	sub      *nats.Subscription
	in       chan *nats.Msg
	subject  string // of pull requests
	inbox    string
	pull     []byte
	batch    int    // messages asked for at once
	consumer uint64 // consumer sequence of the last message
	wanted   int    // messages asked for and not delivered yet
	ahead    uint64 // messages from the start on when it was opened
	back     []events.Message
	alarm    *time.Timer
	drop     func()
}

const (
	pullBatch  = 4096
	pullBytes  = 4 << 10 // for each message of a batch
	heartbeat  = 300 * time.Millisecond
	silence    = 4 * heartbeat
	pullExpiry = 30 * time.Second
	inactive   = 30 * time.Second
	mostTaken  = 512 // messages returned at once
)

// openSession creates the consumer, which starts at the sequence. So many messages are
// asked for at once.
func openSession(ctx context.Context, conn *nats.Conn, stream jetstream.Stream, start uint64, batch int) (*session, error) {
	info, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       start,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: inactive,
		MaxDeliver:        -1,
	})
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	name, streamName := info.CachedInfo().Name, info.CachedInfo().Stream
	s := &session{
		conn:  conn,
		batch: batch,
		// Room for all that can be asked for at once, so that nothing is
		// dropped here.
		in:      make(chan *nats.Msg, 4*batch),
		subject: "$JS.API.CONSUMER.MSG.NEXT." + streamName + "." + name,
		inbox:   conn.NewInbox(),
		alarm:   time.NewTimer(silence),
		ahead:   info.CachedInfo().NumPending,
	}
	s.drop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), heartbeat)
		defer cancel()
		// Best effort: a consumer that stays is dropped when it is inactive.
		_ = stream.DeleteConsumer(ctx, name)
	}
	s.pull, _ = json.Marshal(map[string]any{
		"batch": batch, "max_bytes": max(int64(batch)*pullBytes, 2*conn.MaxPayload()),
		"expires": pullExpiry.Nanoseconds(), "idle_heartbeat": heartbeat.Nanoseconds(),
	})
	if s.sub, err = conn.ChanSubscribe(s.inbox, s.in); err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	if err := s.ask(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() {
	s.alarm.Stop()
	_ = s.sub.Unsubscribe() // fails only when the connection is gone
	if s.conn.IsConnected() {
		s.drop()
	}
}

// ask sends pull requests until more than half a batch is on its way twice, so
// that the broker always has one to fill.
func (s *session) ask() error {
	for s.wanted <= s.batch {
		if err := s.conn.PublishRequest(s.subject, s.inbox, s.pull); err != nil {
			return fmt.Errorf("pull: %w", err)
		}
		s.wanted += s.batch
	}
	return nil
}

// take appends what has arrived to list, at least one message; after a
// heartbeat it may append nothing. pending is how many more the stream has.
func (s *session) take(ctx context.Context, list *[]events.Message, pending *uint64) error {
	*list, s.back = append(*list, s.back...), nil
	if len(*list) == 0 {
		if err := s.takeOne(ctx, list, pending); err != nil {
			return err
		}
	}
	for n := min(len(s.in), mostTaken); n > 0; n-- {
		if err := s.accept(<-s.in, list, pending); err != nil {
			return err
		}
	}
	return s.ask()
}

// takeOne waits for one message or heartbeat.
func (s *session) takeOne(ctx context.Context, list *[]events.Message, pending *uint64) error {
	if len(s.in) > 0 {
		return s.accept(<-s.in, list, pending)
	}
	s.alarm.Reset(silence)
	select {
	case m := <-s.in:
		return s.accept(m, list, pending)
	case <-s.alarm.C:
		return errors.New("no heartbeat")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// accept takes one delivery: a message, or a status of a pull.
func (s *session) accept(m *nats.Msg, list *[]events.Message, pending *uint64) error {
	// A status comes to the inbox as such, a message under its own subject. The
	// header does not tell: anybody may publish an empty message with a "Status".
	if m.Subject == s.inbox {
		return s.status(m.Header, pending)
	}
	meta, ok := parseAck(m.Reply)
	if !ok {
		return fmt.Errorf("unexpected delivery with reply subject %q", m.Reply)
	}
	if meta.consumer != s.consumer+1 {
		return fmt.Errorf("delivery %d came after %d", meta.consumer, s.consumer)
	}
	s.consumer = meta.consumer
	s.wanted--
	*pending = meta.pending
	*list = append(*list, events.Message{
		Subject: m.Subject, Header: m.Header, Data: m.Data,
		Seq: meta.stream, Time: meta.time,
	})
	return nil
}

// status handles a heartbeat, or the end of a pull: what it had not delivered
// is no longer on its way. A pull with a limit in bytes says that it is complete
// too, when bytes are left of it.
//
// A heartbeat comes only when the broker has had nothing to deliver. It matters
// when messages that were still to come have been purged meanwhile.
func (s *session) status(h nats.Header, pending *uint64) error {
	switch code, description := h.Get("Status"), h.Get("Description"); {
	case code == "100":
		*pending = 0
		return nil
	case code == "408", code == "409" && (description == "Batch Completed" || strings.Contains(description, "MaxBytes")):
		left, err := strconv.Atoi(h.Get("Nats-Pending-Messages"))
		if err != nil {
			return fmt.Errorf("pull ended without a count: %s", description)
		}
		s.wanted -= left
		return s.ask()
	}
	return fmt.Errorf("pull ended: %s %s", h.Get("Status"), h.Get("Description"))
}

// ack is what the reply subject of a delivery says of it.
type ack struct {
	stream, consumer, pending uint64
	time                      int64 // epoch ms
}

// parseAck reads $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer
// seq>.<time ns>.<pending>, or the longer form that has domain and account in
// front of the stream and perhaps one more token behind. The client library's
// parser allocates, and this runs for each message.
func parseAck(reply string) (a ack, ok bool) {
	const prefix = "$JS.ACK."
	rest, found := strings.CutPrefix(reply, prefix)
	if !found {
		return a, false
	}
	skip := 3 // stream, consumer, delivered
	if strings.Count(rest, ".") > 6 {
		skip += 2
	}
	for range skip {
		_, rest, found = strings.Cut(rest, ".")
		if !found {
			return a, false
		}
	}
	var n [4]uint64
	for i := range n {
		var token string
		token, rest, _ = strings.Cut(rest, ".")
		v, err := strconv.ParseUint(token, 10, 63)
		if err != nil {
			return a, false
		}
		n[i] = v
	}
	return ack{stream: n[0], consumer: n[1], time: int64(n[2] / 1e6), pending: n[3]}, true
}
