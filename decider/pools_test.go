package decider

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// rename is a change of one field, as a patch is: the rest is whatever is in
// force when it is written.
func rename(name string) httpapi.PoolChange {
	return func(now *plans.Pool) (*plans.Pool, error) {
		next := *now
		next.Name = name
		return &next, nil
	}
}

func weigh(w quota.Ratio) httpapi.PoolChange {
	return func(now *plans.Pool) (*plans.Pool, error) {
		next := *now
		next.Allocations = append([]plans.Allocation(nil), now.Allocations...)
		next.Allocations[0].Weight = w
		return &next, nil
	}
}

// TestChangesOfDifferentFieldsDoNotUndoEachOther: two deciders, each changes its
// own field again and again without looking; the last of both are in force.
func TestChangesOfDifferentFieldsDoNotUndoEachOther(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	_, err := a.putPool(a.within(), team("p", "c"), httpapi.Meta{})
	a.must(err)
	const each = 20
	var g errgroup.Group
	g.Go(func() error {
		for i := range each {
			if _, err := a.ChangePool(a.within(), "p", rename(fmt.Sprint("name ", i)), httpapi.Meta{}); err != nil {
				return err
			}
		}
		return nil
	})
	var last uint64
	g.Go(func() error {
		for i := range each {
			p, err := b.ChangePool(b.within(), "p", weigh(quota.Ratio(i)*quota.RatioOne), httpapi.Meta{Actor: "b"})
			if err != nil {
				return err
			}
			if p.Doc.Allocations[0].Weight != quota.Ratio(i)*quota.RatioOne || p.Actor != "b" || p.Revision <= last {
				return fmt.Errorf("change %d is answered with weight %s by %q at revision %d after %d", i, p.Doc.Allocations[0].Weight, p.Actor, p.Revision, last)
			}
			last = p.Revision
		}
		return nil
	})
	a.must(await(t, outcome(g.Wait), "the end of all writers"))
	end, err := a.lastSeq(a.within())
	a.must(err)
	for _, r := range []*running{a, b} {
		_, err := r.State(r.within(), end, false)
		r.must(err)
		p, _ := r.Pool("p")
		if p.Doc.Name != fmt.Sprint("name ", each-1) || p.Doc.Allocations[0].Weight != (each-1)*quota.RatioOne {
			t.Errorf("in force is %q with weight %s, want the last of both", p.Doc.Name, p.Doc.Allocations[0].Weight)
		}
	}
}

func TestWhatChangesNothingIsNotWritten(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	made, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{Actor: "first"})
	r.must(err)
	dims := []plans.Dimension{{Unit: quota.Tokens, Window: quota.Daily, Limit: 9000}}
	plan, err := r.PutPlan(r.within(), "c", dims, httpapi.Meta{})
	r.must(err)
	last := r.Applied()

	again, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{Actor: "second"})
	r.must(err)
	if again.Revision != made.Revision || again.Actor != "first" {
		t.Errorf("the same pool again is revision %d by %q, want %d by the first", again.Revision, again.Actor, made.Revision)
	}
	samePlan, err := r.PutPlan(r.within(), "c", dims, httpapi.Meta{})
	r.must(err)
	if samePlan.Revision != plan.Revision {
		t.Errorf("the same plan again is revision %d, want %d", samePlan.Revision, plan.Revision)
	}
	keep := func(s plans.Settings) (plans.Settings, error) { return s, nil }
	_, err = r.ChangeSettings(r.within(), keep, httpapi.Meta{})
	r.must(err)
	if n := r.Applied() - last; n != 0 {
		t.Errorf("%d events for what changes nothing", n)
	}
	_, err = r.putPool(r.within(), team("p", "c"), httpapi.Meta{IfMatch: true, ExpectedRevision: made.Revision + 1})
	if !errors.Is(err, httpapi.ErrLostRace) {
		t.Errorf("the same pool against another revision: %v, want a lost race", err)
	}
	// An empty plan by hand is no change of dimensions, and yet a change.
	if plan, err = r.PutPlan(r.within(), "d", nil, httpapi.Meta{}); err != nil || plan.Plan.Source != plans.Manual || plan.Revision == 0 {
		t.Errorf("an empty plan by hand: %+v, %v", plan, err)
	}
}

func TestAnImportIsAllOrNothing(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	// The third wants a connection of the first: only the fold finds that here.
	_, err := r.CreatePools(r.within(), []*plans.Pool{team("a", "c1"), team("b", "c2"), team("c", "c1")}, httpapi.Meta{})
	if !errors.Is(err, httpapi.ErrConflict) {
		t.Errorf("a connection in two pools: %v, want a conflict", err)
	}
	if n := len(r.Pools()); n != 0 {
		t.Errorf("%d pools stay of an import that failed", n)
	}
	made, err := r.CreatePools(r.within(), []*plans.Pool{team("a", "c1"), team("b", "c2")}, httpapi.Meta{Actor: "ops"})
	r.must(err)
	if len(made) != 2 || made[0].Doc.ID != "a" || made[1].Revision <= made[0].Revision || made[1].Actor != "ops" {
		t.Errorf("made %+v", made)
	}
	last := r.Applied()
	_, err = r.CreatePools(r.within(), []*plans.Pool{team("z", "c9")}, httpapi.Meta{})
	if !errors.Is(err, httpapi.ErrConflict) || r.Applied() != last {
		t.Errorf("where there are pools: %v and %d events, want a conflict and none", err, r.Applied()-last)
	}
}

// TestAnImportThatMeetsAnotherTakesItselfBack: somebody creates a pool between
// two pools of the import.
func TestAnImportThatMeetsAnotherTakesItselfBack(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	var g errgroup.Group
	docs := make([]*plans.Pool, 30)
	for i := range docs {
		docs[i] = team(fmt.Sprint("p", i), fmt.Sprint("c", i))
	}
	var imported, created error
	g.Go(func() error {
		_, imported = a.CreatePools(a.within(), docs, httpapi.Meta{})
		return nil
	})
	g.Go(func() error {
		_, created = b.putPool(b.within(), team("other", "c-other"), httpapi.Meta{})
		return nil
	})
	a.must(await(t, outcome(g.Wait), "the end of all writers"))
	a.must(created)
	last, err := a.lastSeq(a.within())
	a.must(err)
	_, err = a.State(a.within(), last, false)
	a.must(err)
	got := len(a.Pools())
	switch {
	case imported == nil && got == len(docs)+1: // the other one came last
	case imported != nil && got == 1:
	default:
		t.Errorf("the import says %v, and %d pools are in force", imported, got)
	}
}

// TestAnImportMeetsEveryChangeOfOthers, one that leaves the number of pools as it
// was too, and takes back what is its own alone.
func TestAnImportMeetsEveryChangeOfOthers(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	made, err := r.CreatePools(r.within(), []*plans.Pool{team("a", "c1"), team("b", "c2"), team("c", "c3")}, httpapi.Meta{})
	r.must(err)
	goesOn := func() error {
		_, err := r.beside(team("d", "c4"), made)(nil)
		return err
	}
	r.must(goesOn())
	_, err = r.ChangePool(r.within(), "b", rename("theirs"), httpapi.Meta{})
	r.must(err)
	if err := goesOn(); !errors.Is(err, httpapi.ErrLostRace) {
		t.Errorf("beside a pool that somebody changed: %v, want a lost race", err)
	}
	r.must(r.DeletePool(r.within(), "c", httpapi.Meta{}))
	if err := goesOn(); !errors.Is(err, httpapi.ErrLostRace) {
		t.Errorf("without a pool that somebody deleted: %v, want a lost race", err)
	}
	_, err = r.putPool(r.within(), team("other", "c9"), httpapi.Meta{})
	r.must(err)
	if err := goesOn(); !errors.Is(err, httpapi.ErrLostRace) {
		t.Errorf("beside a pool of somebody else: %v, want a lost race", err)
	}

	err = r.undo(r.within(), made, errMet)
	if !errors.Is(err, httpapi.ErrLostRace) || !strings.Contains(err.Error(), `but for pool "b" (`) || strings.Contains(err.Error(), `"c"`) {
		t.Errorf("taken back: %v, want that b stays and nothing of c, which is gone", err)
	}
	var ids []string
	for _, p := range r.Pools() {
		ids = append(ids, p.Doc.ID+" "+p.Doc.Name)
	}
	if want := []string{"b theirs", "other other"}; !slices.Equal(ids, want) {
		t.Errorf("in force are %q, want %q", ids, want)
	}
}

// TestAForgottenVerdictIsNoSuccess: the fold remembers the verdicts of the newest
// changes. Of one that waited too long nobody knows.
func TestAForgottenVerdictIsNoSuccess(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	refused := r.publish("quota.config.pool.x", `{}`)
	p := r.current.Load()
	if _, err := r.verdict(r.within(), p, &configWrite{}, refused); !errors.Is(err, httpapi.ErrConflict) {
		t.Errorf("a change that was refused: %v, want a conflict", err)
	}
	if _, err := r.verdict(r.within(), p, &configWrite{}, refused-1); !errors.Is(err, httpapi.ErrUnavailable) {
		t.Errorf("a change that is not known: %v, want that it is not known", err)
	}
}
