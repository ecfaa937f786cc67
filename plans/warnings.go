package plans

import (
	"fmt"
	"strings"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Warnings returns what is allowed in a pool and probably not meant, with the
// plans of its connections as they are now. Each says what happens and what to
// do. At most 20, those that concern the whole pool first.
func Warnings(p *Pool, planOf func(connectionID string) Plan) wire.Faults {
	var w wire.Faults
	r := Resolve(p, planOf)
	warnOfProvider(p, &w)
	warnOfNoEffect(r, &w)
	warnOfWeights(p, &w)
	warnOfUnknownLimits(r, &w)
	warnOfLaterDimensions(r, planOf, &w)
	warnOfCapUnits(r, &w)
	return w[:min(len(w), maxWarnings)]
}

func warnOfProvider(p *Pool, w *wire.Faults) {
	if KnownProvider(p.Provider) {
		return
	}
	hint := meant(p.Provider, providerNames())
	if hint == "" {
		hint = ": set a plan for each, or use a provider of the catalogue"
	}
	w.Add("provider", "is "+wire.Show(p.Provider)+", which is not in the catalogue, so connections without a plan of their own have no limits"+hint)
}

// warnOfNoEffect warns of a pool that is off, or has no limit to enforce.
func warnOfNoEffect(r *Resolved, w *wire.Faults) {
	switch {
	case r.Pool.Mode == Off:
		w.Add("mode", "is off, so the pool enforces nothing: use enforce, or observe to see what it would do")
	case len(r.Pool.Connections) > 0 && !r.HasLimit():
		w.Add("connections", "have no known limit, so the pool enforces nothing"+r.butFor()+": set a plan with limits for connection "+first(r.Pool))
	}
}

// butFor names what a pool enforces though no limit is known.
func (r *Resolved) butFor() string {
	var but []string
	if r.enforcesWithoutLimits() {
		but = append(but, "caps and suspensions")
	}
	if len(r.Dimensions) > 0 {
		but = append(but, "what its provider reports as used up")
	}
	if but == nil {
		return ""
	}
	return " but " + strings.Join(but, " and ")
}

// first returns the connection that gives the pool its dimensions.
func first(p *Pool) string { return wire.Show(p.Connections[0].ConnectionID) }

// enforcesWithoutLimits reports whether some key is suspended, or has a cap
// that works though no limit is known.
func (r *Resolved) enforcesWithoutLimits() bool {
	has := r.units()
	for _, a := range r.Pool.Allocations {
		if a.Suspended || len(a.Caps) > 0 || a.CapValue > 0 && has[a.CapUnit] {
			return true
		}
	}
	return len(r.Pool.ModelCaps) > 0
}

// units tells which units the dimensions have.
func (r *Resolved) units() (has [quota.NumUnits]bool) {
	for _, d := range r.Dimensions {
		has[d.Unit] = true
	}
	return has
}

// warnOfWeights warns of weights that are no percentages. All 0 means equal
// shares, see Shares.
func warnOfWeights(p *Pool, w *wire.Faults) {
	const whole = 100 * quota.RatioOne
	var sum quota.Ratio
	for _, a := range p.Allocations {
		sum += a.Weight
	}
	switch {
	case sum == 0 || sum == whole:
	case sum < whole:
		w.Add("allocations", fmt.Sprintf("have weights that sum to %s, so the other %s of 100 is nobody's share: let them sum to 100", sum, whole-sum))
	default:
		w.Add("allocations", fmt.Sprintf("have weights that sum to %s, so each share is scaled down by 100/%[1]s: let them sum to 100", sum))
	}
}

func warnOfUnknownLimits(r *Resolved, w *wire.Faults) {
	for _, d := range r.Dimensions {
		if d.Limit == 0 {
			w.Add("dimensions", place(d.Unit, d.Window)+" has no known limit, so it is counted and not enforced: set one in the plan of connection "+first(r.Pool))
		}
	}
}

func place(u quota.Unit, win quota.Window) string { return u.String() + "/" + win.String() }

// warnOfLaterDimensions warns of each dimension that the first connection has
// not and a later one has, once, at the first that has it.
func warnOfLaterDimensions(r *Resolved, planOf func(string) Plan, w *wire.Faults) {
	known := seen[Dimension]{}
	for _, d := range r.Dimensions {
		known.again(Dimension{Unit: d.Unit, Window: d.Window})
	}
	for i, c := range r.Pool.Connections {
		for _, d := range planOf(c.ConnectionID).Dimensions {
			if known.again(Dimension{Unit: d.Unit, Window: d.Window}) {
				continue
			}
			w.Add(fmt.Sprintf("connections[%d]", i), fmt.Sprintf("is %s, whose plan has %s, which the pool's first connection has not, so it is not counted in: add it to the plan of connection %s",
				wire.Show(c.ConnectionID), place(d.Unit, d.Window), first(r.Pool)))
		}
	}
}

// warnOfCapUnits warns of caps that wait for a dimension.
func warnOfCapUnits(r *Resolved, w *wire.Faults) {
	has := r.units()
	for i, a := range r.Pool.Allocations {
		if a.CapValue > 0 && !has[a.CapUnit] {
			w.Add(fmt.Sprintf("allocations[%d].capUnit", i), "is "+a.CapUnit.String()+", which no dimension of the plan has: the cap does nothing until one has; caps with a window of their own work whatever the plan says")
		}
	}
}

// PlanWarnings returns what is allowed in a plan and probably not meant.
func PlanWarnings(dims []Dimension) wire.Faults {
	var w wire.Faults
	for i, d := range dims {
		field := fmt.Sprintf("dimensions[%d].limit", i)
		switch {
		case d.Limit == 0:
			w.Add(field, "is unknown, so "+place(d.Unit, d.Window)+" is counted and not enforced: set a limit")
		case d.Unit == quota.Percent && d.Limit > allPoints:
			w.Add(field, "is "+d.Limit.Format(d.Unit)+" points of the provider's 100, so the provider blocks first: use at most 100")
		}
	}
	return w
}
