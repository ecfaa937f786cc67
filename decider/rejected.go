package decider

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
)

// Bounds of a page of rejected events. Its messages are read one by one, and one may
// have 350 KB.
const (
	maxRejectedRead  = 1000
	maxRejectedBytes = 8 << 20
)

// Rejected implements httpapi.Engine.
func (e *Engine) Rejected(ctx context.Context, q *httpapi.RejectedQuery) (httpapi.RejectedPage, error) {
	s, err := e.js.Stream(ctx, events.RejectedStream)
	if err != nil {
		return httpapi.RejectedPage{}, unreadable(err)
	}
	state := s.CachedInfo().State
	first := max(state.FirstSeq, 1) // an empty stream begins at 0, where no message can be
	p := rejectedPage{e: e, s: s, q: q}
	p.made.Total = int(state.Msgs)
	if q.Newest {
		return p.backwards(ctx, first, state.LastSeq)
	}
	return p.forwards(ctx, first+uint64(q.Offset), state.LastSeq)
}

// rejectedPage is a page that is being filled.
type rejectedPage struct {
	e    *Engine
	s    jetstream.Stream
	q    *httpapi.RejectedQuery
	read int // messages
	size int // bytes of those that are in the page
	made httpapi.RejectedPage
}

func (p *rejectedPage) forwards(ctx context.Context, from, last uint64) (httpapi.RejectedPage, error) {
	for seq := from; seq <= last && len(p.made.List) < p.q.Limit; seq++ {
		if err := p.take(ctx, seq); err != nil {
			return p.made, err
		}
	}
	return p.made, nil
}

// backwards goes on until the page is full or enough was read for it. Then the next
// one goes on below the last message that was looked at, wanted or not.
func (p *rejectedPage) backwards(ctx context.Context, first, last uint64) (httpapi.RejectedPage, error) {
	seq := last
	if p.q.Before != 0 {
		seq = min(last, p.q.Before-1)
	}
	for ; seq >= first && !p.full(); seq-- {
		if err := p.take(ctx, seq); err != nil {
			return p.made, err
		}
	}
	if seq >= first {
		p.made.Next = seq + 1
	}
	return p.made, nil
}

func (p *rejectedPage) full() bool {
	return len(p.made.List) >= p.q.Limit || p.read >= maxRejectedRead || p.size >= maxRejectedBytes
}

// take reads a message, and keeps it if it is wanted.
func (p *rejectedPage) take(ctx context.Context, seq uint64) error {
	p.read++
	m, err := p.s.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return unreadable(err)
	}
	r, err := events.ParseRejected(m.Data)
	if err != nil {
		// Whoever reaches the broker can publish there, or name such a subject
		// for the broker's reply. One stray message must not hide the others.
		p.e.o.Log.Warn("a message among the rejected events is none of them", "seq", seq, "subject", m.Subject, "err", err)
		return nil
	}
	if p.q.Wants(&r) {
		p.made.List = append(p.made.List, r)
		p.size += len(m.Data)
	}
	return nil
}
