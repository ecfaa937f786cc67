package decider

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots/lease"
	"github.com/quotashare/quotashare/snapshots/retention"
)

// retainer deletes what nobody needs any more. Once an hour of log time, at the start,
// and when the setting changes, it makes a plan of what there is, keeps it in a file,
// and executes it. A
// plan that a crash cut in two is not taken up as it was: the next is made of what
// there is then, and has what was left of it. What the old one counted on may have
// been damaged meanwhile.
type retainer struct {
	e    *Engine
	file string     // of the last plan
	turn sync.Mutex // one plan at a time
	mu   sync.Mutex
	last outcomeOfPlan // under mu, for who looks at it
	// left says that a step of the last plan was left because another program, or
	// none, does the shared work.
	left atomic.Bool
	// whole are the snapshots that this process has read to their end; only those
	// count as kept.
	whole   map[uint64]bool
	said    string        // the fault that was logged last
	bell    chan struct{} // the configuration changed
	figures retentionFigures
}

// outcomeOfPlan is the last plan with what became of it, as the file has it.
type outcomeOfPlan struct {
	At       int64          `json:"at"` // our clock, epoch ms
	Plan     retention.Plan `json:"plan"`
	Finished bool           `json:"finished"`
	// Error says why there is no plan, which steps could not be done, or what else
	// deletes of the log.
	Error string `json:"error,omitempty"`
}

func newRetainer(e *Engine) *retainer {
	return &retainer{e: e, file: filepath.Join(filepath.Dir(e.o.Dir), "retention.json"), whole: make(map[uint64]bool), bell: make(chan struct{}, 1)}
}

// How often it is looked whether a plan is due, and how far apart plans are in log
// time.
const (
	retentionLook        = time.Minute
	retentionEvery int64 = 3_600_000
)

// wake says that the configuration changed; it does not block.
func (k *retainer) wake() {
	select {
	case k.bell <- struct{}{}:
	default:
	}
}

// run plans and executes from when the projection has caught up until the context
// ends. A store that fails ends the projection elsewhere; everything else is said and
// tried again with the next plan. The age limit of the log does not wait: a broker
// that ends before has lost configuration when it starts again.
func (k *retainer) run(ctx context.Context, p *projection) error {
	k.lift(ctx)
	select {
	case <-p.loop.CaughtUp():
	case <-ctx.Done():
		return ctx.Err()
	}
	k.begin()
	look := time.NewTicker(retentionLook)
	defer look.Stop()
	var planned retention.Settings
	var was bool
	for next := int64(0); ; {
		settings := k.settings(p)
		_, now := p.state.At()
		// A log that was ahead of our clock may not be any more, without a message.
		ahead := retention.Ahead(now, k.e.now())
		if now >= next || settings != planned || ahead != was || k.left.Load() && k.e.shared.does() {
			k.retain(ctx, p)
			next, planned, was = now+retentionEvery, settings, ahead
		}
		select {
		case <-k.bell:
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begin reads the plan of an earlier run, for people to see.
func (k *retainer) begin() {
	last, ok, err := readOutcome(k.file)
	switch {
	case err != nil:
		k.e.o.Log.Warn("the file of the last retention plan cannot be read; the next one replaces it", "file", k.file, "err", err)
	case ok && !last.Finished && last.Error == "":
		k.e.o.Log.Info("the last retention plan was not finished; what is left of it is planned anew", "steps", len(last.Plan.Steps))
	}
	k.set(last)
}

func (k *retainer) set(x outcomeOfPlan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = x
}

// outcome returns the last plan; its time is 0 when there was none.
func (k *retainer) outcome() outcomeOfPlan {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// retain makes a plan and executes it. One at a time does it.
func (k *retainer) retain(ctx context.Context, p *projection) {
	k.turn.Lock()
	defer k.turn.Unlock()
	x := outcomeOfPlan{At: k.e.now()}
	limit := errors.Join(k.lift(ctx), k.drops(ctx))
	have, err := k.look(ctx, p)
	if err == nil {
		x.Plan, err = retention.Make(k.settings(p), have)
	}
	if err == nil {
		if err = k.keep(x); err == nil {
			err = k.execute(ctx, p, x.Plan.Steps)
		}
		x.Finished = err == nil
	}
	if ctx.Err() != nil {
		return // not finished, as the file says
	}
	if all := errors.Join(limit, err); all != nil {
		x.Error = all.Error()
	}
	err = errors.Join(err, k.keep(x))
	k.figures.ended(&x)
	if k.tell(err); err == nil {
		k.e.o.Log.Info("retention: done", "steps", len(x.Plan.Steps), "kept", len(x.Plan.Keep), "left", k.left.Load())
	}
}

// keep puts the plan into the file and shows it.
func (k *retainer) keep(x outcomeOfPlan) error {
	k.set(x)
	k.e.step("retention: keep the plan")
	return writeOutcome(k.file, &x)
}

// tell logs a fault once, until it is gone or another.
func (k *retainer) tell(err error) {
	switch {
	case err == nil:
		k.said = ""
	case err.Error() != k.said:
		k.said = err.Error()
		k.e.o.Log.Error("retention: not everything that may go was deleted; it is tried again", "err", err)
	}
}

// leastKept is how many snapshots are kept at least, whatever an engine was told.
const leastKept = 2

func (k *retainer) settings(p *projection) retention.Settings {
	rules := p.state.Settings()
	return retention.DefaultSettings(max(leastKept, k.e.o.SnapshotKeep), rules.ConsumptionRetentionDays())
}

// execute does the steps. The log is left when something before could not be done, as
// the purge may count on that, and when another program does the shared work.
func (k *retainer) execute(ctx context.Context, p *projection, steps []retention.Step) error {
	var faults []error
	k.left.Store(false)
	for _, s := range steps {
		if s.Action == retention.PurgeLog && faults != nil {
			continue
		}
		k.e.step("retention: " + string(s.Action))
		err := k.do(ctx, p, &s)
		if errors.Is(err, lease.ErrNotHeld) {
			k.left.Store(true)
			continue
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", s.Action, err))
		}
		if ctx.Err() != nil || errors.Is(err, projector.ErrEnded) {
			break
		}
	}
	return errors.Join(faults...)
}

func (k *retainer) do(ctx context.Context, p *projection, s *retention.Step) error {
	switch s.Action {
	case retention.RemoveSnapshot:
		return k.e.snapshots.dir.Remove(s.Seq)
	case retention.PurgeLog:
		return k.purge(ctx, p, s.Seq)
	case retention.DropCounters:
		return k.collect(ctx, p, s.Before, 0)
	case retention.DropModels:
		return k.collect(ctx, p, 0, s.Before)
	case retention.DropHistory:
		return p.loop.DropHistory(ctx, s.Before)
	}
	return errors.New("this program does not know the step")
}

func (k *retainer) collect(ctx context.Context, p *projection, counters, models int64) error {
	dropped, pairs, err := p.loop.Collect(ctx, counters, models)
	k.figures.counters.Add(uint64(dropped))
	k.figures.pairs.Add(uint64(pairs))
	return err
}
