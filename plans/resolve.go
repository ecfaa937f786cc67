package plans

import (
	"math/bits"

	"github.com/quotashare/quotashare/quota"
)

// PoolDimension is one dimension of a pool with its numbers worked out.
type PoolDimension struct {
	Unit   quota.Unit
	Window quota.Window
	// Limit is the sum over the pool's connections, 0 = unknown. It saturates:
	// a sum beyond int64 is no limit anybody reaches.
	Limit quota.Amount
	// PerConnection is what each connection, in pool order, gives to Limit.
	PerConnection []quota.Amount
	// Shares is what each allocation, in pool order, has of Limit.
	Shares []quota.Amount
}

// Resolved is a pool with the plans of its connections applied. It is never
// changed after Resolve, so any number of readers may hold it.
type Resolved struct {
	Pool       *Pool
	Dimensions []PoolDimension

	// Weights are the weights of the allocations, in pool order, or all 1 when all are 0:
	// what one key used is compared with what another used by them.
	Weights []int64

	allocation map[string]int
	others     int // index of the allocation for quota.AllOthers, -1 none
	modelCaps  map[string][]ModelCap
}

// Resolve works out the limits and shares of a pool. The pool must not be
// changed afterwards.
func Resolve(p *Pool, planOf func(connectionID string) Plan) *Resolved {
	r := &Resolved{Pool: p, others: -1, allocation: make(map[string]int, len(p.Allocations))}
	for i, a := range p.Allocations {
		r.allocation[a.APIKeyID] = i
		if a.APIKeyID == quota.AllOthers {
			r.others = i
		}
	}
	r.Weights = compared(p.Allocations)
	if len(p.ModelCaps) > 0 {
		r.modelCaps = make(map[string][]ModelCap)
	}
	for _, c := range p.ModelCaps {
		r.modelCaps[c.APIKeyID] = append(r.modelCaps[c.APIKeyID], c)
	}
	r.resolveDimensions(planOf)
	return r
}

func compared(list []Allocation) []int64 {
	weights, equal := make([]int64, len(list)), true
	for i, a := range list {
		weights[i] = int64(a.Weight)
		equal = equal && a.Weight == 0
	}
	for i := range weights {
		if equal {
			weights[i] = 1
		}
	}
	return weights
}

// resolveDimensions takes the dimensions of the first connection; each of the
// others may set its own limit in them.
func (r *Resolved) resolveDimensions(planOf func(string) Plan) {
	if len(r.Pool.Connections) == 0 {
		return
	}
	own := make([]Plan, len(r.Pool.Connections))
	for i, c := range r.Pool.Connections {
		own[i] = planOf(c.ConnectionID)
	}
	weights := make([]quota.Ratio, len(r.Pool.Allocations))
	for i, a := range r.Pool.Allocations {
		weights[i] = a.Weight
	}
	for _, d := range own[0].Dimensions {
		pd := PoolDimension{Unit: d.Unit, Window: d.Window, PerConnection: make([]quota.Amount, len(own))}
		if d.Limit > 0 {
			for i, p := range own {
				pd.PerConnection[i] = p.limit(d)
				pd.Limit = quota.AddSat(pd.Limit, pd.PerConnection[i])
			}
		}
		pd.Shares = Shares(pd.Limit, weights)
		r.Dimensions = append(r.Dimensions, pd)
	}
}

// limit returns the plan's own limit in the dimension of first, or that of
// first where the plan does not say.
func (p Plan) limit(first Dimension) quota.Amount {
	for _, d := range p.Dimensions {
		if d.Unit == first.Unit && d.Window == first.Window && d.Limit > 0 {
			return d.Limit
		}
	}
	return first.Limit
}

// Allocation returns the index of the key's own allocation, else that of
// quota.AllOthers, else -1.
func (r *Resolved) Allocation(key string) int {
	if i, ok := r.allocation[key]; ok {
		return i
	}
	return r.others
}

// ModelCaps returns the model caps that name the key, in the document's order.
// A key needs no allocation to have some. The slice is shared.
func (r *Resolved) ModelCaps(key string) []ModelCap { return r.modelCaps[key] }

// HasLimit reports whether a dimension of the pool has a known limit. A pool
// without one, and without a provider reading, enforces nothing.
func (r *Resolved) HasLimit() bool {
	for _, d := range r.Dimensions {
		if d.Limit > 0 {
			return true
		}
	}
	return false
}

// Shares returns each weight's share of limit, floored:
//
//	limit × weight / max(100, Σ weights)      all weights 0: limit / len(weights)
//
// Weights that sum to less than 100 leave the rest to nobody; above 100 they
// are scaled down, so the shares never sum to more than the limit. Weights are
// at most 100e6 millionths and the limit below 2^63, so the product needs 90
// bits.
func Shares(limit quota.Amount, weights []quota.Ratio) []quota.Amount {
	shares := make([]quota.Amount, len(weights))
	var sum quota.Ratio
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		for i := range shares {
			shares[i] = limit / quota.Amount(len(weights))
		}
		return shares
	}
	sum = max(sum, 100*quota.RatioOne)
	for i, w := range weights {
		hi, lo := bits.Mul64(uint64(limit), uint64(w))
		q, _ := bits.Div64(hi, lo, uint64(sum)) // w ≤ sum, so q ≤ limit
		shares[i] = quota.Amount(q)
	}
	return shares
}
