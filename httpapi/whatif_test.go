package httpapi

import (
	"context"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/wire"
)

// whatIfDouble is the part of an Engine in memory that tries rules: one report in
// which everything is set, and of a trial of settings alone one in which nothing is.
type whatIfDouble struct{ occupied bool }

func (d *whatIfDouble) WhatIf(_ context.Context, t *whatif.Trial) (*whatif.Report, error) {
	switch {
	case d.occupied:
		return nil, ErrBusy
	case t.From.Seq > 4711:
		var faults wire.Faults
		faults.Add("from", "is message 4712, and the range ends with message 4711: there is nothing between")
		return nil, faults.Err()
	case len(t.Pools)+len(t.Rules) == 0:
		return &whatif.Report{From: 1, To: 1}, nil
	}
	r := &whatif.Report{
		From: 17, To: 4711, FromAt: 1_700_000_000_000, ToAt: 1_700_086_400_000,
		Rows: []whatif.Row{{APIKeyID: "alice"}, {APIKeyID: "bob", NewlyBlocked: 2, NewlyAllowed: 1}},
		Pools: []whatif.Pool{{PoolID: "team", Unit: quota.USD, Window: quota.Daily, Sides: [2]whatif.Capacity{
			{Buckets: 2, Limit: 20_000_000_000, Used: 12_500_000_000, Unused: 7_500_000_000, Withheld: 6_000_000_000, Wanted: 250_000_000}, {},
		}}},
		Asked:  whatif.Asked{Consumptions: 40, Holds: 3, Blocks: 7, Degraded: 1, Unlike: 2, Waiting: [2]int64{1, 0}},
		Replay: whatif.Replay{Snapshot: 16, Missing: 2, MissingFirst: 18, MissingLast: 20},
		Notes:  []string{"2 of the messages from 18 to 20 are not in the log any more"},
	}
	r.Rows[0].Sides[whatif.Before] = whatif.Side{Allowed: 20, Deprioritized: 3, Served: quota.Amounts{quota.USD: 1_250_000_000}}
	r.Rows[1].Sides[whatif.After] = whatif.Side{
		Allowed: 18, Blocked: 12, WouldBlock: 10, Served: quota.Amounts{quota.Requests: 18_000, quota.Tokens: 500, quota.Percent: 1}, Reasons: map[string]int64{"model-cap": 2, "fair-share": 10},
	}
	return r, nil
}
