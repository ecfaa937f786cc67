package decider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/natsapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/jetsource"
	"github.com/quotashare/quotashare/projector/pebblestore"
)

// Options say what an engine works with.
type Options struct {
	Conn     *nats.Conn
	Dir      string // of the store
	Version  string // of the program, as semantic version
	PurgeAge time.Duration
	// Settings are what the program was told; those of origin Environment are
	// brought into the log once the state has caught up.
	Settings plans.Settings
	Login    string // name of who Conn is to the broker, for people; "" = nobody
	// SnapshotDir is where snapshots of the state are kept, "" = none are.
	SnapshotDir string
	// SnapshotInterval is how often one is taken by itself, if anything was folded
	// since; 0 = never.
	SnapshotInterval time.Duration
	// SnapshotKeep is how many of the newest are kept.
	SnapshotKeep int
	// Step, when set, is called before each step that changes what lasts, by the
	// goroutine that is about to make it. Tests end the process there.
	Step func(name string)
	Log  *slog.Logger
}

// DefaultPurgeAge is the age below which the log forgets no usage.
const DefaultPurgeAge = 60 * 24 * time.Hour

// Engine is a decider. Its methods are safe for concurrent use.
type Engine struct {
	o       Options
	js      jetstream.JetStream
	now     func() int64 // epoch ms
	ids     decisionIDs
	from    string // this process, in settings and log lines
	current atomic.Pointer[projection]
	ready   *gate
	noRoom  atomic.Bool     // the last projection ended for want of it, and none is ready since
	server  *natsapi.Server // one for all projections, so that its counts go on
	metrics *Metrics
	writing chan struct{} // one for who writes configuration
	holds   *holdWriter
	waiters *waiters
	due     *dueWriter
	// snapshots are what a state can begin from, and those who take them.
	snapshots *snapshotKeeper
	shared    *sharedWork // nil without snapshots
	audits    *auditor
	retention *retainer
	locals    projector.Locals // what counts while the log takes no holds
	locally   sync.Mutex       // one at a time judges by them what it adds to them
	late      int64            // ms that a verdict may come after its time: 0, but in tests
	// decisions are what was answered, for the decision log and those who watch.
	decisions       *decisions
	changeDecisions func(*decisionsWriter) // nil but in tests
}

// projection is one state with what keeps it current. A rebuilt state is a new
// projection.
type projection struct {
	state *projector.State
	loop  *projector.Loop
	store *pebblestore.Store
}

// New returns an engine that does nothing until Run.
func New(o Options) (*Engine, error) {
	js, err := jetstream.New(o.Conn)
	if err != nil {
		return nil, fmt.Errorf("decider: %w", err)
	}
	if o.PurgeAge == 0 {
		o.PurgeAge = DefaultPurgeAge
	}
	e := &Engine{o: o, js: js, now: func() int64 { return time.Now().UnixMilli() }, ids: newDecisionIDs(), from: thisProcess(), ready: newGate()}
	e.writing = make(chan struct{}, 1)
	e.decisions = newDecisions(e.Process())
	e.server = natsapi.New(natsapi.Config{Conn: o.Conn, Decider: e, Version: o.Version, Logger: o.Log})
	e.snapshots = newSnapshotKeeper(e)
	if e.shared, err = newSharedWork(e, 0); err != nil {
		return nil, fmt.Errorf("decider: %w", err)
	}
	e.audits = newAuditor(e)
	e.retention = newRetainer(e)
	e.metrics = newMetrics(e)
	e.holds, e.waiters, e.due = newHoldWriter(e), newWaiters(e), newDueWriter(e)
	return e, nil
}

// How long Run waits before it tries again after a failure that is nobody's
// damage, such as a full disk.
const (
	firstRetry = 100 * time.Millisecond
	mostRetry  = 5 * time.Second
)

// Run keeps a projection until the context ends, and then returns nil with
// everything folded also committed.
func (e *Engine) Run(ctx context.Context) error {
	if err := e.audits.clean(); err != nil {
		return fmt.Errorf("decider: %w", err)
	}
	stop, err := e.startDecisions()
	if err != nil {
		return fmt.Errorf("decider: %w", err)
	}
	defer stop()
	stopHolds, err := e.startHolds()
	if err != nil {
		return fmt.Errorf("decider: %w", err)
	}
	defer stopHolds()
	defer e.waiters.start()()
	deafen, err := e.listen()
	if err != nil {
		return fmt.Errorf("decider: %w", err)
	}
	defer deafen()
	wait := firstRetry
	for {
		began := time.Now()
		err := e.project(ctx)
		if ctx.Err() != nil {
			return err
		}
		if time.Since(began) > mostRetry {
			wait = firstRetry
		}
		e.ended(err)
		if e.setAside(err) {
			continue
		}
		e.o.Log.Error("the projection stopped; starting it again", "err", err, "in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		wait = min(2*wait, mostRetry)
	}
}

// unusable are the causes for which a store is not folded on.
var unusable = []error{projector.ErrLogChanged, projector.ErrCorrupt, projector.ErrVersion, errOvertaken}

// step tells the tests what lasts next.
func (e *Engine) step(name string) {
	if e.o.Step != nil {
		e.o.Step(name)
	}
}

// setAside moves a store that must not be folded on out of the way, and
// reports whether it did.
func (e *Engine) setAside(cause error) bool {
	if !slices.ContainsFunc(unusable, func(err error) bool { return errors.Is(cause, err) }) {
		return false
	}
	e.metrics.rebuilds.Inc()
	aside := e.o.Dir + ".aside"
	e.o.Log.Warn("setting the store aside and rebuilding the state from the log, from a snapshot on if one fits", "cause", cause, "kept", aside)
	// Only the newest is kept: it is evidence, not data.
	e.step("set aside: remove the one before")
	err := os.RemoveAll(aside)
	e.step("set aside: rename")
	if err = errors.Join(err, os.Rename(e.o.Dir, aside)); err != nil {
		e.o.Log.Error("cannot set the store aside", "err", err)
		return false
	}
	return true
}

// project opens the store and follows the log until something ends it.
func (e *Engine) project(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Dir(e.o.Dir), 0o700); err != nil {
		return err
	}
	store, err := pebblestore.Open(pebblestore.Options{Dir: e.o.Dir, Log: e.o.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	state, err := e.snapshots.load(ctx, store)
	if err != nil {
		return unlessTold(ctx, err)
	}
	state.Locals, state.OnJudged = &e.locals, e.waiters.tell
	source, err := jetsource.New(jetsource.Options{
		Conn: e.o.Conn, Stream: events.Stream, After: state.Position(), PurgeAge: e.o.PurgeAge, Log: e.o.Log,
		OnMissing: func(n uint64) { e.metrics.missing.Add(float64(n)) },
	})
	if err != nil {
		return err
	}
	defer source.Close()
	p := &projection{state: state, store: store, loop: projector.NewLoop(state, store, source)}
	p.loop.Clock = func() int64 { return e.now() }
	outbox := newOutbox(e.js, store, e.o.Log)
	p.loop.OnRejected = outbox.wake
	outbox.wake() // what an earlier run left
	environment := newEnvironment(e)
	p.loop.OnConfig = func() { environment.wake(); e.retention.wake() }
	e.current.Store(p)
	defer e.current.CompareAndSwap(p, nil)

	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		// The fold ends the others: they must not outlive the store.
		err := p.loop.Run(gctx)
		if err == nil {
			err = gctx.Err()
		}
		return err
	})
	g.Go(func() error { return outbox.run(gctx) })
	g.Go(func() error { return environment.run(gctx, p) })
	g.Go(func() error { return e.due.run(gctx, p) })
	g.Go(func() error { return e.snapshots.run(gctx, p) })
	if e.shared != nil {
		g.Go(func() error { return e.shared.run(gctx, p) })
	}
	g.Go(func() error { return e.retention.run(gctx, p) })
	g.Go(func() error { return e.serve(gctx, p) })
	err = g.Wait()
	state.ExpectNoMore()
	e.waiters.hurry()
	if errors.Is(err, projector.ErrLogChanged) {
		e.snapshots.refused.otherLog(p.loop.Applied())
	}
	return unlessTold(ctx, err)
}

// unlessTold is the error of what was not told to end.
func unlessTold(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// stopWithin bounds how long questions under way may take at the end.
const stopWithin = 2 * time.Second

// serve answers over NATS from when the projection has caught up until ctx
// ends.
func (e *Engine) serve(ctx context.Context, p *projection) error {
	select {
	case <-p.loop.CaughtUp():
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := e.beginAnswering(ctx); err != nil {
		return err
	}
	e.noRoom.Store(false)
	e.ready.set(true)
	// Said when it is so: people and programs that read it go on to ask.
	seq, _ := p.state.At()
	e.o.Log.Info("caught up with the log; answering questions", "seq", seq)
	<-ctx.Done()
	e.ready.set(false)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return errors.Join(ctx.Err(), e.server.Stop(stop))
}

// Ready reports whether there is a state that has caught up with the log and is
// asked over NATS.
func (e *Engine) Ready() bool { return e.ready.isOpen() }

// errNoRoom says why the engine does not get ready.
var errNoRoom = httpapi.Refuse(httpapi.ErrUnavailable, "the disk of the state is full, and the engine cannot start: free some of it")

// ended notes why a projection did.
func (e *Engine) ended(err error) {
	e.noRoom.Store(errors.Is(err, projector.ErrFull) || errors.Is(err, syscall.ENOSPC))
}

// HeldUp implements httpapi.HeldUp.
func (e *Engine) HeldUp() error {
	if e.noRoom.Load() {
		return errNoRoom
	}
	return e.notLetIn()
}

// without is the error of who needs a projection while there is none.
func (e *Engine) without() error {
	if err := e.HeldUp(); err != nil {
		return err
	}
	return errNoState
}

// AwaitReady returns when Ready would report true, or with the context's error.
func (e *Engine) AwaitReady(ctx context.Context) error { return e.ready.wait(ctx) }
