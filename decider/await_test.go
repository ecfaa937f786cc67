package decider

import (
	"context"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/questions"
)

// patience is longer than anything here takes. What is asked in a test may wait for
// 20 s, so a test that finds a fault by itself does so before this.
const patience = time.Minute

// came receives what comes in a moment, and reports whether it came. A test that waited
// for ever would say nothing; this one says who else stands still.
func came[T any](t testing.TB, from <-chan T, what string) (got T, ok bool) {
	t.Helper()
	select {
	case got = <-from:
		return got, true
	case <-time.After(patience):
		var all strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&all, 1) // never fails
		t.Errorf("%s did not come within %s; what runs:\n%s", what, patience, all.String())
		return got, false
	}
}

// await is came for who cannot go on without it.
func await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	got, ok := came(t, from, what)
	if !ok {
		t.FailNow()
	}
	return got
}

// returned tells when a wait is over, as that for a group.
func returned(wait func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	return done
}

// unhurried is a change of an engine whose questions have their verdicts however busy the
// machine is: a route that does not wait for an account has 100 ms otherwise.
func unhurried(e *Engine) { e.late = patience.Milliseconds() }

// outcome is returned for what ends with an error.
func outcome(wait func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- wait() }()
	return done
}

// decide asks, and fails the test when nothing is answered.
func (r *running) decide(ctx context.Context, qs []questions.Question, rs []questions.Reply) {
	r.t.Helper()
	await(r.t, returned(func() { r.Decide(ctx, qs, rs) }), "the answer")
}

// paused keeps the fold from folding until the test calls fold, or ends: the engine of
// one that failed in between would never stop.
func (r *running) paused() (fold func()) {
	r.t.Helper()
	folding, goOn := make(chan struct{}), make(chan struct{})
	fold = sync.OnceFunc(func() { close(goOn) })
	r.t.Cleanup(fold)
	loop, ctx := r.current.Load().loop, r.within()
	go func() {
		_ = loop.Do(ctx, func() error {
			close(folding)
			<-goOn
			return nil
		})
	}()
	await(r.t, folding, "the fold to a stop")
	return fold
}

// acked is the sequence of what was published.
func (r *running) acked(f jetstream.PubAckFuture) uint64 {
	r.t.Helper()
	ctx := r.within()
	select {
	case ack := <-f.Ok():
		return ack.Sequence
	case err := <-f.Err():
		r.t.Fatal(err)
	case <-ctx.Done():
		r.t.Fatalf("no word of the broker on what was published: %v", ctx.Err())
	}
	return 0
}
