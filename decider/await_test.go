package decider

import (
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// patience is longer than anything here takes. What is asked in a test may wait for
// 20 s, so a test that finds a fault by itself does so before this.
const patience = time.Minute

// await receives what comes in a moment. A test that waited for ever would say
// nothing; this one says who else stands still.
func await[T any](t testing.TB, from <-chan T, what string) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		var all strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&all, 1) // never fails
		t.Fatalf("%s did not come; what runs:\n%s", what, all.String())
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
