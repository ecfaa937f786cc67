package fairshare

import (
	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// unknownUsed stands for a provider that says nothing; it is below every value
// a provider can give.
const unknownUsed quota.Amount = -1

// full is the reading at which a provider's window is used up.
const full = quota.Amount(100 * 1_000_000)

// numbers is what one line is judged by at one instant.
type numbers struct {
	estimate quota.Amount // e

	cap       quota.Amount // 0 = none
	heldCap   quota.Amount // holds against the cap, each held at it
	againstC  quota.Amount // c with those holds
	capReason Reason       // CapAbsolute or ModelCap

	limit     quota.Amount // 0 = unknown
	consumed  quota.Amount // c without holds
	held      quota.Amount // holds of the key, each held at the limit
	total     quota.Amount // T without holds
	heldTotal quota.Amount
	used      quota.Amount // u, or unknownUsed
	resetAt   int64        // of the reading u is from, 0 = unknown
	scoped    bool         // u is full by a reading for some models alone
	observed  int64        // of that reading, 0 = u is unknown

	shared bool // the asker has a share
	share  quota.Amount
	// The rule guarantee, where it is the pool's, and what it says.
	guaranteed bool
	promise    guarantee.Verdict
	// reported is the pool's use with the provider's word wherever there is
	// one, × 1e8: Σ reading in points×1e-6 × limit, or local total × 1e8. The
	// pool's provider saturation is reported / (1e8 × limit).
	reported wide
}

// c returns the key's consumption with its holds.
func (n *numbers) c() quota.Amount { return quota.AddSat(n.consumed, n.held) }

// t returns the pool's total with all holds.
func (n *numbers) t() quota.Amount { return quota.AddSat(n.total, n.heldTotal) }

// judge applies the rules to one line. above is true for a key in strict mode
// above its share, whatever the policy makes of it.
func (n *numbers) judge(policy plans.Policy, threshold quota.Ratio) (r Reason, above bool) {
	switch {
	case n.cap > 0 && passes(n.againstC, n.estimate, n.cap):
		return n.capReason, false
	case n.used >= full || n.poolFull():
		return GlobalSaturated, false
	case n.guaranteed:
		return n.kept(), n.promise.Over
	case !n.aboveShare() || !n.strict(threshold):
		return OK, false
	case policy == plans.Hard:
		return FairShare, true
	}
	return OK, true
}

// passes reports whether have has reached limit, or would pass it with the
// estimate. An estimate above the limit counts as the limit: a request larger
// than the whole window must be able to run when the window is empty.
func passes(have, estimate, limit quota.Amount) bool {
	return have >= limit || quota.AddSat(have, min(estimate, limit)) > limit
}

// kept is what the rule guarantee says of a line that is not full.
func (n *numbers) kept() Reason {
	if n.promise.Outcome.Blocks() {
		return FairShare
	}
	return OK
}

func (n *numbers) poolFull() bool {
	if n.guaranteed {
		return n.promise.Outcome == guarantee.Full
	}
	return n.limit > 0 && passes(n.t(), n.estimate, n.limit)
}

func (n *numbers) aboveShare() bool { return n.limit > 0 && n.shared && n.c() > n.share }

// strict reports whether
//
//	max(T / limit, reported / (1e8 × limit)) ≥ threshold / 1e6
//
// by multiplying both sides with 1e8 × limit: "at least half" has no rounding.
func (n *numbers) strict(threshold quota.Ratio) bool {
	if n.limit == 0 {
		return false
	}
	bar := product(int64(n.limit), int64(threshold)).times(100)
	return !product(int64(n.t()), 1e8).less(bar) || !n.reported.less(bar)
}

// verdict judges for one serving connection what measure found at now. A question
// that reserves needs room for its hold besides, in a pool or not; that is the
// least of the reasons to block, so that of the others each is told first.
func (f *Facts) verdict(conn int, now int64) (v Verdict) {
	v.Line, v.ScoreFactor = -1, quota.RatioOne
	f.rule(&v, conn, now)
	switch {
	case now < f.q.NotBefore && v.Allowed():
		v.Line, v.Observe = -1, false
	case v.Reason.Blocks() || now >= f.roomOn(conn):
		return v
	}
	v.Reason, v.Detail, v.Deprioritize, v.ScoreFactor = Capacity, "", false, quota.RatioOne
	if now >= f.q.RoomAt && f.q.Pool != nil {
		v.Scope = ScopeConnection // another one may have a place
	}
	return v
}

// roomOn is the first instant with room for the question's hold on the connection.
// Places are a rule of the pool, which one that is off has not.
func (f *Facts) roomOn(conn int) int64 {
	room := max(f.q.RoomAt, f.q.NotBefore)
	if f.q.PlaceAt == nil || f.q.Pool.Pool.Mode == plans.Off {
		return room
	}
	return max(room, f.q.PlaceAt[conn])
}

// rule judges by the rules of the pool.
func (f *Facts) rule(v *Verdict, conn int, now int64) {
	a := f.allocation()
	switch {
	case f.q.Pool == nil:
		v.Reason = NoPool
		return
	case f.q.Pool.Pool.Mode == plans.Off:
		v.Reason = Off
		return
	}
	v.Observe = f.q.Pool.Pool.Mode == plans.Observe
	if a != nil && a.Suspended {
		v.Reason, v.Scope = Suspended, ScopeKey
		return
	}
	policy := f.policy()
	for i := range f.numbers {
		f.serve(i, conn, now)
	}
	var above bool
	v.Reason, v.Line, above = judgeLines(f.numbers, policy, f.q.Threshold)
	switch {
	case v.Reason.Blocks():
		v.Scope = f.scope(*v)
	case a == nil:
		v.Reason = NoAllocation
		return
	case above && policy == plans.Soft && !v.Observe:
		v.Deprioritize, v.ScoreFactor = true, f.q.SoftFactor
	}
	if f.crowd().ruled {
		v.Detail = f.detail(v)
	}
}

// detail is what the rule guarantee says of a verdict: of a block what the binding line
// does, else the most that the asker takes in any dimension; inside its promise it is
// when it is so in all.
func (f *Facts) detail(v *Verdict) string {
	if v.Reason.Blocks() {
		if v.Reason == FairShare {
			return f.numbers[v.Line].promise.Outcome.String()
		}
		return ""
	}
	most, judged := guarantee.Guaranteed, false
	for i := range f.numbers {
		if n := &f.numbers[i]; n.guaranteed {
			judged = true
			if n.promise.Outcome == guarantee.Borrowed || most == guarantee.Guaranteed {
				most = n.promise.Outcome
			}
		}
	}
	if !judged {
		return ""
	}
	return most.String()
}

// policy returns the asker's policy. An unknown one is the careful one, hard.
func (f *Facts) policy() plans.Policy {
	if a := f.allocation(); a != nil && (a.Policy == plans.Soft || a.Policy == plans.Burst) {
		return a.Policy
	}
	return plans.Hard
}

// judgeLines returns the greatest reason of all lines, the first line that
// gives it, and whether one has the key above its share in strict mode. One
// reason per line is enough: a line that also gives a lesser one cannot be the
// first of the greatest.
func judgeLines(lines []numbers, policy plans.Policy, threshold quota.Ratio) (r Reason, line int, above bool) {
	line = -1
	for i := range lines {
		reason, over := lines[i].judge(policy, threshold)
		above = above || over
		if reason > r {
			r, line = reason, i
		}
	}
	return r, line, above
}

// scope tells who has no room. A provider that reports 100 speaks of one
// account; another one of the pool may do. One that reports it of some models alone
// has room for others.
func (f *Facts) scope(v Verdict) Scope {
	switch {
	case v.Reason == ModelCap:
		return ScopeModel
	case v.Reason != GlobalSaturated:
		return ScopeKey
	case f.numbers[v.Line].poolFull():
		return ScopePool
	case f.numbers[v.Line].scoped:
		return ScopeModel
	}
	return ScopeConnection
}
