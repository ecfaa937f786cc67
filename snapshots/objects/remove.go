package objects

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// Remove removes a snapshot; one that is not there is no error. The name goes first:
// a removal that is cut in two leaves pieces that nobody sees, and Sweep finishes it.
func (s *Store) Remove(ctx context.Context, seq uint64) error {
	stream, err := s.look(ctx)
	if stream == nil {
		return err
	}
	doing := "remove " + snapdir.Name(seq)
	m, err := s.named(ctx, stream, subjectOf(seq))
	if err != nil || m == nil {
		return err
	}
	s.o.Step("unname")
	if err := s.purge(ctx, stream, m.Subject); err != nil {
		return wrap(doing, err)
	}
	e, err := parse(m)
	if err != nil {
		return nil // whatever pieces it had are nobody's now
	}
	s.o.Step("remove pieces")
	return wrap(doing, s.purge(ctx, stream, piecesOf(e.id)))
}

// Sweep removes what no list shows: pieces without a name, and names of snapshots
// without all their pieces. Both are left by who was killed, and both are what an
// upload under way looks like, so they must be an hour old, by the broker's clock at
// both ends: whose clock is wrong does not matter.
func (s *Store) Sweep(ctx context.Context) error {
	stream, err := s.look(ctx)
	if stream == nil {
		return err
	}
	c, err := s.contents(ctx, stream)
	if err != nil {
		return err
	}
	if err := s.sweepNames(ctx, stream, c); err != nil {
		return err
	}
	for id := range c.pieces {
		if err := s.sweep(ctx, stream, piecesOf(id), c.now); err != nil {
			return err
		}
	}
	return nil
}

// sweepNames removes names, and takes the pieces that belong to some out of what
// there is. Names that are no snapshot's are somebody else's, pieces and all.
func (s *Store) sweepNames(ctx context.Context, stream jetstream.Stream, c contents) error {
	for _, subject := range c.names {
		m, err := s.named(ctx, stream, subject)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		e, err := parse(m)
		if err != nil || e.pieces == c.pieces[e.id] {
			delete(c.pieces, idOf(m))
			continue
		}
		if err := s.sweep(ctx, stream, subject, c.now); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes what a subject has, if its newest message is old.
func (s *Store) sweep(ctx context.Context, stream jetstream.Stream, subject string, now time.Time) error {
	m, err := s.named(ctx, stream, subject)
	if err != nil || m == nil || now.Sub(m.Time) < s.abandoned {
		return err
	}
	s.o.Step("sweep")
	return wrap("sweep", s.purge(ctx, stream, subject))
}
