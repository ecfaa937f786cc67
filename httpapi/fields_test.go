package httpapi

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
)

// noon is 2026-09-21T12:00:00Z.
const noon int64 = 1_789_992_000_000

// fill makes the engine answer with every field that an answer may have.
func (d *double) fill() {
	d.used = everyUse()
	d.decide = func(q questions.Question, r *questions.Reply) { *r = everyReply(&q) }
	d.settings.Values[plans.SaturationThreshold] = plans.SettingValue{N: 600_000, Origin: plans.Environment, From: "decider@host-1"}
	d.settings.Values[plans.MaxLagMs] = plans.SettingValue{N: 2500, Origin: plans.Environment, From: "decider@host-1"}
	d.rejects = append(d.rejects, events.Rejected{
		Seq: 6, Subject: "quota.consumption.eu", Reason: events.Undecodable, Message: "the message is empty",
		Time: noon, Headers: map[string][]string{"Nats-Msg-Id": {"m-1"}}, Truncated: true,
	})
	d.watchedDouble.mu.Lock()
	defer d.watchedDouble.mu.Unlock()
	d.log, d.folded = everyChange(), 6
}

func everyChange() []Change {
	return []Change{
		{Seq: 2, Time: noon, Kind: "pool", ID: "team", Do: "put", Actor: "ops", Reason: "new team", Document: []byte(`{"id":"team"}`)},
		{Seq: 4, Time: noon, Kind: "plan", ID: "kimi-1", Do: "delete"},
		{Seq: 5, Time: noon, Subject: "quota.config.x", Document: []byte(`[1]`), Rejected: &events.Rejection{Reason: events.UnknownSubject, Message: "no event has this subject"}},
		{Seq: 6, Time: noon, Kind: "settings", Do: "put", Document: []byte(`{"values":{}}`)},
	}
}

// watched is an engine whose usage and state those who watch are told of.
type watched struct{ *scene }

func (w watched) Usage(_ context.Context, pool string) (*usage.Snapshot, error) {
	s := everyUse()
	s.PoolID = pool
	return s, nil
}

// everyEvent returns what somebody is told who watches while everything happens:
// the state is lost and found, and the process is another one.
func everyEvent(t *testing.T) string {
	var told string
	synctest.Test(t, func(t *testing.T) {
		s := newScene()
		s.lost = true
		s.use("team", 1)
		s.proc = "p2"
		h := open(t, watched{s}, Config{})
		defer h.close()
		c := h.connect("ann", "GET /api/quota/stream?events=config,usage,state,decision\nlast-event-id: 0.p1.3", true)
		h.pause()
		s.mu.Lock()
		s.lost = false
		s.mu.Unlock()
		for _, change := range everyChange() {
			s.change(change)
		}
		b := Block{
			Seq: 1, Time: noon, APIKeyID: "alice", ConnectionID: "kimi-1", PoolID: "team", Model: "k2", Reason: "model-cap", DecisionID: "d1", Count: 2,
			RetryAt: noon + 1500, WouldBlock: true, Binding: questions.Binding{Unit: quota.Requests, Window: quota.Hourly, Model: "k2"}, HasBinding: true,
		}
		s.block(b)
		h.pause()
		told = c.take()
	})
	return told
}

// pause lets time pass until everything was looked at again.
func (h *theatre) pause() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

func everyUse() *usage.Snapshot {
	return &usage.Snapshot{
		PoolID: "team", GeneratedAt: noon + 5, AsOf: questions.AsOf{Seq: 42, Time: noon, LagMs: 7},
		Mode: plans.Observe, Enforcing: true, Threshold: quota.RatioOne / 2,
		Dimensions: []usage.Dimension{{
			Unit: quota.Requests, Window: quota.Hourly, Limit: 1_500_000, ConsumedTotal: 900_000, HeldTotal: 2000, Mode: "strict", Unlisted: 50_000,
			Connections: []usage.Connection{
				{
					ID: "kimi-1", Limit: 1_500_000, ConsumedTotal: 900_000, ProviderUsed: 61_500_000, HasProvider: true, ResetAt: noon + 600_000,
					Observed: noon - 500, Split: usage.Split{HasSplit: true, Attributed: 60_000_000, Unattributed: 1_500_000},
				},
				{ID: "kimi-2"},
			},
			Uses: []usage.Use{
				{Consumed: 850_000, Held: 2000, FairShare: 750_000, HasFairShare: true, Deficit: 100_000, Borrowing: true, HasRemaining: true, Rate: 250_000},
				{Consumed: 50_000, Remaining: 598_000, HasRemaining: true},
			},
			Burn: usage.Burn{Rate: 250_000, ExhaustionMs: 600_000, HasExhaustion: true},
		}, {
			Unit: quota.USD, Window: quota.Daily, Mode: "generous", Uses: make([]usage.Use, 2),
		}, { // of a pool of the other rule
			Unit: quota.Tokens, Window: quota.Hourly, Limit: 50_000, ConsumedTotal: 21_000, Mode: "guarantee", Kept: 29_000, KeptUntil: noon + 1_800_000, HasPromise: true,
			Uses: []usage.Use{{Consumed: 20_000, FairShare: 10_000, HasFairShare: true, Promised: 4000, HasPromise: true}, {Consumed: 1000}},
		}},
		Signals: []usage.Signal{
			{
				ConnectionID: "kimi-1", Window: quota.Hourly, Observed: noon - 500, Known: true, Used: 61_500_000, ResetAt: noon + 600_000,
				Split: usage.Split{HasSplit: true, Attributed: 60_000_000, Unattributed: 1_500_000}, Drift: 1_500_000, HasDrift: true,
			},
			{ConnectionID: "kimi-1", Window: quota.Rate, Scope: "k2", Observed: noon - 60_000},
		},
		Keys: []usage.Key{
			{ID: "alice", Allocation: "alice", Own: true, Reason: "fair-share", RetryAt: noon + 1_804_789},
			{ID: "zoe", Allow: true, Reason: "no-allocation", WouldBlock: true, Detail: "yield"},
		},
		Flights:  []usage.Flight{{ConnectionID: "kimi-1", InFlight: 2, MaxConcurrent: 2}, {ConnectionID: "kimi-2"}},
		Backlog:  usage.Backlog{Waiting: 2, Keys: []usage.Wait{{APIKeyID: "alice", Waiting: 2, Since: noon - 1500}}},
		Unlisted: 1, TokensPerSecond: 12_500_000,
	}
}

func everyReply(q *questions.Question) questions.Reply {
	r := questions.Reply{
		DecisionID: "d2", Reason: "model-cap", ScoreFactor: quota.RatioOne, HTTPStatus: 429, Scope: "model",
		Message:      "Model cap reached for your API key on kimi/k2: 10 of 10 requests are used",
		RetryAfterMs: 1500, RetryAt: noon + 1500, RequestID: q.RequestID, AsOf: questions.AsOf{Seq: 42, Time: noon, LagMs: 7},
		Binding: questions.Binding{Unit: quota.Requests, Window: quota.Hourly, Model: "k2"}, HasBinding: true,
		Alternatives: []string{"kimi-2"}, Degraded: []string{"lag", "min-seq"}, Detail: "the state is 7 s old",
	}
	if q.Reserve {
		r.RequestID, r.Degraded = "d2", []string{"no-hold"}
	}
	if q.Pool != "" { // one that observes
		r.Allow, r.WouldBlock, r.HTTPStatus = true, true, 200
	}
	if q.Routed() {
		r.ConnectionID = "kimi-2"
		r.Candidates = []questions.RouteCandidate{
			{ConnectionID: "kimi-2", Order: 1, Gate: "saturated", InFlight: 2, MaxConcurrent: 3, Score: 630_000, HasScore: true},
			{ConnectionID: "kimi-1", Order: 2, Gate: "blocked"},
		}
	}
	if q.Explain {
		r.Dimensions = []questions.Dimension{{
			Unit: quota.Requests, Window: quota.Hourly, Limit: 10_000, Consumed: 10_000, Held: 1000, FairShare: 5000, HasFairShare: true,
			HasRemaining: true, ConsumedTotal: 12_000, HeldTotal: 1000, Mode: "strict", Borrowing: true, Deficit: 5000,
			ProviderUsed: 61_500_000, HasProvider: true, ResetAt: noon + 600_000,
			ObservedAt: noon - 500, Attributed: 60_000_000, Unattributed: 1_500_000, HasSplit: true,
		}, {
			Unit: quota.Percent, Window: quota.FiveHour, Mode: "generous",
		}, { // of a pool of the other rule
			Unit: quota.Tokens, Window: quota.Hourly, Limit: 50_000, Consumed: 20_000, FairShare: 10_000, HasFairShare: true,
			ConsumedTotal: 21_000, Mode: "guarantee", Promised: 4000, Kept: 29_000, Headroom: 700, HasPromise: true,
			KeptFor: []questions.Kept{{APIKeyID: q.APIKeyID, Amount: 25_000}, {APIKeyID: "*", Amount: 4000}},
		}}
		r.HasTraffic, r.Traffic = true, questions.Traffic{InFlight: 2, MaxConcurrent: 2, Waiting: 3, OldestMs: 1500, KeyWaiting: 1, KeyOldestMs: 200}
	}
	return r
}
