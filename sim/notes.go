package sim

import (
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/sim/model"
)

// noteRuling counts what the model rules.
func (c *checker) noteRuling(x *ruling) {
	q, v, r := &x.Question, x.Verdict, c.w.report
	r.Holds++
	r.count(map[model.Fate]Thing{
		model.Opened: HoldOpened, model.Replaced: HoldReplaced, model.Refused: HoldRefused,
		model.RefusedAndLost: HoldRefusedAndLost, model.Late: HoldLate, model.LateRefused: HoldLate,
	}[x.Fate])
	allowed, asked := c.views[x.id]
	switch {
	case asked && allowed && !v.Allowed():
		r.count(RefusedInTheFold)
	case asked && !allowed && v.Allowed():
		r.count(AllowedInTheFold)
	}
	if x.Moved {
		r.count(HoldMoved)
	}
	if v.Deprioritize {
		r.count(Deprioritized)
	}
	c.noteReason(v)
	if !x.Held() {
		return
	}
	if p := c.model.PoolOf(q.Connection); x.AboveLimit && p.Mode == plans.Enforce {
		r.count(HeldAboveLimit)
	}
	switch {
	case v.Reason == "no-pool":
		r.count(HeldInNoPool)
	case v.Reason == "off":
		r.count(HeldWhileOff)
	case v.Blocks():
		r.count(HeldThoughWouldBlock)
	case v.Reason == "no-allocation":
		r.count(HeldWithoutAllocation)
	case x.Others:
		r.count(HeldForTheOthers)
	}
}

func (c *checker) noteReason(v model.Verdict) {
	r := c.w.report
	switch v.Detail {
	case "guaranteed":
		r.count(WithinPromise)
	case "ok":
		r.count(WithinShare)
	case "borrowed":
		r.count(Borrowed)
	}
	switch {
	case v.Reason == "capacity":
		r.count(BlockedCapacity)
	case v.Detail == "reserved":
		r.count(BlockedReserved)
	case v.Detail == "yield":
		r.count(BlockedYield)
	case v.Reason == "fair-share":
		r.count(BlockedFairShare)
	case v.Reason == "global-saturated" && v.Scope == "pool":
		r.count(BlockedSaturated)
	case v.Reason == "global-saturated":
		r.count(BlockedByReading)
	case v.Reason == "cap-absolute":
		r.count(BlockedCap)
	case v.Reason == "model-cap":
		r.count(BlockedModelCap)
	case v.Reason == "suspended":
		r.count(BlockedSuspended)
	}
}

func (c *checker) noteOutcome(o *model.Outcome) {
	r := c.w.report
	r.Messages++
	for thing, n := range map[Thing]int{
		HoldExpired: o.Expired, HoldSettled: o.Settled, HoldSettledElsewhere: o.Elsewhere, SettledWithoutHold: o.Early,
		HoldLowered: o.Lowered, HoldReleased: o.Released, ReleasedNothing: o.Idle, Copies: o.Copied, Conflicts: o.Conflicts,
		HoldOutlivedPool: o.Orphaned, HoldFoundInNewPool: o.Adopted,
	} {
		r.countMany(thing, n)
	}
	if o.Rejected {
		r.count(RejectedConfig)
	}
}

func (c *checker) noteLines(lines []model.Line) {
	for i := range lines {
		if !lines[i].Cycle {
			continue
		}
		c.w.report.count(CycleJudged)
		if lines[i].Shown().Kept > 0 {
			c.w.report.count(CycleKept)
		}
	}
}
