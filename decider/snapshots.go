package decider

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// snapshotKeeper takes snapshots of the state, one at a time, and knows which one a
// store may begin from. Which are removed again, retention says.
type snapshotKeeper struct {
	e   *Engine
	dir *snapdir.Dir // nil = none are kept
	// shared are those of all deciders, nil = there are none. Set before Run.
	shared sharedSnapshots
	// asked are those who want one now. Each that was taken up is answered.
	asked   chan chan<- takenSnapshot
	refused refusedSnapshots
	figures snapshotFigures
}

// sharedSnapshots are those that the deciders of a log have in common.
type sharedSnapshots interface {
	// saved says that there is a new one in the directory; it does not block.
	saved(h snapshots.Header)
	// fetch brings the newest good one that fits into the directory. An error wraps
	// snapdir.ErrNone when there is none.
	fetch(ctx context.Context, fits func(snapshots.Header) bool) error
}

// takenSnapshot is what became of one.
type takenSnapshot struct {
	header snapshots.Header
	sum    snapshots.Summary
	err    error
}

func newSnapshotKeeper(e *Engine) *snapshotKeeper {
	k := &snapshotKeeper{e: e, asked: make(chan chan<- takenSnapshot)}
	if e.o.SnapshotDir == "" {
		return k
	}
	o := snapdir.Options{Dir: e.o.SnapshotDir, Log: e.o.Log}
	if e.o.Step != nil {
		o.FS = snapdir.Stepped(nil, func(name string) { e.step("snapshot: " + name) })
	}
	k.dir = snapdir.New(o)
	return k
}

// errNoSnapshots says that this program was not told where to keep any.
var errNoSnapshots = httpapi.Refuse(httpapi.ErrConflict, "snapshots: none are kept here: this program was given no directory for them")

// askPatience is how long one that is asked for waits for those before it, or for a
// projection that can be kept.
const askPatience = 30 * time.Second

// ask has one taken of the projection under way.
func (k *snapshotKeeper) ask(ctx context.Context) (takenSnapshot, error) {
	if k.dir == nil {
		return takenSnapshot{}, errNoSnapshots
	}
	answer := make(chan takenSnapshot, 1)
	select {
	case k.asked <- answer:
	case <-time.After(askPatience):
		return takenSnapshot{}, k.e.without()
	case <-ctx.Done():
		return takenSnapshot{}, ctx.Err()
	}
	select {
	case got := <-answer:
		return got, got.err
	case <-ctx.Done():
		return takenSnapshot{}, ctx.Err()
	}
}

// run takes snapshots of a projection until the context ends. A store that turns out
// to be corrupt ends the projection: it would not load at the next start either.
func (k *snapshotKeeper) run(ctx context.Context, p *projection) error {
	if k.dir == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	last := k.newest()
	tick := time.NewTimer(k.firstWait(last))
	defer tick.Stop()
	for {
		var answer chan<- takenSnapshot
		select {
		case answer = <-k.asked:
		case <-tick.C:
			tick.Reset(k.interval())
			if p.loop.Applied() == last.Seq {
				continue
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		got := k.take(ctx, p)
		if answer != nil {
			answer <- got
		}
		switch {
		case got.err == nil:
			last = got.header
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(got.err, projector.ErrCorrupt):
			return got.err
		}
	}
}

// interval is how long after one the next is due: for ever when none is taken
// unasked.
func (k *snapshotKeeper) interval() time.Duration {
	if k.e.o.SnapshotInterval <= 0 {
		return math.MaxInt64
	}
	return k.e.o.SnapshotInterval
}

// firstWait is how long until the first one is due: an interval after the newest
// there is, so that a program that is started often takes no more than others, nor
// none at all. Its clock may have been wrong.
func (k *snapshotKeeper) firstWait(last snapshots.Header) time.Duration {
	since := time.Duration(k.e.now()-last.LogTime) * time.Millisecond
	if last.Seq == 0 || since < 0 {
		since = 0
	}
	return max(0, k.interval()-since)
}

// newest returns the header of the newest snapshot that this program could begin
// from, as far as headers tell, and the zero header when there is none.
func (k *snapshotKeeper) newest() snapshots.Header {
	h, err := k.findNewest()
	if err != nil {
		k.e.o.Log.Warn("cannot list the snapshots", "dir", k.e.o.SnapshotDir, "err", err)
	}
	return h
}

func (k *snapshotKeeper) findNewest() (snapshots.Header, error) {
	list, err := k.dir.List()
	for _, seq := range list {
		if h, ok := k.usable(seq); ok {
			return h, err
		}
	}
	return snapshots.Header{}, err
}

// take takes one of everything that is folded.
func (k *snapshotKeeper) take(ctx context.Context, p *projection) (got takenSnapshot) {
	k.sortOut(ctx)
	began := time.Now()
	got.header, got.sum, got.err = projected.Save(ctx, k.dir, flushed{ctx, p})
	took := time.Since(began)
	switch {
	case got.err == nil:
		k.figures.taken(&got, took)
		k.e.o.Log.Info("took a snapshot", "seq", got.header.Seq, "bytes", got.sum.Bytes, "took", took)
		if k.shared != nil {
			k.shared.saved(got.header)
		}
		k.tidy()
		k.e.retention.thin(p)
	case ctx.Err() == nil && !errors.Is(got.err, projected.ErrNothing):
		k.figures.failed.Add(1)
		k.e.o.Log.Error("no snapshot could be taken; the state goes on without", "err", got.err)
	}
	return got
}

// flushed takes snapshots of a store that has everything folded so far, also what
// waits for a commit: who asks for one after a write expects that it is in it.
type flushed struct {
	ctx context.Context
	p   *projection
}

func (f flushed) Snapshot() (projector.Snapshot, error) {
	if err := f.p.loop.Do(f.ctx, func() error { return nil }); err != nil {
		return nil, fmt.Errorf("wait for the fold: %w", err)
	}
	return f.p.store.Snapshot()
}
