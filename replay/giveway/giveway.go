// Package giveway makes audits give way to the engine they share a machine or a broker
// with. Whoever folds a log as fast as it can takes a processor from the fold that
// answers are from, and from the broker that sends to both.
package giveway

import (
	"context"
	"time"
)

// Longest is how long an audit waits for a busy engine, before each run. An engine that
// never has nothing to do would stop it for ever, so it goes on after a while: a run
// takes about a fiftieth of that.
const Longest = 10 * time.Millisecond

// look is how often it looks whether the engine is busy still.
const look = time.Millisecond

// coarse is how exact timers are: a shorter rest would take as long.
const coarse = time.Millisecond

// Pause returns what an audit calls before each run (replay.Options.Pause). It rests for
// as long as the runs before took, because whoever computes without a rest has a
// processor for up to 10 ms, and answers pass through several goroutines that each wait
// for one. And then it waits while the engine is busy. Its error is that of the context.
func Pause(busy func(context.Context) bool) func(context.Context) error {
	var worked time.Duration // since the last rest
	resumed := time.Now()
	return func(ctx context.Context) error {
		if worked += time.Since(resumed); worked >= coarse {
			if err := rest(ctx, min(worked, Longest)); err != nil {
				return err
			}
			worked = 0
		}
		err := wait(ctx, busy)
		resumed = time.Now()
		return err
	}
}

func rest(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
	case <-ctx.Done():
	}
	return ctx.Err()
}

func wait(ctx context.Context, busy func(context.Context) bool) error {
	for waited := time.Duration(0); waited < Longest && busy(ctx); waited += look {
		if err := rest(ctx, look); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// A log is looked at often enough to stop soon, which is no work for who is asked, and
// grows when it has become that many bytes longer since: some hundred messages. Below it
// the fold has next to nothing to do, and an audit that waited for it would take fifty
// times as long.
const (
	growthLook = 100 * time.Millisecond
	growth     = 64 << 10
)

// Growing says that an engine is busy while its log grows, for who is in another process
// and cannot ask its fold. Size returns the bytes of the log; when it fails the engine
// has other troubles than too much to do.
func Growing(size func(context.Context) (uint64, error)) func(context.Context) bool {
	var (
		looked  time.Time
		before  uint64
		growing bool
	)
	return func(ctx context.Context) bool {
		if time.Since(looked) < growthLook {
			return growing
		}
		now, err := size(ctx)
		growing = err == nil && !looked.IsZero() && now >= before+growth
		looked, before = time.Now(), now
		return growing
	}
}
