package lab

import (
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// epoch is the window, counted from 1970, that a scenario begins with: late enough that
// there is one before it.
const epoch = 1_000

// ledger is what was used in the pool, and judges what is asked.
type ledger struct {
	kind  Kind
	unit  quota.Unit
	width int64
	now   int64 // absolute
	keys  []windows.Counter
	total windows.Counter

	pool  *plans.Resolved
	rule  Rule
	facts fairshare.Facts
	asker view
	peer  view // of As, which is called for every key of every question
}

func newLedger(s *Scenario, kind Kind, rule Rule) *ledger {
	l := &ledger{kind: kind, unit: quota.Tokens, width: s.Window.Millis(), rule: rule, keys: make([]windows.Counter, len(s.Keys))}
	if kind == Anchored {
		l.unit = quota.Percent
	}
	pool := &plans.Pool{ID: "lab", Rule: rule.Rule, Reserve: rule.Reserve, Connections: []plans.Connection{{ConnectionID: "lab", Weight: 100}}}
	for _, k := range s.Keys {
		pool.Allocations = append(pool.Allocations, plans.Allocation{APIKeyID: k.Name, Weight: k.Weight})
	}
	plan := plans.Plan{Dimensions: []plans.Dimension{{Unit: l.unit, Window: s.Window, Limit: Whole}}, Source: plans.Manual}
	l.pool = plans.Resolve(pool, func(string) plans.Plan { return plan })
	l.asker.ledger, l.peer.ledger = l, l
	return l
}

// judge is what production says of the key's request at the instant.
func (l *ledger) judge(key int, size quota.Amount) fairshare.Verdict {
	q := fairshare.Question{
		Pool: l.pool, Allocation: key, APIKeyID: l.pool.Pool.Allocations[key].APIKeyID,
		Threshold: l.rule.Threshold, SoftFactor: quota.RatioOne, NoRetry: true,
	}
	q.Estimate[l.unit] = size
	l.asker.as = key
	l.facts.Gather(&q, &l.asker, l.now)
	return l.facts.Judge(l.now)
}

// use counts what was let pass.
func (l *ledger) use(key int, size quota.Amount) {
	bucket, _ := windows.Bucket(l.now, l.width)
	l.keys[key].Add(bucket, size)
	l.total.Add(bucket, size)
}

// inPeriod is what the key used in the current period.
func (l *ledger) inPeriod(key int) quota.Amount {
	bucket, _ := windows.Bucket(l.now, l.width)
	return l.keys[key].Rotate(bucket).Curr
}

// has is how much a counter has of the limit: in the cycle, or effective.
func (l *ledger) has(c windows.Counter) quota.Amount {
	if l.kind == Anchored {
		bucket, _ := windows.Bucket(l.now, l.width)
		return c.Rotate(bucket).Curr
	}
	return c.Effective(l.now, l.width)
}

// left is the time left in the period, 0 in its last millisecond.
func (l *ledger) left() int64 {
	_, elapsed := windows.Bucket(l.now, l.width)
	return l.width - 1 - elapsed
}

// view is the ledger as a key of one allocation sees it.
type view struct {
	*ledger
	as int
}

// As is the ledger as another key sees it.
func (v *view) As(allocation int) fairshare.Counters {
	v.peer.as = allocation
	return &v.peer
}

// Key is what the key used, in a unit that is counted: of a cycle the parts of the reading
// stand for it.
func (v *view) Key(int, quota.Unit, quota.Window) windows.Counter {
	if v.kind == Anchored {
		return windows.Counter{}
	}
	return v.keys[v.as]
}

// Total is what all used.
func (v *view) Total(int, quota.Unit, quota.Window) windows.Counter {
	if v.kind == Anchored {
		return windows.Counter{}
	}
	return v.total
}

// Reading is the provider's word on its cycle: right, and of this instant.
func (v *view) Reading(int, quota.Window) fairshare.Reading {
	if v.kind == Sliding {
		return fairshare.Reading{}
	}
	reset := v.now + v.left() + 1
	return fairshare.Reading{
		Current: fairshare.Level{Used: v.has(v.total), Until: reset, ResetAt: reset, Observed: v.now},
		Part:    v.inPeriod(v.as), PartUntil: reset, PartAt: v.now,
	}
}

// Model is of no use here: no model is named, and nothing is held.
func (v *view) Model(int, quota.Unit) windows.Counter { return windows.Counter{} }

// Scoped is not asked for without a model.
func (v *view) Scoped(_ int, _ quota.Window, dst []fairshare.Level) []fairshare.Level { return dst }

// Held is nothing.
func (v *view) Held(quota.Unit, quota.Amount, fairshare.Whose, int64) quota.Amount { return 0 }

// Holds are none.
func (v *view) Holds(dst []fairshare.Hold) []fairshare.Hold { return dst }
