package fairshare

import (
	"math/big"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// judgement is what a twin finds.
type judgement struct {
	Reason       string
	Block        bool
	Deprioritize bool
	Unit         string
	Window       string
	Model        string
	Scope        Scope
}

func (j judgement) bound(reason string, u quota.Unit, w quota.Window, model string, s Scope) judgement {
	return judgement{Reason: reason, Block: true, Unit: u.String(), Window: w.String(), Model: model, Scope: s}
}

// judge judges by the pool, and then asks for room.
func (t *twin) judge() (j judgement) {
	j = t.judgePool()
	if t.now < t.q.RoomAt && !j.Block {
		return judgement{Reason: "capacity", Block: true}
	}
	if t.q.PlaceAt != nil && t.q.Pool.Pool.Mode != plans.Off && t.now < t.q.PlaceAt[t.conn] && !j.Block {
		return judgement{Reason: "capacity", Block: true, Scope: ScopeConnection}
	}
	return j
}

// judgePool goes through the reasons in the order of their precedence.
func (t *twin) judgePool() (j judgement) {
	if t.q.Pool == nil {
		return judgement{Reason: "no-pool"}
	}
	pool := t.q.Pool.Pool
	var a plans.Allocation
	if t.q.Allocation >= 0 {
		a = pool.Allocations[t.q.Allocation]
	}
	switch {
	case pool.Mode == plans.Off:
		return judgement{Reason: "off"}
	case a.Suspended:
		return judgement{Reason: "suspended", Block: true, Scope: ScopeKey}
	}
	for _, c := range pool.ModelCaps {
		if t.q.Model != "" && c.APIKeyID == t.q.APIKeyID && c.Model == t.q.Model && t.modelCapped(c) {
			return j.bound("model-cap", c.CapUnit, quota.Hourly, c.Model, ScopeModel)
		}
	}
	for _, d := range t.q.Pool.Dimensions {
		if a.CapValue > 0 && a.CapUnit == d.Unit && t.capped(d.Unit, d.Window, a.CapValue) {
			return j.bound("cap-absolute", d.Unit, d.Window, "", ScopeKey)
		}
	}
	for _, c := range a.Caps {
		if t.capped(c.Unit, c.Window, c.Value) {
			return j.bound("cap-absolute", c.Unit, c.Window, "", ScopeKey)
		}
	}
	return t.judgeDimensions(a.Policy)
}

func (t *twin) judgeDimensions(policy plans.Policy) (j judgement) {
	for i := range t.q.Pool.Dimensions {
		d := &t.q.Pool.Dimensions[i]
		if t.full(d) {
			return j.bound("global-saturated", d.Unit, d.Window, "", ScopePool)
		}
		if u := t.serving(d.Window); u != nil && u.Cmp(rat(100e6)) >= 0 {
			if all := t.reading(t.conn, d.Window); all != nil && all.Cmp(rat(100e6)) >= 0 {
				return j.bound("global-saturated", d.Unit, d.Window, "", ScopeConnection)
			}
			return j.bound("global-saturated", d.Unit, d.Window, t.q.Model, ScopeModel)
		}
	}
	if t.q.Allocation < 0 {
		return judgement{Reason: "no-allocation"}
	}
	above := false
	for i := range t.q.Pool.Dimensions {
		d := &t.q.Pool.Dimensions[i]
		if !t.above(d) {
			continue
		}
		if above = true; policy != plans.Soft && policy != plans.Burst {
			return j.bound("fair-share", d.Unit, d.Window, "", ScopeKey)
		}
	}
	return judgement{Reason: "ok", Deprioritize: above && policy == plans.Soft && t.q.Pool.Pool.Mode != plans.Observe}
}

// judged is what the engine found, in the twin's words.
func judged(f *Facts, v Verdict) judgement {
	j := judgement{Reason: v.Reason.String(), Block: v.Reason.Blocks(), Deprioritize: v.Deprioritize, Scope: v.Scope}
	if u, w, model, ok := f.Binding(v); ok {
		j.Unit, j.Window, j.Model = u.String(), w.String(), model
	}
	return j
}

// explain is the twin of Facts.Explain for one dimension.
func (t *twin) explain(d *plans.PoolDimension) questions.Dimension {
	key := func(h Hold) bool { return h.Key }
	e := questions.Dimension{
		Unit: d.Unit, Window: d.Window, Limit: d.Limit, Mode: "generous",
		Consumed: whole(t.consumed(d.Unit, d.Window)), Held: whole(t.heldIn(d, key)),
		ConsumedTotal: whole(t.total(d.Unit, d.Window)),
		HeldTotal:     whole(t.heldIn(d, func(Hold) bool { return true })),
	}
	if u := t.serving(d.Window); u != nil {
		e.ProviderUsed, e.HasProvider = whole(u), true
		e.ResetAt, e.ObservedAt = t.said(u, t.levels(d.Window)...)
	}
	if u := t.reading(t.conn, d.Window); u != nil && t.q.Explain {
		if r := t.b.conns[t.conn].readings[d.Window]; t.now < r.PartUntil {
			e.Attributed = r.Attributed
		}
		e.Unattributed, e.HasSplit = whole(u)-e.Attributed, true
	}
	if t.strict(d) {
		e.Mode = "strict"
	}
	if d.Limit > 0 && t.q.Allocation >= 0 {
		e.FairShare, e.HasFairShare = d.Shares[t.q.Allocation], true
		e.Deficit, e.Borrowing = e.Consumed-e.FairShare, e.Consumed > e.FairShare
	}
	if d.Limit > 0 {
		e.Remaining, e.HasRemaining = t.remaining(d, &e), true
	}
	return e
}

func (t *twin) remaining(d *plans.PoolDimension, e *questions.Dimension) quota.Amount {
	left := d.Limit - whole(t.totalHeld(d))
	if t.q.Allocation < 0 {
		return max(0, left)
	}
	a := t.q.Pool.Pool.Allocations[t.q.Allocation]
	caps := a.Caps
	if a.CapValue > 0 && a.CapUnit == d.Unit {
		caps = append([]plans.Cap{{Unit: d.Unit, Window: d.Window, Value: a.CapValue}}, caps...)
	}
	for _, c := range caps {
		if c.Unit == d.Unit && c.Window == d.Window {
			held := t.held(c.Unit, rat(int64(c.Value)), func(h Hold) bool { return h.Key })
			left = min(left, c.Value-whole(sum(t.consumed(c.Unit, c.Window), held)))
		}
	}
	if e.Mode == "strict" && a.Policy != plans.Soft && a.Policy != plans.Burst {
		left = min(left, e.FairShare-e.Consumed-e.Held)
	}
	return max(0, left)
}

func whole(r *big.Rat) quota.Amount { return quota.Amount(r.Num().Int64()) }
