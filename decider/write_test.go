package decider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

func TestWritesRaceAndNoneIsLost(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	for round := range 10 {
		var g errgroup.Group
		won := make([]bool, 2)
		for i, r := range []*running{a, b} {
			g.Go(func() error {
				_, err := r.putPool(r.within(), team(fmt.Sprintf("p%d-%d", round, i), fmt.Sprintf("c%d", round)), httpapi.Meta{})
				won[i] = err == nil
				if err != nil && !errors.Is(err, httpapi.ErrConflict) {
					return err
				}
				return nil
			})
		}
		a.must(await(t, outcome(g.Wait), "the end of all writers"))
		if won[0] == won[1] {
			t.Fatalf("round %d: two pools on one connection: %v, want exactly one", round, won)
		}
	}
	if len(a.Pools()) != 10 {
		t.Errorf("%d pools, want 10", len(a.Pools()))
	}
	old := a.Pools()[0]
	_, err := a.putPool(a.within(), old.Doc, httpapi.Meta{IfMatch: true, ExpectedRevision: old.Revision + 1})
	if !errors.Is(err, httpapi.ErrLostRace) {
		t.Errorf("another revision: %v, want a lost race", err)
	}
	_, err = a.putPool(a.within(), old.Doc, httpapi.Meta{IfMatch: true, ExpectedRevision: old.Revision})
	a.must(err)
}

// More writers than a write has attempts: in a race of all of them somebody
// would lose every time.
func TestManyWritersOfOneProcessAllWrite(t *testing.T) {
	e := start(t, startLog(t, t.TempDir()), t.TempDir(), nil)
	var g errgroup.Group
	const writers, each = 4 * mostAttempts, 2
	for i := range writers {
		g.Go(func() error {
			for n := range each {
				id := fmt.Sprintf("p%d-%d", i, n)
				if _, err := e.putPool(e.within(), team(id, "c-"+id), httpapi.Meta{}); err != nil {
					return fmt.Errorf("pool %s: %w", id, err)
				}
			}
			return nil
		})
	}
	e.must(await(t, outcome(g.Wait), "the end of all writers"))
	if n := len(e.Pools()); n != writers*each {
		t.Errorf("%d pools, want %d", n, writers*each)
	}
}

// TestDeletionsAreEvents: in the log once, in force when answered, refused
// against another revision, and nothing where there is nothing.
func TestDeletionsAreEvents(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	p, err := r.putPool(r.within(), team("a.b", "c"), httpapi.Meta{})
	r.must(err)
	_, err = r.PutPlan(r.within(), "c", []plans.Dimension{{Unit: quota.Tokens, Window: quota.Daily, Limit: 9000}}, httpapi.Meta{})
	r.must(err)
	if err := r.DeletePool(r.within(), "a.b", httpapi.Meta{IfMatch: true, ExpectedRevision: p.Revision + 9}); !errors.Is(err, httpapi.ErrLostRace) {
		t.Errorf("against another revision: %v, want a lost race", err)
	}
	r.must(r.DeletePlan(r.within(), "c", httpapi.Meta{}))
	if got := r.Plan("c"); got.Plan.Source != plans.Catalogue || got.Revision != 0 {
		t.Errorf("the plan is %+v, want that of the catalogue", got)
	}
	r.must(r.DeletePool(r.within(), "a.b", httpapi.Meta{IfMatch: true, ExpectedRevision: p.Revision}))
	if _, ok := r.Pool("a.b"); ok {
		t.Error("the pool is still there")
	}
	if got := r.ask(aboutAlice); got.Reason != "no-pool" {
		t.Errorf("asked about its connection: %s, want no-pool", got.Reason)
	}
	last := r.Applied()
	if err := r.DeletePool(r.within(), "a.b", httpapi.Meta{}); !errors.Is(err, httpapi.ErrNotFound) {
		t.Errorf("deleted again: %v, want that it is not found", err)
	}
	r.must(r.DeletePlan(r.within(), "c", httpapi.Meta{}))
	if got := r.Applied(); got != last {
		t.Errorf("%d events for what is not there", got-last)
	}
}

// TestWritesGoOnWhenTheNewestOfThemIsGone: anybody may store a message below
// quota.config that expires, or an operator deletes one. What is expected then is
// what the log still has, not what was folded.
func TestWritesGoOnWhenTheNewestOfThemIsGone(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	_, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{})
	r.must(err)
	js, err := jetstream.New(nc)
	r.must(err)
	stream, err := js.Stream(r.within(), events.Stream)
	r.must(err)
	for range 2 { // with an older one left, and with none
		r.must(stream.DeleteMsg(r.within(), r.publish("quota.config.pool.x", `{}`)))
		_, err = r.putPool(r.within(), team("q", "d"), httpapi.Meta{})
		r.must(err)
		r.must(stream.Purge(r.within(), jetstream.WithPurgeSubject("quota.config.>")))
	}
}

// TestAWriteIsNotAheadOfItsState: one that lost the race must see the winner's
// document before it tries again, else If-Match would let an update be lost.
func TestAWriteIsNotAheadOfItsState(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	old, err := a.putPool(a.within(), team("p", "c"), httpapi.Meta{})
	a.must(err)
	fold := a.paused()
	theirs := team("p", "c")
	theirs.Name = "theirs"
	won, err := b.putPool(b.within(), theirs, httpapi.Meta{})
	b.must(err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := a.putPool(ctx, team("p", "d"), httpapi.Meta{IfMatch: true, ExpectedRevision: old.Revision}); !errors.Is(err, httpapi.ErrUnavailable) {
		t.Errorf("while its fold stands still: %v, want that it is unavailable", err)
	}
	fold()
	_, err = a.State(a.within(), won.Revision, false)
	a.must(err)
	if got, _ := a.Pool("p"); got.Revision != won.Revision || got.Doc.Connections[0].ConnectionID != "c" {
		t.Errorf("in force is revision %d, want the winner's %d", got.Revision, won.Revision)
	}
	if last, err := b.lastSeq(b.within()); err != nil || last != won.Revision {
		t.Errorf("the log ends at %d, %v, want nothing after %d", last, err, won.Revision)
	}
}

// TestAWriteThatWaitsIsNotBegun: behind others for longer than its caller waits.
func TestAWriteThatWaitsIsNotBegun(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	await(t, returned(func() { r.writing <- struct{}{} }), "who wrote before to an end") // somebody writes
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := r.putPool(ctx, team("p", "c"), httpapi.Meta{})
	if !errors.Is(err, httpapi.ErrUnavailable) || !strings.Contains(err.Error(), "not begun") {
		t.Errorf("behind another write: %v, want that it was not begun", err)
	}
	await(t, r.writing, "what the test has put there")
	if _, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{}); err != nil {
		t.Error(err)
	}
}

// TestAWriteUnderWayGoesOnWithoutItsCaller, and is known of: an import must be able
// to take it back.
func TestAWriteUnderWayGoesOnWithoutItsCaller(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	doc := team("p", "c")
	w := configWrite{subject: events.ConfigPool.Subject("p"), do: events.ConfigPut}
	done, err := r.Engine.publish(gone, r.current.Load(), &w, plans.AppendPoolJSON(nil, doc), 0)
	if err != nil || done.stamp.Revision == 0 {
		t.Errorf("published for a caller who has left: %+v, %v", done.stamp, err)
	}
}

// TestADocumentThatTheLogCannotHoldIsToldSo, in an import before the first write.
func TestADocumentThatTheLogCannotHoldIsToldSo(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	huge := team("huge", "h")
	for i := range 5_000 {
		huge.Allocations = append(huge.Allocations, plans.Allocation{APIKeyID: fmt.Sprint(i, strings.Repeat("x", 240))})
	}
	_, err := r.putPool(r.within(), huge, httpapi.Meta{})
	if !errors.Is(err, httpapi.ErrTooLarge) || !strings.Contains(err.Error(), "use fewer or shorter ids") {
		t.Errorf("a pool: %v, want that it is too large", err)
	}
	last := r.Applied()
	_, err = r.CreatePools(r.within(), []*plans.Pool{team("a", "c1"), team("b", "c2"), huge}, httpapi.Meta{})
	if !errors.Is(err, httpapi.ErrTooLarge) || !strings.HasPrefix(err.Error(), "[2]: ") || r.Applied() != last {
		t.Errorf("an import: %v and %d events, want that the third is too large and none", err, r.Applied()-last)
	}
}

func TestSettingsAreShownAsPeopleWriteThem(t *testing.T) {
	if got := shown(plans.SaturationThreshold, 200_000) + " " + shown(plans.MaxLagMs, 7000); got != "0.2 7000" {
		t.Errorf("shown %q", got)
	}
}
