package plans

import "github.com/quotashare/quotashare/quota"

// Dimension is one thing a plan limits. Limit 0 means unknown: tracked and
// shown, not enforced. A percent limit is in points of the provider's 100.
type Dimension struct {
	Unit   quota.Unit
	Window quota.Window
	Limit  quota.Amount
}

// Source says where a plan comes from.
type Source uint8

// A plan is set by hand, or taken from the catalogue of the provider, or empty.
const (
	None Source = iota
	Catalogue
	Manual
)

// Plan is the dimensions of one connection.
type Plan struct {
	Dimensions []Dimension
	Source     Source
}

// Policy says what happens to a key above its share in strict mode.
type Policy uint8

// Hard blocks, Soft deprioritizes, Burst lets pass.
const (
	Hard Policy = iota
	Soft
	Burst
)

// Mode says whether a pool's decisions bind.
type Mode uint8

// Enforce answers as judged, Observe judges and allows, Off allows.
const (
	Enforce Mode = iota
	Observe
	Off
)

// Rule is the way a pool shares.
type Rule uint8

// The two sharing rules.
const (
	Threshold Rule = iota
	Guarantee
)

// OnDegraded says what a pool answers while the engine is degraded.
type OnDegraded uint8

// Open lets pass, Closed blocks.
const (
	Open OnDegraded = iota
	Closed
)

// Cap is an absolute limit of one key in one window, whatever the plan says.
type Cap struct {
	Unit   quota.Unit
	Window quota.Window
	Value  quota.Amount
}

// Allocation is the part of a pool that one API key has, or, for the id
// quota.AllOthers, all keys together that have none of their own.
type Allocation struct {
	APIKeyID  string
	Weight    quota.Ratio // 0..100, in millionths of a point
	Policy    Policy
	Suspended bool
	Caps      []Cap
	// CapValue > 0 is a cap on every dimension of the plan with unit CapUnit.
	CapUnit  quota.Unit
	CapValue quota.Amount
}

// ModelCap limits one key's use of one model per rolling hour.
type ModelCap struct {
	APIKeyID string
	Model    string
	CapUnit  quota.Unit
	CapValue quota.Amount
}

// Connection is one account of a pool.
type Connection struct {
	ConnectionID  string
	Weight        int64 // 1..1000, default 100; for routing
	MaxConcurrent int64 // 0 = none
}

// Pool is one pool document as an operator wrote it.
type Pool struct {
	ID          string
	Name        string
	Provider    string
	Mode        Mode
	Rule        Rule
	Reserve     int64 // 0..400, default 100; for Guarantee
	OnDegraded  OnDegraded
	Connections []Connection
	Allocations []Allocation
	ModelCaps   []ModelCap
	CreatedAt   int64 // epoch ms
}
