package decider

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/usage"
)

// TestUsageSaysHowFarItIsBehind: by the oldest message that it does not have.
func TestUsageSaysHowFarItIsBehind(t *testing.T) {
	const hour = 3_600_000
	var ahead atomic.Int64
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) {
		e.now = func() int64 { return time.Now().UnixMilli() + ahead.Load() }
	})
	_, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{})
	r.must(err)
	ctx := r.within()
	lag := func() int64 {
		u, err := r.Usage(ctx, "p")
		r.must(err) // where it never is, that ctx has ended
		return u.AsOf.LagMs
	}
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	if got := lag(); got != 0 {
		t.Errorf("%d ms behind with everything folded", got)
	}
	r.paused()
	ahead.Store(hour)
	_, err = r.Publish(r.within(), "quota.consumption", "", []byte(`{"apiKeyId":"alice","connectionId":"c"}`))
	r.must(err)
	got := lag()
	for ; got == 0; got = lag() {
		runtime.Gosched() // it is on its way from the log
	}
	if got < hour-1000 || got > hour+60_000 {
		t.Errorf("%d ms behind, want an hour and what the message is old", got)
	}
}

func TestUsageIsNotMadeForOneWhoHasLeft(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	_, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{})
	r.must(err)
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Usage(gone, "p"); !errors.Is(err, context.Canceled) {
		t.Errorf("usage: %v", err)
	}
	now := r.now()
	if _, err := r.History(gone, usage.Query{PoolID: "p", From: now - now%60_000 - 60_000, To: now - now%60_000 + 60_000, StepMs: 60_000}); !errors.Is(err, context.Canceled) {
		t.Errorf("history: %v", err)
	}
}
