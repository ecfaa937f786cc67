package httpapi

import (
	"context"

	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
)

// explainDouble is the part of an Engine in memory that explains: one explanation
// that has everything, and one that has nothing.
type explainDouble struct{ busy bool }

func (d *explainDouble) Explain(_ context.Context, q *ExplainQuery) (*explanation.Explanation, error) {
	switch {
	case d.busy:
		return nil, ErrBusy
	case q.DecisionID == "nobody-1":
		return nil, Refuse(ErrNotFound, "decisionId: no decision %q is recorded", q.DecisionID)
	case q.DecisionID == "":
		return &explanation.Explanation{
			Question: q.Question,
			Reply: questions.Reply{
				DecisionID: "explain", Allow: true, Reason: "no-pool", HTTPStatus: 200, ScoreFactor: quota.RatioOne,
				AsOf: questions.AsOf{Seq: max(q.Seq, 7), Time: max(q.At, 1_700_000_000_000)}, Explained: true,
			},
			Rules:  explanation.Rules{Settings: plans.DefaultSettings()},
			Replay: explanation.Replay{Seq: max(q.Seq, 7)},
		}, nil
	}
	return whole(q.DecisionID), nil
}

// whole is an explanation in which everything is set.
func whole(id string) *explanation.Explanation {
	asked := questions.Question{APIKeyID: "alice", ConnectionID: "k-1", Estimate: quota.Amounts{quota.Requests: 1000}, MaxWaitMs: -1}
	reply := questions.Reply{
		DecisionID: id, Reason: "fair-share", ScoreFactor: quota.RatioOne, HTTPStatus: 429, Message: "Quota share limit reached",
		RetryAfterMs: 1500, RetryAt: 1_700_000_001_500, Scope: "key", HasBinding: true,
		AsOf: questions.AsOf{Seq: 4711, Time: 1_700_000_000_000},
	}
	recorded := questions.Keep(&asked, &reply)
	recorded.Time, recorded.ConnectionID, recorded.PoolID, recorded.Process = 1_700_000_000_000, "k-1", "team", "p7"
	recorded.ReplyOf = "p7-9"
	reply.Explained = true
	pool := &plans.Pool{
		ID: "team", Name: "Team", Provider: "kimi", CreatedAt: 1_600_000_000_000,
		Connections: []plans.Connection{{ConnectionID: "k-1", Weight: 100}}, Allocations: []plans.Allocation{{APIKeyID: "alice", Weight: 50 * quota.RatioOne}},
	}
	return &explanation.Explanation{
		Question: asked, Reply: reply, Recorded: &recorded, Differs: []string{"retryAt"}, Unproved: true,
		Rules: explanation.Rules{
			Pool: pool, PoolStamp: plans.Stamp{Revision: 4, UpdatedAt: 1_600_000_000_000, Actor: "ops"}, Enforcing: true,
			Plans: []plans.PlanView{{ConnectionID: "k-1", Provider: "kimi", Pool: "team"}}, Settings: plans.DefaultSettings(),
		},
		Signals: []usage.Signal{{ConnectionID: "k-1", Window: quota.FiveHour, Observed: 1_699_999_999_000, Known: true, Used: 41_000_000}},
		Holds: explanation.Holds{Open: 2, Top: []explanation.Hold{{
			APIKeyID: "bob", ConnectionID: "k-1", Model: "k2", Amounts: quota.Amounts{quota.Requests: 1000, quota.Tokens: 800_000}, End: 1_700_000_300_000,
		}}},
		Lines: []explanation.Line{
			{
				Unit: quota.Requests, Window: quota.Hourly, From: 1_699_995_600_000, Consumed: 800_500, HasConsumed: true, Found: 800_000, Events: 801,
				Top: []explanation.Event{
					{Seq: 17, Index: 3, ID: "u-1", Time: 1_699_999_000_000, APIKeyID: "alice", ConnectionID: "k-1", Model: "k2", RequestID: "r-1", Cost: 2000, Weight: 1500},
					{Seq: 18, Adjustment: true, Reason: "refund", Time: 1_699_999_000_000, APIKeyID: "alice", ConnectionID: "k-1", Cost: -1000, Weight: -1000},
				},
				Keys: []explanation.KeyUse{{APIKeyID: "alice", Consumed: 800_500}, {APIKeyID: "*", Consumed: 0}},
			},
			{Unit: quota.Tokens, Window: quota.Hourly, Model: "k2", From: 1_699_995_600_000},
			{Unit: quota.Percent, Window: quota.FiveHour, From: 1_699_995_600_000, Top: []explanation.Event{{
				Seq: 17, Time: 1_699_999_000_000, APIKeyID: "alice", ConnectionID: "k-1", Weight: 6_000_000, Split: 500_000, SplitBy: quota.Tokens, HasSplit: true,
			}}},
		},
		Replay: explanation.Replay{Snapshot: 4000, Seq: 4711, Missing: 2, MissingFrom: 4001, MissingTo: 4005},
		Notes:  []string{"2 of the messages from 4001 to 4005 are not in the log any more"},
	}
}
