package projector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Loop keeps a State current: it reads the source, folds, and commits to the
// store. Run it once.
//
// Three goroutines pass work on: one reads and decodes, one folds, one
// commits. The fold never waits for a commit unless a whole further batch has
// gathered meanwhile, and readers of the state never wait for either.
type Loop struct {
	state  *State
	store  Store
	source Source

	progress progress
	// head is the broker's timestamp of the oldest message received and not
	// yet folded, 0 when there is none; behind how many more the log had.
	head       atomic.Int64
	behind     atomic.Uint64
	word       atomic.Int64  // our clock when the source last said anything, epoch ms
	ahead      atomic.Int64  // of the broker's clock ours is, see skew
	current    chan struct{} // closed when everything there was has been folded
	once       sync.Once
	tasks      chan task
	commit     chan Batch
	commitDone chan error
	full       atomic.Bool   // the commit under way finds no room
	stuck      chan struct{} // has one when it became so
	// Clock is our clock, epoch ms. It is set before Run, as are the others below.
	Clock func() int64
	// OnRejected, when set, is called after a commit that has rejections in
	// it; it must not block.
	OnRejected func()
	// OnConfig, when set, is called after configuration was folded or rejected;
	// it must not block.
	OnConfig func()
}

// task is work that must be done between two runs by the goroutine that folds.
type task struct {
	do   func() error
	done chan error
}

// How long changes may wait for a commit, and how many may gather before.
// Longer saves writes of counters that change often; after a crash that much
// of the log is folded again.
const (
	cutEvery = 250 * time.Millisecond
	cutAt    = 20_000
	// holdAt is when the fold waits for the running commit.
	holdAt = 4 * cutAt
)

// NewLoop makes the loop of a state loaded from the store.
func NewLoop(state *State, store Store, source Source) *Loop {
	l := &Loop{
		state: state, store: store, source: source,
		current: make(chan struct{}), tasks: make(chan task), commit: make(chan Batch), commitDone: make(chan error, 1),
		stuck: make(chan struct{}, 1),
	}
	l.Clock = func() int64 { return time.Now().UnixMilli() }
	l.progress.applied.Store(state.pos.Seq)
	l.progress.ended = make(chan struct{})
	return l
}

// Run folds until the context ends, then commits what is folded and returns
// nil; or until the source, the fold or a commit fails.
func (l *Loop) Run(ctx context.Context) error {
	defer close(l.progress.ended)
	g, gctx := errgroup.WithContext(ctx)
	runs, free := make(chan *Run, 2), make(chan *Run, 4)
	for range cap(free) {
		free <- new(Run)
	}
	g.Go(func() error { return l.read(gctx, runs, free) })
	g.Go(func() error {
		for b := range l.commit {
			l.commitDone <- l.commitSome(gctx, b)
		}
		return nil
	})
	g.Go(func() error {
		defer close(l.commit)
		return l.fold(gctx, runs, free)
	})
	err := g.Wait()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// fullRetry is how long a commit that finds no room waits before it is tried
// again.
const fullRetry = time.Second

// commitSome commits, on a full disk later. Until there is room the state goes on
// in memory and answers, up to holdAt changes; then the fold waits, and answers
// say how old they are. Giving up at once would take the answers away as well,
// for a store that only saves folding again.
func (l *Loop) commitSome(ctx context.Context, b Batch) error {
	defer l.full.Store(false)
	for {
		err := l.store.Commit(b)
		if !errors.Is(err, ErrFull) {
			return err
		}
		if l.full.CompareAndSwap(false, true) {
			l.stuck <- struct{}{}
		}
		select {
		case <-time.After(fullRetry):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err, b.Close()) // a stop, and no failure
		}
	}
}

// read fills runs with what the source gives.
func (l *Loop) read(ctx context.Context, runs chan<- *Run, free <-chan *Run) error {
	var clocks skew
	for {
		got, err := l.source.Next(ctx)
		if err != nil {
			return err
		}
		now := l.Clock()
		l.word.Store(now)
		if n := len(got.List); n > 0 && got.Pending == 0 {
			clocks.observe(now, got.List[n-1].Time)
			l.ahead.Store(clocks.least())
		}
		if len(got.List) == 0 {
			if l.head.Load() == 0 {
				l.behind.Store(got.Pending)
				if got.Pending == 0 {
					l.caughtUp()
				}
			}
			continue // a sign of life
		}
		for len(got.List) > 0 {
			var r *Run
			select {
			case r = <-free:
			case <-ctx.Done():
				return ctx.Err()
			}
			r.Reset()
			l.head.CompareAndSwap(0, got.List[0].Time)
			n := 0
			for n < len(got.List) && !r.Full() {
				r.Add(got.List[n])
				n++
			}
			got.List = got.List[n:]
			r.pending = uint64(len(got.List)) + got.Pending
			select {
			case runs <- r:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// fold applies runs and cuts batches.
func (l *Loop) fold(ctx context.Context, runs <-chan *Run, free chan<- *Run) error {
	c := &cutter{loop: l, tick: time.NewTimer(time.Hour)}
	defer c.tick.Stop()
	for {
		in := runs
		if c.flying && l.state.Unwritten() >= holdAt {
			in = nil
		}
		var err error
		select {
		case r := <-in:
			err = l.apply(r, len(runs))
			free <- r
			if err == nil {
				err = c.changed()
			}
		case <-c.tick.C:
			err = c.due()
		case e := <-l.commitDone:
			err = c.landed(e)
		case t := <-l.tasks:
			err = c.task(t)
		case <-ctx.Done():
			return c.flush()
		}
		if err != nil {
			return errors.Join(err, c.wait())
		}
	}
}

func (l *Loop) apply(r *Run, queued int) error {
	l.head.Store(r.messages[0].message.Time)
	before := l.state.lastConfig
	if err := l.state.Apply(r); err != nil {
		return fmt.Errorf("fold: %w", err)
	}
	if l.state.lastConfig != before && l.OnConfig != nil {
		l.OnConfig()
	}
	l.behind.Store(r.pending)
	if queued == 0 {
		l.head.Store(0)
	}
	l.progress.advance(l.state.pos.Seq)
	if r.pending == 0 {
		l.caughtUp()
	}
	return nil
}

// cutter decides when a batch is cut. At most one commit is under way.
type cutter struct {
	loop     *Loop
	tick     *time.Timer
	armed    bool // the tick is running
	flying   bool // a commit is under way
	wanted   bool // a cut fell due meanwhile
	rejected bool // the batch under way has rejections
}

// changed notes that the state has changes to write.
func (c *cutter) changed() error {
	if c.loop.state.Unwritten() >= cutAt {
		return c.due()
	}
	if !c.armed {
		c.armed = true
		c.tick.Reset(cutEvery)
	}
	return nil
}

// due cuts, now or when the running commit has landed.
func (c *cutter) due() error {
	c.armed = false
	if c.flying {
		c.wanted = true
		return nil
	}
	return c.cut()
}

func (c *cutter) cut() error {
	c.wanted = false
	s := c.loop.state
	c.rejected = len(s.rejected) > 0
	b := c.loop.store.NewBatch()
	if err := s.Cut(b); err != nil {
		return errors.Join(fmt.Errorf("batch: %w", err), b.Close())
	}
	c.flying = true
	c.loop.commit <- b
	return nil
}

// landed notes the end of the commit.
func (c *cutter) landed(err error) error {
	c.flying = false
	select {
	case <-c.loop.stuck:
	default:
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	c.loop.state.Committed()
	if c.rejected && c.loop.OnRejected != nil {
		c.loop.OnRejected()
	}
	if c.wanted {
		return c.cut()
	}
	return nil
}

// wait waits for the commit under way.
func (c *cutter) wait() error {
	if !c.flying {
		return nil
	}
	c.wanted = false
	return c.landed(<-c.loop.commitDone)
}

// task does one when everything folded is committed. While there is no room for that
// it is refused: the fold must not wait for the disk with it.
func (c *cutter) task(t task) error {
	err := c.settle()
	if err == nil {
		err = c.cut()
	}
	if err == nil {
		err = c.settle()
	}
	if err != nil {
		t.done <- err
		if errors.Is(err, ErrFull) {
			return nil // whoever asked is told; the commit goes on
		}
		return err
	}
	t.done <- t.do()
	return nil
}

// settle waits for the commit under way unless it finds no room.
func (c *cutter) settle() error {
	if !c.flying {
		return nil
	}
	if c.loop.full.Load() {
		return ErrFull
	}
	select {
	case err := <-c.loop.commitDone:
		c.wanted = false
		return c.landed(err)
	case <-c.loop.stuck:
		return ErrFull
	}
}

// flush writes everything that is folded and waits for it.
func (c *cutter) flush() error {
	if err := c.wait(); err != nil {
		return err
	}
	if err := c.cut(); err != nil {
		return err
	}
	return c.wait()
}

func (l *Loop) caughtUp() { l.once.Do(func() { close(l.current) }) }

// CaughtUp is closed once the state has been level with the log.
func (l *Loop) CaughtUp() <-chan struct{} { return l.current }

// Do runs the function between two runs, when everything folded is committed.
// The fold waits for it; decisions do not. ErrFull says that it was not run, as the
// store has no room for what is folded.
func (l *Loop) Do(ctx context.Context, do func() error) error {
	t := task{do: do, done: make(chan error, 1)}
	select {
	case l.tasks <- t:
	case <-l.progress.ended:
		return ErrEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Digest returns the digest of the state at its position.
func (l *Loop) Digest(ctx context.Context) (seq uint64, digest Digest, err error) {
	err = l.Do(ctx, func() (err error) {
		seq = l.state.pos.Seq
		digest, err = l.state.Digest()
		return err
	})
	return seq, digest, err
}

// History returns the minute rows of the connections as of the last message
// folded, see State.History. It waits for no commit and must be closed.
func (l *Loop) History(connectionIDs []string) (*History, error) {
	return l.state.History(l.store, connectionIDs)
}

// Wait returns when the message of that sequence is folded and visible, or with
// the context's error, or ErrEnded.
func (l *Loop) Wait(ctx context.Context, seq uint64) error { return l.progress.wait(ctx, seq) }

// Applied returns the sequence of the last folded message.
func (l *Loop) Applied() uint64 { return l.progress.applied.Load() }

// Lag returns the age, at now by our clock, of the oldest message not yet folded, 0
// when nothing is pending; and the time since the log last said anything. Both in
// milliseconds.
func (l *Loop) Lag(now int64) (behind, silent int64) {
	head := l.head.Load()
	if head == 0 && l.behind.Load() > 0 {
		// The next message is on its way; it is younger than the last one.
		_, head = l.state.At()
	}
	if head != 0 {
		behind = max(0, now-head-l.ahead.Load())
	}
	if word := l.word.Load(); word != 0 {
		silent = max(0, now-word)
	}
	return behind, silent
}

// busyRetry is how long a collection waits for who goes along the chains.
const busyRetry = 20 * time.Millisecond

// Collect runs a collection to its end, a part between two runs each, and returns
// what it dropped. Where it ends early, with the context's error or ErrEnded, nothing
// is lost: another goes on.
func (l *Loop) Collect(ctx context.Context, counters, models int64) (dropped, pairs int, err error) {
	c := &Collection{Counters: counters, Models: models}
	for {
		var at uint32
		var done bool
		if err := l.Do(ctx, func() error {
			at = c.at
			done = l.state.Collect(c)
			at = c.at - at
			return nil
		}); err != nil {
			return 0, 0, err // it may still be under way
		}
		if done {
			return c.Dropped, c.Pairs, nil
		}
		if at > 0 {
			continue
		}
		select {
		case <-time.After(busyRetry):
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
}

// DropHistory deletes the minute rows of the days that end before an instant, epoch
// ms, and returns when they are gone from the store.
func (l *Loop) DropHistory(ctx context.Context, before int64) error {
	if err := l.Do(ctx, func() error {
		l.state.DropHistory(before)
		return nil
	}); err != nil {
		return err
	}
	return l.Do(ctx, func() error { return nil }) // which commits first
}
