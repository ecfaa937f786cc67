package decider

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
)

// errNoState is returned while the engine has no projection.
var errNoState = httpapi.Refuse(httpapi.ErrUnavailable, "the engine is starting: try again")

// PutPool implements httpapi.Engine.
func (e *Engine) PutPool(ctx context.Context, doc *plans.Pool, m httpapi.Meta) (httpapi.Pool, error) {
	w := configWrite{
		subject: events.ConfigPool.Subject(doc.ID),
		do:      events.ConfigPut,
		body:    fixed(plans.AppendPoolJSON(nil, doc)),
		meta:    m,
		revision: func(p *projection) uint64 {
			old, _ := p.state.Pool(doc.ID)
			return old.Revision
		},
	}
	p, _, err := e.write(ctx, &w)
	if err != nil {
		return httpapi.Pool{}, err
	}
	got, ok := p.state.Pool(doc.ID)
	if !ok {
		return httpapi.Pool{}, httpapi.Refuse(httpapi.ErrLostRace, "pool %q was deleted at the same moment", doc.ID)
	}
	return httpapi.Pool(got), nil
}

// PutPlan implements httpapi.Engine.
func (e *Engine) PutPlan(ctx context.Context, connectionID string, dims []plans.Dimension, m httpapi.Meta) (httpapi.Plan, error) {
	w := configWrite{
		subject:  events.ConfigPlan.Subject(connectionID),
		do:       events.ConfigPut,
		body:     fixed(plans.AppendPlanJSON(nil, connectionID, dims)),
		meta:     m,
		revision: func(p *projection) uint64 { return p.state.Plan(connectionID).Revision },
	}
	if _, _, err := e.write(ctx, &w); err != nil {
		return httpapi.Plan{}, err
	}
	return e.Plan(connectionID), nil
}

// DeletePool implements httpapi.Engine.
func (e *Engine) DeletePool(ctx context.Context, id string, m httpapi.Meta) error {
	return e.remove(ctx, events.ConfigPool.Subject(id), m, func(p *projection) uint64 {
		old, _ := p.state.Pool(id)
		return old.Revision
	})
}

// DeletePlan implements httpapi.Engine.
func (e *Engine) DeletePlan(ctx context.Context, connectionID string, m httpapi.Meta) error {
	return e.remove(ctx, events.ConfigPlan.Subject(connectionID), m, func(p *projection) uint64 {
		return p.state.Plan(connectionID).Revision
	})
}

// remove writes a deletion, which has no body, where there is something to
// delete.
func (e *Engine) remove(ctx context.Context, subject string, m httpapi.Meta, revision func(*projection) uint64) error {
	_, _, err := e.write(ctx, &configWrite{
		subject: subject, do: events.ConfigDelete, meta: m, revision: revision,
		body: func(p *projection) []byte {
			if revision(p) == 0 {
				return nil
			}
			return []byte{}
		},
	})
	return err
}

// configWrite is a configuration document on its way into the log.
type configWrite struct {
	subject string
	do      string // events.ConfigPut or events.ConfigDelete
	// body gives the document for the state there is now; nil = there is
	// nothing to write any more.
	body     func(*projection) []byte
	meta     httpapi.Meta
	revision func(*projection) uint64 // of the document in force; 0 = none
}

func fixed(body []byte) func(*projection) []byte { return func(*projection) []byte { return body } }

// mostAttempts bounds how often a write is tried against others who write at
// the same time.
const mostAttempts = 20

// write publishes the document, waits until it is folded and reports the
// fold's verdict.
//
// Every write expects the last sequence of all configuration, not of its own
// subject: two pools on two subjects could otherwise both take a connection.
// Who loses that race asks the log for that sequence, waits until the state has
// it, and looks again at what is in force now. It is usually the newest one folded;
// not when that message was deleted or had a Nats-TTL. The writers of one
// process stand in line instead: of many who race, only one wins each round, and
// the others would use up their attempts on each other.
func (e *Engine) write(ctx context.Context, w *configWrite) (*projection, uint64, error) {
	select {
	case e.writing <- struct{}{}:
		defer func() { <-e.writing }()
	case <-ctx.Done():
		return nil, 0, unavailable(ctx.Err())
	}
	p := e.current.Load()
	if p == nil {
		return nil, 0, errNoState
	}
	last := p.state.LastConfig()
	for range mostAttempts {
		if r := w.revision(p); w.meta.IfMatch && r != w.meta.ExpectedRevision {
			return nil, 0, httpapi.Refuse(httpapi.ErrLostRace, "the document is at revision %d, not %d: read it again and repeat the change", r, w.meta.ExpectedRevision)
		}
		body := w.body(p)
		if body == nil {
			return p, 0, nil
		}
		ack, err := e.js.PublishMsg(ctx, w.message(body), jetstream.WithExpectLastSequenceForSubject(last, events.ConfigPrefix+">"))
		if outrun(err) {
			if last, err = e.lastConfig(ctx, p); err != nil {
				return nil, 0, err
			}
			continue
		}
		if err != nil {
			return nil, 0, unavailable(err)
		}
		if err := p.loop.Wait(ctx, ack.Sequence); err != nil {
			return nil, 0, httpapi.Refuse(httpapi.ErrUnavailable, "the change is stored as event %d and not yet in force: %v", ack.Sequence, err)
		}
		rejected, _ := p.state.Verdict(ack.Sequence)
		if rejected != nil {
			return nil, 0, httpapi.Refuse(httpapi.ErrConflict, "%s", rejected.Message)
		}
		return p, ack.Sequence, nil
	}
	return nil, 0, httpapi.Refuse(httpapi.ErrLostRace, "others kept changing the configuration at the same time: try again")
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
		return 0, unavailable(err)
	}
	m, err := s.GetLastMsgForSubject(ctx, events.ConfigPrefix+">")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, unavailable(err)
	}
	if err := p.loop.Wait(ctx, m.Sequence); err != nil {
		return 0, httpapi.Refuse(httpapi.ErrUnavailable, "the state does not keep up with the log: %v", err)
	}
	return m.Sequence, nil
}

// lastSeq asks the log for its last sequence.
func (e *Engine) lastSeq(ctx context.Context) (uint64, error) {
	s, err := e.js.Stream(ctx, events.Stream)
	if err != nil {
		return 0, unavailable(err)
	}
	return s.CachedInfo().State.LastSeq, nil
}

func unavailable(err error) error {
	if errors.Is(err, nats.ErrMaxPayload) {
		return httpapi.Refuse(httpapi.ErrTooLarge, "the message is larger than the log takes: split it")
	}
	return httpapi.Refuse(httpapi.ErrUnavailable, "the log takes no writes at the moment: %v", err)
}

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

// Pools implements httpapi.Engine.
func (e *Engine) Pools() []httpapi.Pool {
	p := e.current.Load()
	if p == nil {
		return nil
	}
	list := p.state.Pools()
	out := make([]httpapi.Pool, len(list))
	for i := range list {
		out[i] = httpapi.Pool(list[i])
	}
	return out
}

// Pool implements httpapi.Engine.
func (e *Engine) Pool(id string) (httpapi.Pool, bool) {
	p := e.current.Load()
	if p == nil {
		return httpapi.Pool{}, false
	}
	got, ok := p.state.Pool(id)
	return httpapi.Pool(got), ok
}

// Plan implements httpapi.Engine.
func (e *Engine) Plan(connectionID string) httpapi.Plan {
	p := e.current.Load()
	if p == nil {
		return httpapi.Plan{ConnectionID: connectionID}
	}
	got := p.state.Plan(connectionID)
	return httpapi.Plan{ConnectionID: connectionID, Provider: got.Provider, Plan: got.Plan, Revision: got.Revision}
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
	s := httpapi.State{AppliedSeq: p.loop.Applied(), LastSeq: last, Counts: countsOf(p.state.Counts())}
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

// ended says of a wait that its projection has ended: another one is coming.
func ended(err error) error {
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

// Rejected implements httpapi.Engine.
func (e *Engine) Rejected(ctx context.Context, offset, limit int) ([]events.Rejected, int, error) {
	s, err := e.js.Stream(ctx, events.RejectedStream)
	if err != nil {
		return nil, 0, unavailable(err)
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
			return nil, 0, unavailable(err)
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
