package projector

import (
	"context"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
)

// Reach returns how far the keys of a pool could come under the plans and settings in
// force, if this were its document; of the keys those from offset on, limit at most. The
// document is not changed. It takes a step for every key that is shown and every one that
// the pool has. An error is that of the context.
func (s *State) Reach(ctx context.Context, doc *plans.Pool, offset, limit int) (*usage.Reach, error) {
	resolved, threshold := s.resolved(doc)
	rules := [...]fairshare.Reacher{
		{Pool: resolved, Rule: plans.Threshold, Threshold: threshold},
		{Pool: resolved, Rule: plans.Guarantee, Threshold: threshold},
	}
	keys := doc.Allocations
	from := min(offset, len(keys))
	reach := &usage.Reach{Total: len(keys)}
	for i := range resolved.Dimensions {
		d := &resolved.Dimensions[i]
		one := usage.ReachDimension{Unit: d.Unit, Window: d.Window, Limit: d.Limit}
		for k := from; d.Limit > 0 && k < min(from+limit, len(keys)); k++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			key := usage.KeyReach{ID: keys[k].APIKeyID, Share: d.Shares[k]}
			for rule, to := range []*usage.Reached{&key.Threshold, &key.Guarantee} {
				reached, _ := rules[rule].Of(i, k)
				*to = usage.Reached(reached)
			}
			one.Keys = append(one.Keys, key)
		}
		reach.Dimensions = append(reach.Dimensions, one)
	}
	return reach, nil
}

func (s *State) resolved(doc *plans.Pool) (*plans.Resolved, quota.Ratio) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.draft(doc, s.planWith(nil)).resolved, s.settings.doc.SaturationThreshold()
}
