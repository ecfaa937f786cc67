package decider

import (
	"errors"
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// tryPool returns what a change of pool p would do.
func (r *running) tryPool(change func(*plans.Pool)) (httpapi.Pool, httpapi.Trial) {
	r.t.Helper()
	var found httpapi.Trial
	p, err := r.ChangePool(r.within(), "p", func(now *plans.Pool) (*plans.Pool, error) {
		next := *now
		change(&next)
		return &next, nil
	}, httpapi.Meta{Trial: &found})
	r.must(err)
	return p, found
}

// says tells a trial in a line.
func says(t *httpapi.Trial) (text string) {
	for _, e := range t.Blocked {
		text += fmt.Sprintf("blocks %s of %s (%s) %s\n", e.APIKeyID, e.PoolID, e.Reason, e.Binding.Model)
	}
	for _, e := range t.Freed {
		text += fmt.Sprintf("frees %s of %s (%s) %s\n", e.APIKeyID, e.PoolID, e.Reason, e.Binding.Model)
	}
	return text
}

func (r *running) wantTrial(what string, t httpapi.Trial, want string) {
	r.t.Helper()
	if got := says(&t); got != want {
		r.t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

// shared is a log in which alice used 900 requests of the 1,500 that she and bob
// share half and half, bob 100, and somebody without an allocation 1.
func shared(t *testing.T) (r *running, made httpapi.Pool) {
	r = start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	made, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{})
	r.must(err)
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c","model":"m","cost":{"requests":900}}`)
	r.publish("quota.consumption", `{"apiKeyId":"bob","connectionId":"c","model":"m","cost":{"requests":100}}`)
	r.publish("quota.consumption", `{"apiKeyId":"zoe","connectionId":"c","model":"m"}`)
	if got := r.ask(aboutAlice); got.Allow {
		t.Fatalf("alice has 900 of her 750 and is allowed: %+v", got)
	}
	return r, made
}

func TestATrialTellsWhomAPoolWouldBlockAndFree(t *testing.T) {
	r, made := shared(t)
	last := r.Applied()
	p, found := r.tryPool(func(p *plans.Pool) {
		p.Allocations = []plans.Allocation{
			{APIKeyID: "alice", Weight: 97 * quota.RatioOne}, {APIKeyID: "bob", Weight: 3 * quota.RatioOne},
		}
	})
	r.wantTrial("other weights", found, "blocks bob of p (fair-share) \nfrees alice of p (fair-share) \n")
	if b := found.Blocked[0]; b.RetryAfterMs <= 0 || !b.HasBinding || b.Binding.Unit != quota.Requests {
		t.Errorf("bob would be blocked for %d ms by %+v", b.RetryAfterMs, b.Binding)
	}
	if p.Revision != made.Revision || p.Doc.Allocations[1].Weight != 3*quota.RatioOne {
		t.Errorf("the pool would be %+v", p)
	}
	const freed = "frees alice of p (fair-share) \n"
	for _, c := range []struct {
		name   string
		change func(*plans.Pool)
		want   string
	}{
		{"nothing", func(*plans.Pool) {}, ""},
		{"observe", func(p *plans.Pool) { p.Mode = plans.Observe }, freed},
		{"off", func(p *plans.Pool) { p.Mode = plans.Off }, freed},
		{"an account that nobody used", func(p *plans.Pool) { p.Connections = []plans.Connection{{ConnectionID: "never seen", Weight: 100}} }, freed},
		{"no share for alice", func(p *plans.Pool) { p.Allocations = p.Allocations[1:] }, freed},
		{"a suspended key that nobody has seen", func(p *plans.Pool) {
			p.Allocations = append([]plans.Allocation{{APIKeyID: "new", Suspended: true}}, p.Allocations...)
		}, "blocks new of p (suspended) \n"},
		{"a small share of all others", func(p *plans.Pool) {
			p.Allocations = append([]plans.Allocation{{APIKeyID: "*"}}, p.Allocations...)
		}, "blocks * of p (fair-share) \n"},
		{"a cap for a model", func(p *plans.Pool) {
			p.ModelCaps = []plans.ModelCap{
				{APIKeyID: "bob", Model: "m", CapUnit: quota.Requests, CapValue: 50_000},
				{APIKeyID: "bob", Model: "n", CapUnit: quota.Requests, CapValue: 50_000},
				{APIKeyID: "zoe", Model: "m", CapUnit: quota.Requests, CapValue: 1000},
				{APIKeyID: "alice", Model: "m", CapUnit: quota.Requests, CapValue: 1000}, // she is blocked as it is
			}
		}, "blocks bob of p (model-cap) m\nblocks zoe of p (model-cap) m\n"},
	} {
		_, found := r.tryPool(c.change)
		r.wantTrial(c.name, found, c.want)
	}
	var none httpapi.Trial
	r.must(r.DeletePool(r.within(), "p", httpapi.Meta{Trial: &none}))
	r.wantTrial("no pool", none, freed)
	if err := r.DeletePool(r.within(), "q", httpapi.Meta{Trial: &none}); !errors.Is(err, httpapi.ErrNotFound) {
		t.Errorf("a pool that is not there: %v, want that it is not found", err)
	}
	stale := httpapi.Meta{IfMatch: true, ExpectedRevision: 1000, Trial: &none}
	if _, err := r.ChangePool(r.within(), "p", rename("x"), stale); !errors.Is(err, httpapi.ErrLostRace) {
		t.Errorf("against another revision: %v, want a lost race", err)
	}
	if r.Applied() != last {
		t.Errorf("trials wrote %d events", r.Applied()-last)
	}
}

func TestATrialTellsWhomAPlanWouldBlockAndFree(t *testing.T) {
	r, _ := shared(t)
	last := r.Applied()
	requests := func(n int64) []plans.Dimension {
		return []plans.Dimension{{Unit: quota.Requests, Window: quota.Hourly, Limit: quota.Amount(n * 1000)}}
	}
	for _, c := range []struct {
		dims []plans.Dimension
		want string
	}{
		{requests(1500), ""},
		{requests(2000), "frees alice of p (fair-share) \n"},
		{requests(500), "blocks bob of p (global-saturated) \nblocks * of p (global-saturated) \n"},
		{nil, "frees alice of p (fair-share) \n"},
	} {
		var found httpapi.Trial
		p, err := r.PutPlan(r.within(), "c", c.dims, httpapi.Meta{Trial: &found})
		r.must(err)
		r.wantTrial(fmt.Sprint(c.dims), found, c.want)
		if p.Plan.Source != plans.Manual || p.Revision != 0 || len(p.Plan.Dimensions) != len(c.dims) {
			t.Errorf("the plan would be %+v", p)
		}
	}
	var found httpapi.Trial
	p, err := r.PutPlan(r.within(), "of no pool", requests(1), httpapi.Meta{Trial: &found})
	r.must(err)
	r.wantTrial("a plan of no pool's connection", found, "")
	if len(p.Warnings) != 1 || p.Warnings[0].Field != "connectionId" {
		t.Errorf("a connection that nobody knows: %v, want a warning", p.Warnings)
	}
	if p, err = r.PutPlan(r.within(), "c", nil, httpapi.Meta{Trial: &found}); err != nil || len(p.Warnings) == 0 || p.Warnings[0].Field != "pool.connections" {
		t.Errorf("a plan that leaves its pool without a limit: %v, %v, want the pool's warning", p.Warnings, err)
	}
	if r.Applied() != last {
		t.Errorf("trials wrote %d events", r.Applied()-last)
	}

	_, err = r.PutPlan(r.within(), "c", requests(500), httpapi.Meta{})
	r.must(err)
	r.must(r.DeletePlan(r.within(), "c", httpapi.Meta{Trial: &found}))
	r.wantTrial("back to the catalogue", found, "frees bob of p (global-saturated) \nfrees * of p (global-saturated) \n")
	if r.Plan("c").Plan.Source != plans.Manual {
		t.Error("a trial deleted the plan")
	}
}

func TestATrialTellsWhomSettingsWouldBlockAndFree(t *testing.T) {
	r, _ := shared(t)
	last := r.Applied()
	threshold := func(n int64) (httpapi.Settings, httpapi.Trial) {
		var found httpapi.Trial
		s, err := r.ChangeSettings(r.within(), func(s plans.Settings) (plans.Settings, error) {
			s[plans.SaturationThreshold] = plans.SettingValue{N: n, Origin: plans.Stored}
			return s, nil
		}, httpapi.Meta{Trial: &found})
		r.must(err)
		return s, found
	}
	s, found := threshold(900_000)
	r.wantTrial("shares count later", found, "frees alice of p (fair-share) \n")
	if s.Values.SaturationThreshold() != 900_000 || s.Revision != 0 {
		t.Errorf("the settings would be %+v", s)
	}
	_, found = threshold(100_000)
	r.wantTrial("shares count sooner", found, "")
	if now := r.Settings(); r.Applied() != last || now.Values.SaturationThreshold() != 500_000 {
		t.Errorf("trials wrote %d events, and the threshold is %s", r.Applied()-last, now.Values.SaturationThreshold())
	}
}
