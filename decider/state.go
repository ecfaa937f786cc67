package decider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
)

// State implements httpapi.Engine.
func (e *Engine) State(ctx context.Context, minSeq uint64, digest bool) (httpapi.State, error) {
	p := e.current.Load()
	if p == nil {
		return httpapi.State{}, e.without()
	}
	if err := p.loop.Wait(ctx, minSeq); err != nil {
		return httpapi.State{}, ended(err)
	}
	log, err := e.logState(ctx)
	if err != nil {
		return httpapi.State{}, err
	}
	s := httpapi.State{AppliedSeq: p.loop.Applied(), LastSeq: log.LastSeq, Counts: countsOf(p.state.Counts()), Retention: e.retention.view()}
	if s.ReplayFrom, err = e.replayFrom(ctx, &log); err != nil {
		return s, err
	}
	s.LagMs, _ = p.loop.Lag(e.now())
	if digest {
		seq, d, err := p.loop.Digest(ctx)
		if err != nil {
			return s, ended(err)
		}
		s.AppliedSeq, s.Digest = seq, fmt.Sprintf("%x", d)
	}
	return s, nil
}

// errFull says that what needs a commit cannot be had.
var errFull = httpapi.Refuse(httpapi.ErrUnavailable, "the disk of the state is full: free some of it; decisions go on")

// ended says of a wait that its projection has ended: another one is coming; and of
// one for a commit that there is no room for it.
func ended(err error) error {
	if errors.Is(err, projector.ErrFull) {
		return errFull
	}
	if errors.Is(err, projector.ErrEnded) {
		return errNoState
	}
	return err
}

func countsOf(c projector.Counts) httpapi.Counts {
	return httpapi.Counts{
		Folded: c.Folded, Duplicates: c.Duplicates, Rejected: c.Rejected, Late: c.Late, Clamped: c.Clamped,
	}
}

// logState asks the log what it has.
func (e *Engine) logState(ctx context.Context) (jetstream.StreamState, error) {
	s, err := e.js.Stream(ctx, events.Stream)
	if err != nil {
		return jetstream.StreamState{}, unreadable(err)
	}
	return s.CachedInfo().State, nil
}

// replayFrom returns the first instant whose state can be folded again, epoch ms, 0
// when none can. Of a log that has all its messages it is that of the first one. What
// was purged is in the snapshots that the purge waited for, so then it is that of the
// oldest. A first message that is still there would say nothing: configuration is
// never purged.
func (e *Engine) replayFrom(ctx context.Context, log *jetstream.StreamState) (int64, error) {
	if log.LastSeq == 0 {
		return 0, nil
	}
	if log.Msgs == log.LastSeq {
		return log.FirstTime.UnixMilli(), nil
	}
	list, err := e.Snapshots(ctx)
	for _, s := range slices.Backward(list) { // the newest first
		if s.Problem == "" {
			return s.Time, err
		}
	}
	return 0, err
}
