package decider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/lease"
	"github.com/quotashare/quotashare/snapshots/objects"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/retention"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// sharedWork is what the deciders of a log have in common: the snapshots in the
// broker, from which a new one starts, and the work that one of them does for all.
// Nothing of it is needed to answer: without room or rights at the broker the local
// snapshots go on, and the log keeps what it has.
type sharedWork struct {
	e       *Engine
	objects *objects.Store
	lease   *lease.Lease
	bell    chan struct{} // something may have to be stored
	said    bool          // that something could not be; of the goroutine that stores
	figures sharedFigures
}

// newSharedWork returns nil for an engine that keeps no snapshots. A term of 0 is the
// usual one.
func newSharedWork(e *Engine, term time.Duration) (*sharedWork, error) {
	if e.snapshots.dir == nil {
		return nil, nil
	}
	s := &sharedWork{e: e, bell: make(chan struct{}, 1)}
	var err error
	if s.objects, err = objects.New(objects.Options{
		Conn: e.o.Conn, Replicas: e.replicas, Log: e.o.Log,
	}); err != nil {
		return nil, err
	}
	s.lease, err = lease.New(lease.Options{
		Conn: e.o.Conn, Name: e.Process(), Term: term, Replicas: e.replicas, Log: e.o.Log, OnChange: func(bool) { s.ring() },
	})
	e.snapshots.shared = s
	return s, err
}

// replicas is how many copies the log has: what belongs to it is lost with it and
// not before.
func (e *Engine) replicas(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	stream, err := e.js.Stream(ctx, events.Stream)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", events.Stream, err)
	}
	return stream.CachedInfo().Config.Replicas, nil
}

// saved implements sharedSnapshots.
func (s *sharedWork) saved(snapshots.Header) { s.ring() }

func (s *sharedWork) ring() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

// How long a start waits for a broker that does not say which snapshots it has. A
// state that begins without one, over a log that was purged, would be wrong.
const (
	sharedPatience = 30 * time.Second
	sharedPause    = time.Second
)

// fetch implements sharedSnapshots.
func (s *sharedWork) fetch(ctx context.Context, fits func(snapshots.Header) bool) error {
	patience := time.NewTimer(sharedPatience)
	defer patience.Stop()
	for {
		h, err := s.objects.Newest(ctx, s.e.snapshots.dir, fits)
		switch {
		case err == nil:
			s.figures.fetched.Add(1)
			s.e.o.Log.Info("fetched a snapshot from the broker", "seq", h.Seq)
			return nil
		case errors.Is(err, objects.ErrNone):
			return fmt.Errorf("%w: %w", snapdir.ErrNone, err)
		}
		select {
		case <-time.After(sharedPause):
		case <-patience.C:
			s.e.o.Log.Error("the broker does not say which snapshots it has; the state begins without", "err", err)
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// orShared replaces what was found here by what others have stored, where the log no
// longer has what follows: the purge waits for the snapshots of who purges and for
// those in the broker, and not for those on every disk.
func (k *snapshotKeeper) orShared(ctx context.Context, found *snapdir.Snapshot, fits func(snapshots.Header) bool) (*snapdir.Snapshot, error) {
	newer := fits
	if found != nil {
		here := found.Header()
		if k.inLog(ctx, projected.PositionIn(&here)) != forgotten {
			return found, nil
		}
		newer = func(h snapshots.Header) bool { return h.Seq > here.Seq && fits(h) }
	}
	err := k.shared.fetch(ctx, newer)
	if err != nil && found != nil {
		return found, nil // the best there is
	}
	if found != nil {
		err = found.Close()
	}
	if err != nil {
		return nil, err
	}
	return k.dir.Newest(fits)
}

// run asks for the lease once the state has caught up, and does the shared work
// while it has it. A decider that is far behind would store what nobody wants to
// start from.
func (s *sharedWork) run(ctx context.Context, p *projection) error {
	select {
	case <-p.loop.CaughtUp():
	case <-ctx.Done():
		return ctx.Err()
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.lease.Run(gctx) })
	g.Go(func() error { return s.work(gctx) })
	return g.Wait()
}

// sharedRetry is how soon what the broker did not take is tried again, if no new
// snapshot comes before.
const sharedRetry = time.Minute

// work stores snapshots whenever there may be one to store.
func (s *sharedWork) work(ctx context.Context) error {
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-s.bell:
		case <-retry.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if s.lease.Held() && !s.attempt(ctx) {
			retry.Reset(sharedRetry)
		}
	}
}

// attempt stores, and reports whether that went well. What fails is counted each
// time and said once, until it succeeds.
func (s *sharedWork) attempt(ctx context.Context) bool {
	err := s.store(ctx)
	if err == nil || ctx.Err() != nil {
		s.said = s.said && err != nil
		return true
	}
	s.figures.failed.Add(1)
	if !s.said {
		s.said = true
		s.e.o.Log.Warn("a snapshot could not be stored in the broker; those on this disk go on, and it is tried again", "err", err)
	}
	return false
}

// store stores the newest local snapshot if that is worth it, and removes what is
// too many. Done by two at once it does no harm: package lease says why.
func (s *sharedWork) store(ctx context.Context) error {
	list, err := s.objects.List(ctx)
	if err != nil {
		return err
	}
	local := s.e.snapshots.newest()
	if local.Seq == 0 || !s.due(ctx, local, list) {
		return nil
	}
	// First away with what nobody needs: it may be what leaves no room.
	if err := errors.Join(s.objects.Sweep(ctx), s.tidy(ctx, list)); err != nil {
		return err
	}
	o, err := s.objects.Put(ctx, s.e.snapshots.dir, local.Seq)
	if err != nil {
		return err
	}
	s.figures.stored.Add(1)
	s.e.o.Log.Info("stored a snapshot in the broker", "seq", local.Seq, "bytes", o.Size)
	return s.tidy(ctx, append(list, o))
}

// due reports whether a local snapshot is far enough ahead of what a decider could
// start from, by log time: half an interval, because the instants at which snapshots
// are taken are not exactly one apart. What is of another log, or of other rules,
// nobody can start from.
func (s *sharedWork) due(ctx context.Context, local snapshots.Header, list []objects.Object) bool {
	for _, o := range list {
		h := o.Header
		if !projected.Fits(h) || s.e.snapshots.inLog(ctx, projected.PositionIn(&h)) == otherLog {
			continue
		}
		ahead := time.Duration(local.LogTime-h.LogTime) * time.Millisecond
		if h.Seq >= local.Seq || ahead < s.e.o.SnapshotInterval/2 {
			return false
		}
	}
	return true
}

// tidy removes all but those that were stored last, and older ones that audits begin with.
// By sequence a log that was replaced would leave snapshots that are the newest for ever,
// and by age a clock that was wrong would.
func (s *sharedWork) tidy(ctx context.Context, list []objects.Object) error {
	slices.SortFunc(list, func(a, b objects.Object) int { return cmp.Compare(b.Order, a.Order) })
	have := make([]retention.Snapshot, len(list))
	for i := range list {
		have[i] = retention.Snapshot{Seq: list[i].Header.Seq, LogTime: list[i].Header.LogTime}
	}
	p := s.e.current.Load()
	if p == nil {
		return nil // the state is being made anew, and has no settings yet
	}
	settings := s.e.retention.settings(p)
	settings.Newest = max(1, s.e.o.SnapshotKeep)
	for _, i := range retention.Stored(settings, have) {
		if err := s.objects.Remove(ctx, list[i].Header.Seq); err != nil {
			return err
		}
		s.figures.removed.Add(1)
	}
	return nil
}

// mayPurge returns nil if this process does the work that is shared, and had it
// confirmed by the broker just now. Nil shared work is that of an engine without
// snapshots, which purges nothing.
func (s *sharedWork) mayPurge(ctx context.Context) error {
	if s == nil {
		return lease.ErrNotHeld
	}
	return s.lease.Confirm(ctx)
}

// kept returns the headers of the snapshots in the broker, for who plans what the
// log may forget.
func (s *sharedWork) kept(ctx context.Context) ([]snapshots.Header, error) {
	if s == nil {
		return nil, nil
	}
	list, err := s.objects.List(ctx)
	headers := make([]snapshots.Header, len(list))
	for i, o := range list {
		headers[i] = o.Header
	}
	return headers, err
}
