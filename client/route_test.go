package client

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// twoAccounts gives the pool a second connection, and each so many calls at once.
func (e *engine) twoAccounts(most int64) {
	e.t.Helper()
	half := 50 * quota.RatioOne
	e.putPool(&plans.Pool{
		ID: "team", Name: "Team", Provider: "kimi", Reserve: 100,
		Connections: []plans.Connection{{ConnectionID: "c", Weight: 100, MaxConcurrent: most}, {ConnectionID: "d", Weight: 100, MaxConcurrent: most}},
		Allocations: []plans.Allocation{{APIKeyID: "alice", Weight: half}, {APIKeyID: "bob", Weight: half}},
	})
}

func route(t *testing.T, c *Client, q RouteQuestion) Decision {
	t.Helper()
	d, err := c.Route(within(t), q)
	must(t, err)
	return d
}

func TestRoutesTakeTurns(t *testing.T) {
	e := startEngine(t)
	e.twoAccounts(0)
	c, _ := e.client(nil)
	var got []string
	for range 4 {
		d := route(t, c, RouteQuestion{APIKeyID: "alice", Pool: "team", Estimate: Amounts{Tokens: 1}})
		if !d.Allow || d.Hold.ConnectionID != d.ConnectionID || len(d.Candidates) != 2 || d.Candidates[0].ConnectionID != d.ConnectionID {
			t.Errorf("chosen %+v", d)
		}
		got = append(got, d.ConnectionID)
		must(t, c.Settle(d.Hold, Amounts{Tokens: 1}))
		e.folded(c)
	}
	if want := []string{"c", "d", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("chosen %q, want %q", got, want)
	}
}

func TestARouteWaitsForRoom(t *testing.T) {
	e := startEngine(t)
	e.twoAccounts(1)
	c, _ := e.client(nil)
	q := RouteQuestion{APIKeyID: "alice", Candidates: []questions.Candidate{{ConnectionID: "c"}}, Estimate: Amounts{Tokens: 1}}
	first := route(t, c, q)
	if d := route(t, c, q); d.Allow || d.Reason != "capacity" || d.Status != 429 || d.Traffic != nil {
		t.Errorf("without a wait: %+v", d)
	}
	explained := q
	explained.Explain = true
	if d := route(t, c, explained); d.Traffic == nil || *d.Traffic != (questions.Traffic{InFlight: 1, MaxConcurrent: 1}) {
		t.Errorf("explained: %+v of %+v", d.Traffic, d)
	}
	q.MaxWait = 20 * time.Second
	second := make(chan Decision, 1)
	go func() {
		d, err := c.Route(context.Background(), q)
		mustToo(t, err)
		second <- d
	}()
	waits := make(chan struct{})
	go func() { // it is in the backlog when the log has its hold
		defer close(waits)
		for ctx := within(t); ctx.Err() == nil; {
			s, err := e.State(ctx, 0, false)
			mustToo(t, err)
			if s.LastSeq >= 4 && s.AppliedSeq == s.LastSeq {
				return
			}
		}
	}()
	<-waits
	must(t, c.Release(first.Hold))
	if d := <-second; !d.Allow || d.ConnectionID != "c" {
		t.Errorf("after the release: %+v", d)
	}
}

func TestARouteWithoutAnAnswer(t *testing.T) {
	b := startBroker(t)
	q := RouteQuestion{APIKeyID: "alice", Candidates: []questions.Candidate{{ConnectionID: "c"}, {ConnectionID: "d"}}}
	c, _ := b.client(nil)
	if d := route(t, c, q); !d.Allow || d.ConnectionID != "c" || d.Hold.ConnectionID != "c" || d.Reason != ReasonFailOpen {
		t.Errorf("open: %+v", d)
	}
	c, _ = b.client(func(o *Options) { o.FailClosed = true })
	if d := route(t, c, q); d.Allow || d.ConnectionID != "" || d.Status != 503 {
		t.Errorf("closed: %+v", d)
	}
}

func TestBadRoutesNeverPass(t *testing.T) {
	b := startBroker(t)
	c, _ := b.client(nil)
	for name, q := range map[string]RouteQuestion{
		"no key":       {Pool: "p"},
		"no target":    {APIKeyID: "a"},
		"two targets":  {APIKeyID: "a", Pool: "p", Route: "qtSd/p/kimi/m"},
		"no candidate": {APIKeyID: "a", Candidates: []questions.Candidate{{}}},
		"no UTF-8":     {APIKeyID: "a", Candidates: []questions.Candidate{{ConnectionID: "\xff"}}},
		"no route":     {APIKeyID: "a", Route: "team"},
	} {
		if d, err := c.Route(within(t), q); err == nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if s := c.Stats(); s.Invalid != 6 {
		t.Errorf("counted %+v", s)
	}
}

func TestRoomWaitLeavesTimeForTheVerdict(t *testing.T) {
	for _, tt := range []struct {
		left, asked time.Duration
		least, most int64
	}{
		{time.Second, 0, 0, 0},
		{10*time.Second + DefaultTimeout, 10 * time.Second, 9_990, 10_000},
		{time.Second, time.Minute, 600, 800},
		{100 * time.Millisecond, time.Minute, 0, 0},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), tt.left)
		if got := roomWait(ctx, tt.asked); got < tt.least || got > tt.most {
			t.Errorf("of %s, asked for %s: %d ms, want %d to %d", tt.left, tt.asked, got, tt.least, tt.most)
		}
		cancel()
	}
}
