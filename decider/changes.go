package decider

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/wire"
)

// maxChanges bounds the documents of one page of changes, in bytes: a thousand
// of the largest would be a gigabyte.
const maxChanges = 8 << 20

// Folded implements httpapi.Watched.
func (e *Engine) Folded() (last, change uint64) {
	p := e.current.Load()
	if p == nil {
		return 0, 0
	}
	return p.loop.Applied(), p.state.LastConfig()
}

// Changes implements httpapi.Watched. It ends where the state does: what is not
// folded yet may still be rejected.
func (e *Engine) Changes(ctx context.Context, after uint64, limit int) (list []httpapi.Change, next uint64, err error) {
	p := e.current.Load()
	if p == nil {
		return nil, 0, e.without()
	}
	v := verdicts{js: e.js, p: p}
	return v.changes(ctx, after, p.loop.Applied(), limit)
}

// Changes is what an engine's Changes are, of a log that no engine folds, such as that
// of a copy, to its end. An event that was refused right before the copy was made may
// look as if it had been taken: no engine has stored the refusal.
func Changes(ctx context.Context, js jetstream.JetStream, after uint64, limit int) (list []httpapi.Change, next uint64, err error) {
	v := verdicts{js: js}
	return v.changes(ctx, after, math.MaxUint64, limit)
}

// changes returns those after one event, up to the message folded last.
func (v *verdicts) changes(ctx context.Context, after, folded uint64, limit int) (list []httpapi.Change, next uint64, err error) {
	log, err := v.js.Stream(ctx, events.Stream)
	if err != nil {
		return nil, 0, unreadable(err)
	}
	for size := 0; after < folded; {
		m, err := log.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(events.ConfigPrefix+">"))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return list, 0, nil
		case err != nil:
			return nil, 0, unreadable(err)
		case m.Sequence > folded:
			return list, 0, nil
		case len(list) == limit || size > maxChanges:
			return list, after, nil
		}
		c, err := v.change(ctx, m)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, c)
		after, size = m.Sequence, size+len(c.Document)
	}
	return list, 0, nil
}

func unreadable(err error) error {
	return httpapi.Refuse(httpapi.ErrUnavailable, "the log cannot be read at the moment: %v", err)
}

// verdicts says what became of configuration events.
type verdicts struct {
	js       jetstream.JetStream
	p        *projection      // nil = there is none
	rejected jetstream.Stream // once it was needed
}

// change makes a change of a message of the log. What is wrong with the message
// alone is found again by reading it. For what was wrong with it at its place
// there is the memory of the state and, for older ones, the stream of rejected
// events.
func (v *verdicts) change(ctx context.Context, m *jetstream.RawStreamMsg) (c httpapi.Change, err error) {
	msg := events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data, Seq: m.Sequence, Time: m.Time.UnixMilli()}
	c = httpapi.Change{Seq: msg.Seq, Time: msg.Time, Subject: msg.Subject}
	if kind, id, err := events.ParseSubject(msg.Subject); err == nil {
		c.Kind, c.ID = strings.TrimPrefix(kind.String(), events.ConfigPrefix), id
	}
	item := events.Decode(&msg, nil)[0]
	if item.Err != nil {
		c.Rejected = item.Err
		tried(&c, m)
		return c, nil
	}
	did(&c, &item.Event)
	c.Rejected, err = v.of(ctx, &msg)
	return c, err
}

// did fills in what a well-formed event says.
func did(c *httpapi.Change, e *events.Event) {
	c.Do, c.Actor, c.Reason = events.ConfigDelete, e.Actor, e.Why
	if !e.Delete {
		c.Do = events.ConfigPut
		c.Document = wire.AppendValue(nil, wire.JSON, e.Document)
	}
}

// tried fills in what can be told of a message that is no such event.
func tried(c *httpapi.Change, m *jetstream.RawStreamMsg) {
	first := func(name string) string { return strings.ToValidUTF8(m.Header.Get(name), "\ufffd") }
	c.Actor, c.Reason = first(events.HeaderActor), first(events.HeaderReason)
	if do := first(events.HeaderConfig); do == events.ConfigPut || do == events.ConfigDelete {
		c.Do = do
	}
	if len(m.Data) == 0 {
		return
	}
	v, err := wire.Parse(wire.Detect(m.Header.Get(events.HeaderContentType), m.Data[0]), m.Data)
	if err == nil {
		c.Document = wire.AppendValue(nil, wire.JSON, v)
	}
}

// of returns why the event was rejected, nil when it was folded.
func (v *verdicts) of(ctx context.Context, m *events.Message) (*events.Rejection, error) {
	// A refusal goes from the memory of the state to the store, and from there to
	// the stream of rejected events. Asked in that order none is missed.
	if v.p != nil {
		if known := v.p.state.Verdict(m.Seq); known.Seq != 0 {
			return known.Rejected, nil
		}
		data, pending, err := projector.PendingRejection(v.p.store, m.Seq, 0)
		if err != nil {
			return nil, err
		}
		if pending {
			return refusalOf(data, m), nil
		}
	}
	if v.rejected == nil {
		s, err := v.js.Stream(ctx, events.RejectedStream)
		if err != nil {
			return nil, unreadable(err)
		}
		v.rejected = s
	}
	if v.rejected.CachedInfo().State.Msgs == 0 {
		return nil, nil
	}
	kept, err := v.rejected.GetLastMsgForSubject(ctx, events.RejectedSubject(m.Seq, 0))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, nil
	case err != nil:
		return nil, unreadable(err)
	}
	return refusalOf(kept.Data, m), nil
}

// refusalOf reads why the event was rejected; nil when the record is of another
// one, which a log that was rolled back may have had at the same place.
func refusalOf(data []byte, m *events.Message) *events.Rejection {
	r, err := events.ParseRejected(data)
	if err != nil || r.Seq != m.Seq || r.Subject != m.Subject || r.Time != m.Time {
		return nil
	}
	return &events.Rejection{Reason: r.Reason, Message: r.Message}
}
