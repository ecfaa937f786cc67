package fairshare

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// pooled is the pool of a given case with its dimension.
func (l ledger) pooled() *plans.Resolved {
	pool := &plans.Pool{ID: "p", Rule: plans.Guarantee, Reserve: l.Reserve, Connections: []plans.Connection{{ConnectionID: "c", Weight: 100}}}
	for i, weight := range l.Weights {
		pool.Allocations = append(pool.Allocations, plans.Allocation{APIKeyID: fmt.Sprint(i), Weight: quota.Ratio(weight) * quota.RatioOne})
	}
	return plans.Resolve(pool, func(string) plans.Plan {
		return plans.Plan{Dimensions: []plans.Dimension{{Unit: l.unit, Window: l.window, Limit: quota.Amount(l.Limit)}}}
	})
}

// TestPromisesAreWhatEachKeyIsTold, of all given cases: whoever asks for the promises of
// all keys gets what each of them is told when it asks, and who is blocked is told for
// whom capacity is kept.
func TestPromisesAreWhatEachKeyIsTold(t *testing.T) {
	reserved, cycles := 0, 0
	for _, v := range readPromised(t) {
		w, ok := windowOf(v.WindowMs)
		if !ok {
			continue
		}
		l := ledger{&v, quota.Tokens, w, int(v.Key)}
		if v.Kind == "anchored" {
			l.unit = quota.Percent
		}
		pool := l.pooled()
		var f Facts
		q := ask(pool, "nobody", 0)
		f.Gather(q, l, v.Now)
		p, ok := f.Promises(0, v.Now, nil)
		if !ok || len(p.Each) != len(v.Weights) {
			t.Fatalf("%s: %+v", v.Name, p)
		}
		end := (v.Now/v.WindowMs + 1) * v.WindowMs
		if v.Kind == "anchored" {
			end = min(*v.ResetAt, v.Now+v.WindowMs)
			cycles++
		}
		if p.Until != end {
			t.Errorf("%s: until %d, want %d", v.Name, p.Until, end)
		}
		var all quota.Amount
		for j := range v.Weights {
			l.as = j
			q := ask(pool, fmt.Sprint(j), 0)
			q.Explain = true
			q.Estimate[l.unit] = quota.Amount(v.Estimate)
			f.Gather(q, l, v.Now)
			d := f.Explain(0, v.Now, nil)[0]
			if all += d.Promised; p.Each[j] != d.Promised {
				t.Errorf("%s: key %d is told %d, and all are told %d of it", v.Name, j, d.Promised, p.Each[j])
			}
			if f.Decide(v.Now).Detail == "reserved" {
				reserved++
				checkKept(t, v.Name, &d, j)
			} else if f.Decide(v.Now).Allowed() && d.KeptFor != nil {
				t.Errorf("%s: key %d may pass, and stands behind %v", v.Name, j, d.KeptFor)
			}
		}
		if p.All != all {
			t.Errorf("%s: %d in all, want %d", v.Name, p.All, all)
		}
	}
	if reserved < 30 || cycles < 30 {
		t.Errorf("only %d were reserved, and %d in cycles", reserved, cycles)
	}
}

func checkKept(t *testing.T, name string, d *questions.Dimension, asker int) {
	var sum quota.Amount
	for _, k := range d.KeptFor {
		if sum += k.Amount; k.APIKeyID == fmt.Sprint(asker) {
			t.Errorf("%s: key %d stands behind itself", name, asker)
		}
	}
	if len(d.KeptFor) < questions.MostKept && sum != d.Kept || len(d.KeptFor) == 0 && d.Kept > 0 {
		t.Errorf("%s: key %d: %v, and %d are kept", name, asker, d.KeptFor, d.Kept)
	}
}

// TestTheRuleThresholdPromisesNothing, whatever was used.
func TestTheRuleThresholdPromisesNothing(t *testing.T) {
	v := readPromised(t)[0]
	w, _ := windowOf(v.WindowMs)
	l := ledger{&v, quota.Tokens, w, int(v.Key)}
	pool := l.pooled()
	pool.Pool.Rule = plans.Threshold
	var f Facts
	f.Gather(ask(pool, "0", 0), l, v.Now)
	if p, ok := f.Promises(0, v.Now, nil); ok {
		t.Errorf("%+v", p)
	}
}
