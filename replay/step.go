package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// Peek returns the next message, which is not folded yet; it is good until the
// next call. io.EOF says that the player is at its end.
func (p *Player) Peek(ctx context.Context) (*events.Message, error) {
	return p.in.peek(ctx)
}

// Step folds the next message. At the end it returns io.EOF.
func (p *Player) Step(ctx context.Context) error {
	m, err := p.Peek(ctx)
	if err != nil {
		return err
	}
	p.add(m)
	return p.apply(ctx)
}

// To folds up to the message of that sequence and with it. A sequence beyond the
// end is an error; one that was folded before is none, and nothing happens.
func (p *Player) To(ctx context.Context, seq uint64) error {
	if seq > p.in.end {
		return fmt.Errorf("replay: there is no message %d: the log ends at %d", seq, p.in.end)
	}
	for p.in.passed < seq {
		if err := p.fill(ctx, seq); err != nil {
			return err
		}
		if p.run.Len() == 0 {
			p.in.finish(seq)
			break
		}
		if err := p.apply(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fill adds messages up to the sequence to the run, until it is full or there are
// none.
func (p *Player) fill(ctx context.Context, seq uint64) error {
	for !p.run.Full() {
		m, err := p.Peek(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Seq > seq:
			return nil
		}
		p.add(m)
	}
	return nil
}

// add takes the next message into the run.
func (p *Player) add(m *events.Message) {
	p.run.Add(*m)
	p.expect(m)
	p.in.take()
	p.uncut++
}

// cutAt is how many messages are folded, or changes gathered, before they go to the
// store: as for an engine, with no time to bound them.
const cutAt = 20_000

// apply folds the run.
func (p *Player) apply(ctx context.Context) error {
	defer p.run.Reset()
	if p.o.Pause != nil {
		if err := p.o.Pause(ctx); err != nil {
			return err
		}
	}
	if err := p.state.Apply(&p.run); err != nil {
		return fmt.Errorf("replay: fold: %w", err)
	}
	p.settle()
	if p.o.Progress != nil {
		p.o.Progress(p.in.passed)
	}
	if p.uncut < cutAt && p.state.Unwritten() < cutAt {
		return nil
	}
	return p.flush()
}

// flush commits what is folded.
func (p *Player) flush() error {
	b := p.store.NewBatch()
	if err := p.state.Cut(b); err != nil {
		return errors.Join(fmt.Errorf("replay: batch: %w", err), b.Close())
	}
	err := p.store.Commit(b)
	if errors.Is(err, projector.ErrFull) {
		err = errors.Join(err, b.Close())
	}
	if err != nil {
		return fmt.Errorf("replay: commit: %w", err)
	}
	p.state.Committed()
	p.uncut = 0
	return nil
}
