// Package intake takes events for the log: of many callers in groups,
// and, where it has a spool, also while the log is away.
package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest/groups"
	"github.com/quotashare/quotashare/ingest/spool"
)

// Options say where events go.
type Options struct {
	Conn *nats.Conn
	// SpoolDir is where events are kept while the log is away, "" = they are refused
	// then. A log in the same process is never away alone.
	SpoolDir string
	// SpoolBytes is how much may be kept, 0 = 1 GiB.
	SpoolBytes int64
	Logger     *slog.Logger
}

// Intake is an httpapi.Publisher.
type Intake struct {
	groups  *groups.Groups
	log     *stream
	spool   *spool.Spool // nil = none
	most    int64        // bytes that it may keep
	figures *figures
}

// Open returns an intake, and opens its spool.
func Open(o Options) (*Intake, error) {
	js, err := jetstream.New(o.Conn)
	if err != nil {
		return nil, fmt.Errorf("intake: %w", err)
	}
	i := &Intake{most: cmp.Or(o.SpoolBytes, spool.DefaultMost), figures: newFigures()}
	i.log = &stream{conn: o.Conn, js: js, figures: i.figures}
	i.log.measure()
	var log groups.Log = i.log
	if o.SpoolDir != "" {
		if i.spool, err = spool.Open(spool.Options{Dir: o.SpoolDir, Log: log, Room: i.Room, Most: i.most, Logger: o.Logger}); err != nil {
			return nil, err
		}
		log = i.spool
	}
	i.groups = groups.New(groups.Options{Log: log, Room: i.Room})
	return i, nil
}

// Publish implements httpapi.Publisher.
func (i *Intake) Publish(ctx context.Context, subject string, array []byte, n int) (httpapi.Receipt, error) {
	r, err := i.groups.Publish(ctx, subject, array, n)
	switch {
	case errors.Is(err, groups.ErrFull):
		i.figures.memoryFull.Inc()
		return httpapi.Receipt{}, httpapi.Refuse(httpapi.ErrBusy, "%v", err)
	case errors.Is(err, spool.ErrFull), errors.Is(err, spool.ErrDiskFull):
		i.figures.spoolFull.Inc()
		return httpapi.Receipt{}, httpapi.Refuse(httpapi.ErrBusy, "%v", err)
	case errors.Is(err, spool.ErrDisk):
		return httpapi.Receipt{}, httpapi.Refuse(httpapi.ErrUnavailable, "%v", err)
	}
	return httpapi.Receipt{Seq: r.Seq, Spooled: r.Spooled}, err
}

// Room implements httpapi.Publisher. It waits for nothing, as the connection does while it
// writes to a broker that reads nothing.
func (i *Intake) Room() int { return int(i.log.room.Load()) }

// Run brings what was kept into the log until ctx ends, and returns nil then. Its error
// is that of the disk.
func (i *Intake) Run(ctx context.Context) error {
	if i.spool == nil {
		return nil
	}
	return i.spool.Run(ctx)
}

// Close waits for what is under way. What is kept stays for the next start.
func (i *Intake) Close() error {
	i.groups.Close()
	if i.spool == nil {
		return nil
	}
	return i.spool.Close()
}

// stream is the log.
type stream struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	figures *figures
	room    atomic.Int64 // bytes of events that a message may have
}

// headerRoom is what the headers of a message take at most, of what the broker takes.
const headerRoom = 256

// measure takes in what the broker takes: another one, or the same with another
// configuration, may take less.
func (s *stream) measure() {
	most := s.conn.MaxPayload()
	if most == 0 { // there was no connection yet
		most = math.MaxInt32
	}
	s.room.Store(max(1, most-headerRoom))
}

// Publish implements groups.Log.
func (s *stream) Publish(ctx context.Context, m *groups.Message) (groups.Receipt, error) {
	began := time.Now()
	ack, err := s.publish(ctx, m)
	s.figures.published(m.Events, time.Since(began), ack, err)
	if err != nil {
		return groups.Receipt{}, err
	}
	return groups.Receipt{Seq: ack.Sequence}, nil
}

func (s *stream) publish(ctx context.Context, m *groups.Message) (*jetstream.PubAck, error) {
	// While it connects again the client would keep the message and send it later, when
	// it was given up here.
	if !s.conn.IsConnected() {
		return nil, away(nats.ErrDisconnected)
	}
	s.measure()
	msg := nats.NewMsg(m.Subject)
	msg.Data = m.Data
	msg.Header.Set(events.HeaderContentType, "application/json")
	msg.Header.Set(events.HeaderMsgID, m.ID)
	ack, err := s.js.PublishMsg(ctx, msg)
	if err != nil {
		return nil, s.refusal(err)
	}
	return ack, nil
}

// refusal says of an error whether the log may take the message later.
func (s *stream) refusal(err error) error {
	var said *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return largeError{httpapi.Refuse(httpapi.ErrTooLarge, "this is larger than a message of the log's broker may be, its max_payload of %d bytes: split it", s.conn.MaxPayload())}
	case errors.As(err, &said) && said.ErrorCode == tooLarge:
		return largeError{httpapi.Refuse(httpapi.ErrTooLarge, "this is larger than a message of the log may be, its stream's max_msg_size: split it")}
	case said != nil && said.Code == 400:
		return fmt.Errorf("the log refuses the message: %w", err)
	}
	return away(err)
}

func away(err error) error {
	return awayError{httpapi.Refuse(httpapi.ErrUnavailable, "the log takes no writes at the moment: %v", err)}
}

// awayError is a refusal that spools know.
type awayError struct{ error }

func (awayError) Is(target error) bool { return target == spool.ErrAway }

func (e awayError) Unwrap() error { return e.error }

// largeError is a refusal that groups and spools know.
type largeError struct{ error }

func (largeError) Is(target error) bool { return target == groups.ErrTooLarge }

func (e largeError) Unwrap() error { return e.error }

// tooLarge is the broker's code for a message above the stream's max_msg_size.
const tooLarge = 10054
