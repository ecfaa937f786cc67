package projector

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// progress tells who waits for a sequence that it is applied. The fold looks
// at one atomic number per run while nobody waits.
type progress struct {
	applied atomic.Uint64
	waiting atomic.Int64
	mu      sync.Mutex
	waiters map[*waiter]struct{}
	ended   chan struct{} // closed when nothing more will be applied
}

type waiter struct {
	seq  uint64
	done chan struct{}
}

// ErrEnded is returned to those who wait for a sequence when the loop ends.
var ErrEnded = errors.New("the projection has ended")

// wait returns when the sequence is applied, or with the context's error, or
// ErrEnded.
func (p *progress) wait(ctx context.Context, seq uint64) error {
	if p.applied.Load() >= seq {
		return nil
	}
	w := &waiter{seq: seq, done: make(chan struct{})}
	p.mu.Lock()
	if p.waiters == nil {
		p.waiters = make(map[*waiter]struct{})
	}
	p.waiters[w] = struct{}{}
	p.mu.Unlock()
	// Raised before the second look: advance stores first and looks at waiting
	// after, so one of the two sees the other.
	p.waiting.Add(1)
	defer p.leave(w)
	if p.applied.Load() >= seq {
		return nil
	}
	select {
	case <-w.done:
		return nil
	case <-p.ended:
		return ErrEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *progress) leave(w *waiter) {
	p.waiting.Add(-1)
	p.mu.Lock()
	delete(p.waiters, w)
	p.mu.Unlock()
}

// advance says that everything up to the sequence is applied.
func (p *progress) advance(seq uint64) {
	p.applied.Store(seq)
	if p.waiting.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.waiters {
		if w.seq <= seq {
			close(w.done)
			delete(p.waiters, w)
		}
	}
}
