package decider

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/questions"
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
	_, err = r.send("quota.consumption", []byte(`{"apiKeyId":"alice","connectionId":"c"}`))
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

// TestUsageShowsWhatIsInFlight, and who waits.
func TestUsageShowsWhatIsInFlight(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(1, "a", "b")
	for _, request := range []string{"1", "2"} {
		r.folded(routed(request))
	}
	bob := routed("3")
	bob.APIKeyID = "bob"
	var answers []<-chan questions.Reply
	for i, q := range []questions.Question{bob, routed("4"), routed("5")} {
		answers = append(answers, r.routing(q))
		r.awaitQueue([][]string{{"bob:1"}, {"alice:1", "bob:1"}, {"alice:2", "bob:1"}}[i]...)
	}
	u, err := r.Usage(r.within(), "p")
	r.must(err)
	want := []usage.Flight{{ConnectionID: "a", InFlight: 1, MaxConcurrent: 1}, {ConnectionID: "b", InFlight: 1, MaxConcurrent: 1}}
	if !slices.Equal(want, u.Flights) {
		t.Errorf("in flight are %+v, want %+v", u.Flights, want)
	}
	counts := map[string]int{}
	for _, k := range u.Backlog.Keys {
		counts[k.APIKeyID] = k.Waiting
	}
	inOrder := slices.IsSortedFunc(u.Backlog.Keys, func(a, b usage.Wait) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.APIKeyID, b.APIKeyID))
	})
	if u.Backlog.Waiting != 3 || !inOrder || !maps.Equal(counts, map[string]int{"alice": 2, "bob": 1}) {
		t.Errorf("waiting are %+v", u.Backlog)
	}
	for _, request := range []string{"1", "2", "3", "4"} {
		for _, key := range []string{"alice", "bob"} {
			r.release(key, request)
		}
	}
	for _, answer := range answers {
		came(t, answer, "its turn")
	}
	if u, err = r.Usage(r.within(), "p"); err != nil || u.Backlog.Waiting != 0 || u.Flights[0].InFlight+u.Flights[1].InFlight != 1 {
		t.Errorf("at the end: %v, %+v, %+v", err, u.Flights, u.Backlog)
	}
}
