package decider

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
)

// errNoState is returned while the engine has no projection.
var errNoState = httpapi.Refuse(httpapi.ErrUnavailable, "the engine is starting: try again")

// configWrite is a configuration document on its way into the log.
type configWrite struct {
	subject string
	do      string // events.ConfigPut or events.ConfigDelete
	// body gives the document for the state there is now; nil = there is
	// nothing to write.
	body     func(*projection) ([]byte, error)
	meta     httpapi.Meta
	revision func(*projection) uint64 // of the document in force; 0 = none
}

// written is a document that is in force, or was before a later one.
type written struct {
	*projection
	stamp    plans.Stamp // revision 0 = nothing was written: a trial, or what is in force says the same
	anything bool        // there was something to write
}

// remove writes a deletion, which has no body, where there is something to
// delete.
func (e *Engine) remove(ctx context.Context, subject string, m httpapi.Meta, revision func(*projection) uint64) (written, error) {
	return e.write(ctx, &configWrite{
		subject: subject, do: events.ConfigDelete, meta: m, revision: revision,
		body: func(p *projection) ([]byte, error) {
			if revision(p) == 0 {
				return nil, nil
			}
			return []byte{}, nil
		},
	})
}

// writeWithin bounds a write with the time it stands in line; publishWithin the
// part of it that is not broken off when the caller leaves.
const (
	writeWithin   = 20 * time.Second
	publishWithin = 10 * time.Second
)

// mostAttempts bounds how often a write is tried against others who write at
// the same time.
const mostAttempts = 20

// write publishes the document, waits until it is folded and reports the
// fold's verdict.
//
// Every write expects the last sequence of all configuration, not of its own
// subject: two pools on two subjects could otherwise both take a connection.
// It asks the log for that sequence, not the state, and waits until the state has
// it. The state may be behind what the caller did a moment ago through another
// decider, and would refuse for what is not so any more; and the newest message
// that was folded may be gone, deleted or by a Nats-TTL. Who is outrun looks again
// at what is in force. The writers of one process stand in line instead: of many
// who race, only one wins each round, and the others would use up their attempts
// on each other.
func (e *Engine) write(ctx context.Context, w *configWrite) (written, error) {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	select {
	case e.writing <- struct{}{}:
		defer func() { <-e.writing }()
	case <-ctx.Done():
		return written{}, httpapi.Refuse(httpapi.ErrUnavailable, "other changes wait for the log, and this one was not begun: try again")
	}
	p := e.current.Load()
	if p == nil {
		return written{}, e.without()
	}
	for range mostAttempts {
		last, err := e.lastConfig(ctx, p)
		if err != nil {
			return written{}, err
		}
		if err := expect(w.meta, w.revision(p)); err != nil {
			return written{}, err
		}
		body, err := w.body(p)
		if err != nil || body == nil || w.meta.Trial != nil {
			return written{projection: p, anything: body != nil}, err
		}
		done, err := e.publish(ctx, p, w, body, last)
		if !outrun(err) {
			return done, err
		}
	}
	return written{}, httpapi.Refuse(httpapi.ErrLostRace, "others kept changing the configuration at the same time: try again")
}

// publish brings the document into the log and waits for its verdict. A caller who
// leaves meanwhile does not stop it: what is under way must be known of, so that
// an import can take it back.
func (e *Engine) publish(ctx context.Context, p *projection, w *configWrite, body []byte, last uint64) (written, error) {
	m := w.message(body)
	if err := e.fits(m); err != nil {
		return written{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishWithin)
	defer cancel()
	ack, err := e.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequenceForSubject(last, events.ConfigPrefix+">"))
	switch {
	case err == nil:
		return e.verdict(ctx, p, w, ack.Sequence)
	case outrun(err):
		return written{}, err
	case ctx.Err() != nil:
		return written{}, httpapi.Refuse(httpapi.ErrUnavailable, "the log did not acknowledge the change in time, and may have it all the same: read the document before you repeat it")
	}
	return written{}, unavailable(err)
}

// fits reports a document that is too large for the log.
func (e *Engine) fits(m *nats.Msg) error {
	most := e.o.Conn.MaxPayload()
	if int64(m.Size()) <= most {
		return nil
	}
	return httpapi.Refuse(httpapi.ErrTooLarge, "the document has %d bytes with every default written out, and a message of the log %d at most: use fewer or shorter ids", len(m.Data), most)
}

// expect checks that the document in force is the one that the writer has seen.
func expect(m httpapi.Meta, revision uint64) error {
	if !m.IfMatch || m.ExpectedRevision == revision {
		return nil
	}
	return httpapi.Refuse(httpapi.ErrLostRace, "the document is at revision %d, not %d: read it again and repeat the change", revision, m.ExpectedRevision)
}

// verdict waits until the document of that sequence is folded, and says what
// became of it.
func (e *Engine) verdict(ctx context.Context, p *projection, w *configWrite, seq uint64) (written, error) {
	if err := p.loop.Wait(ctx, seq); err != nil {
		return written{}, httpapi.Refuse(httpapi.ErrUnavailable, "the change is stored as event %d and not yet in force: %v", seq, err)
	}
	v := p.state.Verdict(seq)
	if v.Seq == 0 { // hundreds of changes were folded before we came to look
		return written{}, httpapi.Refuse(httpapi.ErrUnavailable, "the change is stored as event %d, and whether it was refused is not known any more: read the document", seq)
	}
	if v.Rejected != nil {
		return written{}, httpapi.Refuse(httpapi.ErrConflict, "%s", v.Rejected.Message)
	}
	return written{p, plans.Stamp{Revision: seq, UpdatedAt: v.Time, Actor: w.meta.Actor, Reason: w.meta.Reason}, true}, nil
}

func (w *configWrite) message(body []byte) *nats.Msg {
	m := nats.NewMsg(w.subject)
	m.Data = body
	m.Header.Set(events.HeaderConfig, w.do)
	m.Header.Set(events.HeaderContentType, "application/json")
	m.Header.Set(events.HeaderTTL, events.TTLNever)
	if w.meta.Actor != "" {
		m.Header.Set(events.HeaderActor, w.meta.Actor)
	}
	if w.meta.Reason != "" {
		m.Header.Set(events.HeaderReason, w.meta.Reason)
	}
	return m
}

// outrun reports whether another configuration message came first.
func outrun(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// lastConfig asks the log for the last sequence of its configuration, 0 when it
// has none, and waits until the state has it. What the state then says may be of a
// later one, against which the write loses again.
func (e *Engine) lastConfig(ctx context.Context, p *projection) (uint64, error) {
	s, err := e.js.Stream(ctx, events.Stream)
	if err != nil {
		return 0, unreadable(err)
	}
	m, err := s.GetLastMsgForSubject(ctx, events.ConfigPrefix+">")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, unreadable(err)
	}
	if err := p.loop.Wait(ctx, m.Sequence); err != nil {
		return 0, httpapi.Refuse(httpapi.ErrUnavailable, "the state does not keep up with the log: %v", err)
	}
	return m.Sequence, nil
}

func unavailable(err error) error {
	if errors.Is(err, nats.ErrMaxPayload) {
		return httpapi.Refuse(httpapi.ErrTooLarge, "the message is larger than the log takes: split it")
	}
	return httpapi.Refuse(httpapi.ErrUnavailable, "the log takes no writes at the moment: %v", err)
}
