package usage

import (
	"math"
	"math/bits"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// MaxUnlisted is how many keys without an allocation of their own a Snapshot
// shows at most.
const MaxUnlisted = 100

// Snapshot is how a pool stands at one instant, all of it from one state.
type Snapshot struct {
	PoolID      string
	GeneratedAt int64          // by the clock of who asked, epoch ms
	AsOf        questions.AsOf // Time is the instant that all numbers are of
	Mode        plans.Mode
	Rule        plans.Rule
	Enforcing   bool        // some limit is known, or some reading
	Threshold   quota.Ratio // a dimension is strict from here on, by the rule threshold
	Dimensions  []Dimension // in plan order
	// Signals are what providers say, in the order of the pool's connections and
	// then of windows and scopes.
	Signals []Signal
	Flights []Flight // in the order of the pool's connections
	Backlog Backlog
	// Keys are the pool's allocations in its order, then the keys without one of
	// their own, the most used first and at most MaxUnlisted of them.
	Keys []Key
	// Unlisted is how many keys without an allocation of their own were seen on
	// the pool's connections, shown or not.
	Unlisted        int
	TokensPerSecond Rate
}

// Dimension is how one dimension of the pool stands.
type Dimension struct {
	Unit          quota.Unit
	Window        quota.Window
	Limit         quota.Amount // 0 = unknown, shown as null
	ConsumedTotal quota.Amount
	HeldTotal     quota.Amount
	Mode          string       // strict, generous, guarantee
	Unlisted      quota.Amount // what the keys without an allocation of their own consumed
	Connections   []Connection // in pool order
	Uses          []Use        // of Snapshot.Keys, in their order
	Burn          Burn
	// Under the rule guarantee: what is kept for all keys together, and when nothing of it
	// is any more: at the end of the present bucket, or of the provider's cycle, epoch ms.
	Kept       quota.Amount
	KeptUntil  int64
	HasPromise bool // else both are absent
}

// Connection is what one connection has of a dimension.
type Connection struct {
	ID            string
	Limit         quota.Amount // what it gives to the pool's limit; 0 = unknown
	ConsumedTotal quota.Amount // over all keys
	ProviderUsed  quota.Amount // unit percent
	HasProvider   bool
	ResetAt       int64 // of the provider's reading, epoch ms; 0 = unknown
	Observed      int64 // when the provider said it, epoch ms; 0 = no signal
	Split
}

// Flight is what is in flight on one connection.
type Flight struct {
	ConnectionID  string
	InFlight      int64 // open holds, of whatever key
	MaxConcurrent int64 // how many it takes at a time; 0 = as many as come
}

// MaxWaiting is how many keys a Backlog shows at most.
const MaxWaiting = 100

// Backlog is who waits for a connection of the pool.
type Backlog struct {
	Waiting int    // requests
	Keys    []Wait // of whom, who has waited longest first, and at most MaxWaiting
}

// Wait is what waits of one key.
type Wait struct {
	APIKeyID string
	Waiting  int
	Since    int64 // when the first of them came, log time, epoch ms
}

// Key is one row of the pool and what a decision about it would be, asked now
// for any of the pool's connections, without a model and an estimate.
type Key struct {
	ID           string // an API key, or quota.AllOthers
	Allocation   string // the one it is judged by: its own id or quota.AllOthers; "" = none
	Own          bool   // the row is an allocation of the pool, no key that merely was seen
	Allow        bool
	Reason       string
	Detail       string // of a block by the rule guarantee: reserved or yield; "" = absent
	Deprioritize bool
	WouldBlock   bool // the pool only observes: it would be a block
	// RetryAt is the instant from which it would be allowed, epoch ms; 0 = it is,
	// or would never be by itself. An instant and no wait, for it stays the same
	// while nothing happens.
	RetryAt int64
}

// Use is what one row has of a dimension.
type Use struct {
	Consumed     quota.Amount
	Held         quota.Amount
	FairShare    quota.Amount
	HasFairShare bool
	Deficit      quota.Amount // signed: below 0 there is share left
	Borrowing    bool
	Remaining    quota.Amount
	HasRemaining bool
	Rate         Rate
	// Promised is what it can still use whatever the others do: at once of a provider's
	// cycle, by the end of the bucket of a sliding window. Of keys without an allocation of
	// their own it is in that of all of them.
	Promised   quota.Amount
	HasPromise bool // the rule is guarantee, and the row has a share; else it is absent
}

// UseOf returns the numbers that a decision explains.
func UseOf(d *questions.Dimension) Use {
	return Use{
		Consumed: d.Consumed, Held: d.Held, FairShare: d.FairShare, HasFairShare: d.HasFairShare,
		Deficit: d.Deficit, Borrowing: d.Borrowing, Remaining: d.Remaining, HasRemaining: d.HasRemaining,
		Promised: d.Promised, HasPromise: d.HasPromise && d.HasFairShare,
	}
}

// UsedPercent returns the consumed total in percent of the limit, see Percent.
func (d *Dimension) UsedPercent() (used quota.Amount, ok bool) {
	return Percent(d.ConsumedTotal, d.Limit)
}

// StrictAt returns the amount of the total from which the dimension is strict by
// our own count, under the rule threshold; ok is false when the limit is unknown. T / limit ≥ threshold
// first holds for
//
//	T = ceil(limit × threshold)
//
// since T is a whole number of steps.
func (d *Dimension) StrictAt(threshold quota.Ratio) (at quota.Amount, ok bool) {
	if d.Limit <= 0 {
		return 0, false
	}
	return quota.Amount(mulDivUp(int64(d.Limit), int64(threshold), int64(quota.RatioOne))), true
}

// mulDiv returns floor(a × b / c), held at the end of int64, for a, b ≥ 0 and
// c > 0.
func mulDiv(a, b, c int64) int64 {
	q, _ := divide(a, b, c)
	return q
}

// mulDivUp is mulDiv rounded up.
func mulDivUp(a, b, c int64) int64 {
	q, rest := divide(a, b, c)
	if rest > 0 && q < math.MaxInt64 {
		q++
	}
	return q
}

func divide(a, b, c int64) (q int64, rest uint64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64, 0
	}
	quo, rest := bits.Div64(hi, lo, uint64(c))
	if quo > math.MaxInt64 {
		return math.MaxInt64, 0
	}
	return int64(quo), rest
}
