package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

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
	p.run.Add(*m)
	p.holds = p.announce(p.holds, m)
	p.in.take()
	return p.apply(ctx)
}

// To folds up to the message of that sequence and with it. A sequence beyond the
// end is an error; one that was folded before is none, and nothing happens. After any
// other error the player is of no more use.
func (p *Player) To(ctx context.Context, seq uint64) error {
	if seq > p.in.end {
		return fmt.Errorf("replay: there is no message %d: the log ends at %d", seq, p.in.end)
	}
	if p.in.passed >= seq {
		return nil
	}
	return p.pipeline(ctx, seq)
}

// batch is a run on its way from who reads to who folds.
type batch struct {
	run    projector.Run
	passed uint64 // sequence of its last message
	holds  []announced
}

// batches is how many are under way: enough that who reads does not stand still while
// the fold commits, or the broker would wait for its reader, and then the fold for the
// broker. With three it was two thirds as fast.
const batches = 64

// pipeline reads and decodes beside the fold, which takes about as long. The caller's
// goroutine folds; the other is gone when it returns.
func (p *Player) pipeline(ctx context.Context, seq uint64) error {
	g, gctx := errgroup.WithContext(ctx)
	full, free := make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		free <- new(batch)
	}
	g.Go(func() error {
		defer close(full)
		return p.prepare(gctx, seq, full, free)
	})
	g.Go(func() error {
		for b := range full {
			if err := p.fold(gctx, &b.run, b.holds, b.passed); err != nil {
				return err
			}
			free <- b
		}
		return nil
	})
	return g.Wait()
}

// prepare fills batches with what comes up to the sequence, until there is no more.
func (p *Player) prepare(ctx context.Context, seq uint64, full chan<- *batch, free <-chan *batch) error {
	for {
		var b *batch
		select {
		case b = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		b.run.Reset()
		b.holds = b.holds[:0]
		if err := p.fill(ctx, seq, b); err != nil {
			return err
		}
		if b.run.Len() == 0 {
			p.in.finish(seq)
			return nil
		}
		full <- b // has room for all there are
	}
}

// fill adds messages up to the sequence to the batch, until it is full or there are
// none.
func (p *Player) fill(ctx context.Context, seq uint64, b *batch) error {
	for !b.run.Full() {
		m, err := p.Peek(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Seq > seq:
			return nil
		}
		b.run.Add(*m)
		b.passed = m.Seq
		b.holds = p.announce(b.holds, m)
		p.in.take()
	}
	return nil
}

// cutAt is how many messages are folded, or changes gathered, before they go to the
// store: as for an engine, with no time to bound them.
const cutAt = 20_000

// apply folds what was added to the player's own run.
func (p *Player) apply(ctx context.Context) error {
	defer func() {
		p.run.Reset()
		p.holds = p.holds[:0]
	}()
	return p.fold(ctx, &p.run, p.holds, p.in.passed)
}

// fold folds a run up to a sequence, in which those holds are.
func (p *Player) fold(ctx context.Context, run *projector.Run, holds []announced, seq uint64) error {
	if p.o.Pause != nil {
		if err := p.o.Pause(ctx); err != nil {
			return err
		}
	}
	p.expect(holds)
	if err := p.state.Apply(run); err != nil {
		return fmt.Errorf("replay: fold: %w", err)
	}
	p.settle(holds)
	p.mark()
	if p.o.Progress != nil {
		p.o.Progress(seq)
	}
	if p.uncut += run.Len(); p.uncut < cutAt && p.state.Unwritten() < cutAt {
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
