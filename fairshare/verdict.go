package fairshare

import "github.com/quotashare/quotashare/quota"

// Reason is why a question was answered as it was, in rising precedence: of
// several that apply, the greatest is the answer's.
type Reason uint8

// The reasons to allow come first, then the reasons to block.
const (
	OK Reason = iota
	NoPool
	Off
	NoAllocation
	Capacity
	FairShare
	GlobalSaturated
	CapAbsolute
	ModelCap
	Suspended
)

var reasons = [...]string{
	OK:              "ok",
	NoPool:          "no-pool",
	Off:             "off",
	NoAllocation:    "no-allocation",
	Capacity:        "capacity",
	FairShare:       "fair-share",
	GlobalSaturated: "global-saturated",
	CapAbsolute:     "cap-absolute",
	ModelCap:        "model-cap",
	Suspended:       "suspended",
}

// String returns the reason's name on the wire.
func (r Reason) String() string { return reasons[r] }

// Blocks reports whether the reason is one to block.
func (r Reason) Blocks() bool { return r >= Capacity }

// Scope says who is out of room, and so what may help: another key, another
// connection, another pool, another model. It is "" when nobody is, and when it is
// the engine itself, which has no room for another hold: then nothing of that helps.
type Scope string

// The scopes.
const (
	ScopeKey        Scope = "key"
	ScopeConnection Scope = "connection"
	ScopePool       Scope = "pool"
	ScopeModel      Scope = "model"
)

// Verdict is the judgement of one question at one instant. Under mode observe
// it is the full judgement too; only Allowed and WouldBlock tell the answer
// that is given from it.
type Verdict struct {
	Reason       Reason
	Observe      bool        // the pool only observes
	Deprioritize bool        // a soft key above its share
	ScoreFactor  quota.Ratio // RatioOne, or the soft factor when deprioritized
	Line         int         // what was binding, for Facts.Binding; -1 nothing
	// Detail says under the rule guarantee how it came about: for whom capacity is kept
	// (reserved, yield), or from what the asker takes (guaranteed, ok, borrowed).
	Detail string
	Scope  Scope // "" when the judgement is to allow, or Capacity of the engine
}

// Allowed reports whether the answer is allow.
func (v Verdict) Allowed() bool { return v.Observe || !v.Reason.Blocks() }

// WouldBlock reports whether only mode observe turns a block into allow.
func (v Verdict) WouldBlock() bool { return v.Observe && v.Reason.Blocks() }
