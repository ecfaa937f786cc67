package decider

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
)

// Publish implements httpapi.Engine.
func (e *Engine) Publish(ctx context.Context, subject, msgID string, data []byte) (uint64, error) {
	m := nats.NewMsg(subject)
	m.Data = data
	m.Header.Set(events.HeaderContentType, "application/json")
	if msgID != "" {
		m.Header.Set(events.HeaderMsgID, msgID)
	}
	ack, err := e.js.PublishMsg(ctx, m)
	if err != nil {
		return 0, unavailable(err)
	}
	return ack.Sequence, nil
}

// State implements httpapi.Engine.
func (e *Engine) State(ctx context.Context, minSeq uint64, digest bool) (httpapi.State, error) {
	p := e.current.Load()
	if p == nil {
		return httpapi.State{}, errNoState
	}
	if err := p.loop.Wait(ctx, minSeq); err != nil {
		return httpapi.State{}, ended(err)
	}
	last, err := e.lastSeq(ctx)
	if err != nil {
		return httpapi.State{}, err
	}
	s := httpapi.State{AppliedSeq: p.loop.Applied(), LastSeq: last, Counts: countsOf(p.state.Counts()), Retention: e.retention.view()}
	s.LagMs, _ = p.loop.Lag(e.now())
	if digest {
		seq, d, err := p.loop.Digest(ctx)
		if err != nil {
			return s, ended(err)
		}
		s.AppliedSeq, s.Digest = seq, fmt.Sprintf("%x", d)
	}
	return s, nil
}

// errFull says that what needs a commit cannot be had.
var errFull = httpapi.Refuse(httpapi.ErrUnavailable, "the disk of the state is full: free some of it; decisions go on")

// ended says of a wait that its projection has ended: another one is coming; and of
// one for a commit that there is no room for it.
func ended(err error) error {
	if errors.Is(err, projector.ErrFull) {
		return errFull
	}
	if errors.Is(err, projector.ErrEnded) {
		return errNoState
	}
	return err
}

func countsOf(c projector.Counts) httpapi.Counts {
	return httpapi.Counts{
		Folded: c.Folded, Duplicates: c.Duplicates, Rejected: c.Rejected, Late: c.Late, Clamped: c.Clamped,
	}
}

// lastSeq asks the log for its last sequence.
func (e *Engine) lastSeq(ctx context.Context) (uint64, error) {
	s, err := e.js.Stream(ctx, events.Stream)
	if err != nil {
		return 0, unreadable(err)
	}
	return s.CachedInfo().State.LastSeq, nil
}

// Rejected implements httpapi.Engine.
func (e *Engine) Rejected(ctx context.Context, offset, limit int) ([]events.Rejected, int, error) {
	s, err := e.js.Stream(ctx, events.RejectedStream)
	if err != nil {
		return nil, 0, unreadable(err)
	}
	state := s.CachedInfo().State
	var list []events.Rejected
	// An empty stream begins at 0, where no message can be.
	for seq := max(state.FirstSeq, 1) + uint64(offset); seq <= state.LastSeq && len(list) < limit; seq++ {
		m, err := s.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, 0, unreadable(err)
		}
		r, err := events.ParseRejected(m.Data)
		if err != nil {
			// Whoever reaches the broker can publish there, or name such a subject
			// for the broker's reply. One stray message must not hide the others.
			e.o.Log.Warn("a message among the rejected events is none of them", "seq", seq, "subject", m.Subject, "err", err)
			continue
		}
		list = append(list, r)
	}
	return list, int(state.Msgs), nil
}
