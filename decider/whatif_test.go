package decider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/wire"
)

// obedient is a history whose gateways ask before each request, and do as they are
// told; and what they were told.
type obedient struct {
	*past
	told map[string]*whatif.Side
	from uint64 // its first message
}

func startObedient(t *testing.T) *obedient {
	h := &obedient{past: startPast(t), told: map[string]*whatif.Side{}}
	h.must(errorOf(h.PutPlan(h.within(), "c3", []plans.Dimension{{Unit: quota.Tokens, Window: quota.Hourly, Limit: 3000 * 1000}}, httpapi.Meta{})))
	o := team("o", "c3")
	o.Mode = plans.Observe
	h.must(errorOf(h.putPool(h.within(), o, httpapi.Meta{})))
	h.must(errorOf(h.ChangePool(h.within(), "p", func(now *plans.Pool) (*plans.Pool, error) {
		next := *now
		next.Allocations = append([]plans.Allocation(nil), now.Allocations...)
		next.Allocations[1].Policy, next.Allocations[1].Weight = plans.Soft, 15*quota.RatioOne // bob
		return &next, nil
	}, httpapi.Meta{})))
	h.from = h.Applied() + 1
	return h
}

// call is one request of a gateway.
func (h *obedient) call(i int) {
	q := questions.Question{APIKeyID: []string{"alice", "bob", "carol"}[h.dice.IntN(3)], MaxWaitMs: 20_000, RequestID: fmt.Sprintf("r%d", i)}
	q.Estimate = quota.Amounts{quota.Requests: 1000, quota.Tokens: quota.Amount(50+h.dice.IntN(500)) * 1000}
	if h.dice.IntN(3) == 0 {
		q.Model = fmt.Sprintf("k%d", h.dice.IntN(3))
	}
	switch h.dice.IntN(5) {
	case 0:
		q.Pool = "p"
	case 1:
		q.Pool, q.Reserve, q.MaxWaitMs = "p", true, 0 // a route
	default:
		q.ConnectionID, q.Reserve = []string{"c", "c2", "c3", "d"}[h.dice.IntN(4)], h.dice.IntN(2) == 0
	}
	r := h.answer(q)
	side := h.told[q.APIKeyID]
	if side == nil {
		side = &whatif.Side{}
		h.told[q.APIKeyID] = side
	}
	side.Count(&whatif.Decision{Block: !r.Allow || r.WouldBlock, Passes: r.Allow, Deprioritize: r.Deprioritize, Reason: r.Reason}, 1)
	if !r.Allow {
		return
	}
	conn := q.ConnectionID
	switch {
	case r.ConnectionID != "":
		conn = r.ConnectionID
	case conn == "":
		conn = r.Alternatives[0]
	}
	if q.Reserve && h.dice.IntN(5) == 0 {
		h.publish("quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q}`, q.APIKeyID, r.RequestID))
		return
	}
	side.Serve(&q.Estimate)
	model := ""
	if q.Model != "" {
		model = fmt.Sprintf(`"model":%q,`, q.Model)
	}
	h.publish("quota.consumption", fmt.Sprintf(`{"id":"u%d","apiKeyId":%q,"connectionId":%q,%s"requestId":%q,"time":%d,"cost":{"tokens":%s}}`,
		i, q.APIKeyID, conn, model, q.RequestID, r.AsOf.Time, q.Estimate[quota.Tokens].Format(quota.Tokens)))
}

// inForce is a trial of everything that is in force.
func (h *obedient) inForce() *whatif.Trial {
	t := &whatif.Trial{From: whatif.Place{Seq: h.from}}
	for _, p := range h.Pools() {
		t.Pools = append(t.Pools, p.Doc)
	}
	for _, c := range []string{"c", "c2", "c3"} {
		t.Plans = append(t.Plans, whatif.Plan{ConnectionID: c, Dimensions: h.Plan(c).Plan.Dimensions})
	}
	doc, err := wire.ParseJSON([]byte(`{"decisionSampleRate":1}`))
	h.must(err)
	t.Settings = doc
	return t
}

// sides are those of every key.
func sides(r *whatif.Report, which int) map[string]*whatif.Side {
	all := map[string]*whatif.Side{}
	for i := range r.Rows {
		all[r.Rows[i].APIKeyID] = &r.Rows[i].Sides[which]
	}
	return all
}

// Judged again by the same questions, the history gives what the engine answered, to
// the last block; and with the rules in force for those tried nothing changes.
func TestWhatIfWithTheLiveRulesIsWhatWas(t *testing.T) {
	h := startObedient(t)
	for i := range 250 {
		h.ahead.Add(100)
		h.call(i)
		if i%90 == 80 {
			h.must(errorOf(h.Snapshot(h.within())))
		}
	}
	h.awaitEmpty()
	made, err := h.WhatIf(h.within(), h.inForce())
	h.must(err)
	if diff := cmp.Diff(h.told, sides(made, whatif.Before)); diff != "" {
		t.Errorf("told (-) and found again (+):\n%s", diff)
	}
	if diff := cmp.Diff(h.told, sides(made, whatif.After)); diff != "" {
		t.Errorf("told (-) and under the same rules (+):\n%s", diff)
	}
	if a := made.Asked; a.Unlike != 0 || a.Blocks == 0 || a.Holds == 0 || a.Consumptions == 0 {
		t.Errorf("asked %+v", a)
	}
	total := made.Total()
	if len(total.Sides[0].Reasons) < 3 || total.Sides[0].WouldBlock == 0 || total.Sides[0].Deprioritized == 0 {
		t.Errorf("the history is dull: %+v", total.Sides[0])
	}
	for _, p := range made.Pools {
		if p.Sides[whatif.Before] != p.Sides[whatif.After] {
			t.Errorf("capacity differs: %+v", p)
		}
	}
}

func TestWhatIfIsMadeOneAtATimeAndInTime(t *testing.T) {
	h := startObedient(t)
	trial := h.inForce()
	h.must(h.audits.make(func(*nats.Conn, replay.Options) error {
		if _, err := h.WhatIf(h.within(), trial); !errors.Is(err, httpapi.ErrBusy) {
			t.Errorf("a second audit: %v", err)
		}
		return nil
	}))
	h.call(0)
	over, cancel := context.WithTimeout(h.within(), -time.Second)
	defer cancel()
	if _, err := h.WhatIf(over, trial); !errors.Is(err, httpapi.ErrUnavailable) || !strings.Contains(err.Error(), "name a shorter range") {
		t.Errorf("one that takes too long: %v", err)
	}
	before := h.Applied()
	h.must(errorOf(h.WhatIf(h.within(), trial)))
	if h.Applied() != before {
		t.Error("a trial wrote to the log")
	}
}
