// Package jetsource reads the log from a JetStream stream, in order, with a
// pull loop of its own.
//
// Reading starts AT the last message that was returned, at every connect, and
// that message must still be the same: sequence, time and hash. A stream that
// was replaced, or rolled back to an older copy and written on, has other
// messages at that sequence; its creation time does not tell. The ordered
// consumer of the client library resumes by number alone and goes on silently
// in such a stream, and a durable consumer has been seen to lose messages over
// a change of leader, so neither is used.
package jetsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// Options say what is read.
type Options struct {
	Conn   *nats.Conn
	Stream string
	// After is the last message applied; the zero Position reads everything.
	After projector.Position
	// From is where reading everything begins, for who looks at a part of the log and
	// keeps no position: a sequence, that of the next message when it is gone.
	From uint64
	// Batch is how many messages of 4 KB are asked for at once, 0 = 4096. What was
	// asked for comes as fast as the broker can send it.
	Batch int
	// PurgeAge is the age below which the stream forgets nothing. A last
	// message that is gone although it is younger means another stream.
	PurgeAge time.Duration
	// Patience is how long a log that does not answer is waited for, 0 = for ever: who
	// serves has nothing better to do, and who was asked for one result has to end.
	Patience time.Duration
	// OnMissing, when set, is told how many messages are not where they were expected.
	OnMissing func(n uint64)
	// Quiet keeps what is missing from Log: for who says it in a result, where it is
	// summed up, and for whom a purge is nothing that went wrong.
	Quiet bool
	Log   *slog.Logger
}

// ErrAway says that the log has not answered for as long as Options.Patience.
var ErrAway = errors.New("the log has not answered")

// Source is a projector.Source over a stream. It is used by one goroutine.
type Source struct {
	o       Options
	js      jetstream.JetStream
	session *session // nil = not connected
	stream  jetstream.Stream
	last    projector.Position
	// lastMessage is the message of last when it was read here; the hash of last
	// is computed from it when it is needed, at the next connect.
	lastMessage events.Message
	list        []events.Message
	pending     uint64
	// away is how long Next has waited since something came. A caller who is long in
	// coming back, and finds a consumer that is gone, has not waited.
	away time.Duration
	replicas
}

// New returns a source that connects when it is first read.
func New(o Options) (*Source, error) {
	js, err := jetstream.New(o.Conn)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	return &Source{o: o, js: js, last: o.After}, nil
}

// Close ends reading.
func (s *Source) Close() {
	if s.session != nil {
		s.session.close()
		s.session = nil
	}
}

// Waits between attempts to connect.
const (
	firstWait = 50 * time.Millisecond
	mostWait  = time.Second // a new leader is found within a second or two of its election
	// lookWithin bounds the first question of an attempt. One that was asked
	// while the broker restarts is lost, and the client library would wait five
	// seconds for it: as long as a state may be old (maxLag).
	lookWithin = time.Second
	// openWithin bounds the making of a consumer. A cluster may give it to a server that
	// is dead and not known to be; the next try may find another one.
	openWithin = 2 * time.Second
)

// Next implements projector.Source. A log that cannot be reached is waited
// for, said once; only ErrLogChanged, ErrAway and the context's end are errors.
func (s *Source) Next(ctx context.Context) (projector.Messages, error) {
	wait, said := firstWait, false
	for {
		asked := time.Now()
		got, err := s.next(ctx)
		switch {
		case err == nil:
			if said {
				s.o.Log.Info("the log is back", "stream", s.o.Stream)
			}
			return got, nil
		case ctx.Err() != nil:
			return got, ctx.Err()
		case errors.Is(err, projector.ErrLogChanged):
			return got, err
		}
		s.Close()
		if !said && wait > firstWait {
			s.o.Log.Warn("the log does not answer; trying again", "stream", s.o.Stream, "err", err)
			said = true
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return got, ctx.Err()
		}
		wait = min(2*wait, mostWait)
		if s.away += time.Since(asked); s.o.Patience != 0 && s.away >= s.o.Patience {
			return got, fmt.Errorf("%w for %s: %w", ErrAway, s.away.Round(time.Second), err)
		}
	}
}

func (s *Source) next(ctx context.Context) (projector.Messages, error) {
	if s.session == nil {
		if err := s.connect(ctx); err != nil {
			return projector.Messages{}, err
		}
		// What was read to verify, and is to be folded, is still to come.
		return projector.Messages{Pending: s.toCome(s.last.Seq, s.pending+uint64(len(s.session.back)))}, nil
	}
	s.list = s.list[:0]
	if err := s.session.take(ctx, &s.list, &s.pending); err != nil {
		return projector.Messages{}, err
	}
	if len(s.list) == 0 {
		if err := s.look(ctx, s.stream, s.last.Seq); err != nil {
			return projector.Messages{}, err
		}
	}
	s.away = 0
	s.note()
	return projector.Messages{List: s.list, Pending: s.toCome(s.last.Seq, s.pending)}, nil
}

// note remembers the last message and reports sequences that are missing in
// the middle, or at the beginning when everything is read. Someone deleted them; there
// is nothing to read instead. After a purge there is one gap between any two changes of
// configuration, so those of a list are told as one.
func (s *Source) note() {
	var missing, from, before uint64
	expect := s.last.Seq + 1
	for i := range s.list {
		if seq := s.list[i].Seq; seq != expect && (s.last.Seq != 0 || s.o.From == 0) {
			if missing == 0 {
				from = expect
			}
			missing, before = missing+seq-expect, seq
		}
		expect = s.list[i].Seq + 1
		s.last.Seq = s.list[i].Seq
	}
	if missing != 0 {
		s.tell(missing, from, before)
	}
	if n := len(s.list); n > 0 {
		s.lastMessage = s.list[n-1]
		s.last.Time = s.lastMessage.Time
	}
}

// tell tells of messages that are missing from one sequence on, and before another.
func (s *Source) tell(missing, from, before uint64) {
	if s.o.OnMissing != nil {
		s.o.OnMissing(missing)
	}
	if !s.o.Quiet {
		s.o.Log.Error("messages are missing in the log; they were deleted, or had a Nats-TTL", "stream", s.o.Stream, "from", from, "before", before, "messages", missing)
	}
}

// connect begins a session at the last message and checks that it is the same.
func (s *Source) connect(ctx context.Context) error {
	look, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	stream, err := s.js.Stream(look, s.o.Stream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", s.o.Stream, err)
	}
	info := stream.CachedInfo()
	if err := s.begin(info, s.last.Seq); err != nil {
		return err
	}
	open, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	session, err := openSession(open, s.o.Conn, stream, max(s.last.Seq, s.o.From, 1), cmp.Or(s.o.Batch, pullBatch))
	if err != nil {
		return err
	}
	s.session, s.stream = session, stream
	s.pending = session.ahead
	if s.last.Seq == 0 {
		return nil
	}
	err = s.verify(ctx, info.State.LastSeq)
	if s.replicated && (session.ahead == 0 || errors.Is(err, projector.ErrLogChanged)) {
		return s.confirm(ctx, err)
	}
	return err
}

// confirm asks the leader for the last message, which a replica has not, or has
// another one. err is what follows if the leader has it neither.
func (s *Source) confirm(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	m, failed := s.stream.GetMsg(ctx, s.last.Seq)
	switch {
	case errors.Is(failed, jetstream.ErrMsgNotFound):
		return err
	case failed != nil:
		return fmt.Errorf("message %d: %w", s.last.Seq, failed)
	}
	there := events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data}
	if m.Time.UnixMilli() != s.last.Time || projector.HashOf(&there) != s.last.Hash {
		return s.another(m.Sequence)
	}
	return fmt.Errorf("%w: it has not got message %d yet", errLags, s.last.Seq)
}

// verify reads the first message of a session, which must be the last one
// applied. end is the last sequence of the stream.
func (s *Source) verify(ctx context.Context, end uint64) error {
	if s.lastMessage.Seq == s.last.Seq {
		s.last.Hash = projector.HashOf(&s.lastMessage)
	}
	if s.session.ahead == 0 {
		return s.forgotten(end + 1) // nothing to read at, however long we wait
	}
	s.list = s.list[:0]
	for len(s.list) == 0 {
		if err := s.session.takeOne(ctx, &s.list, &s.pending); err != nil {
			return err
		}
	}
	first := s.list[0]
	if first.Seq != s.last.Seq {
		if err := s.forgotten(first.Seq); err != nil {
			return err
		}
		s.session.back = append(s.session.back, first)
		return nil
	}
	if first.Time != s.last.Time || projector.HashOf(&first) != s.last.Hash {
		return s.another(first.Seq)
	}
	return nil
}

func (*Source) another(seq uint64) error {
	return fmt.Errorf("%w: message %d is another one than was folded", projector.ErrLogChanged, seq)
}

// forgotten says whether the stream may have forgotten the last message.
func (s *Source) forgotten(first uint64) error {
	if s.last.Expires() || time.Since(time.UnixMilli(s.last.Time)) >= s.o.PurgeAge {
		return nil
	}
	return fmt.Errorf("%w: message %d is gone and it goes on at %d", projector.ErrLogChanged, s.last.Seq, first)
}
