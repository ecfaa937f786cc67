package fairshare

import (
	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// Promises is what the rule guarantee keeps of one dimension.
type Promises struct {
	Each []quota.Amount // by allocation: what it can still use whatever the others do
	All  quota.Amount   // of them together
	// Until is the end of the present period, epoch ms, when nothing is left of them: that
	// of the bucket, or when the provider resets its window.
	Until int64
}

// Promises returns what is promised of dimension i, in plan order, at instant now; each
// is appended to dst. ok is false of a dimension that is not judged by the rule guarantee.
// Whoever asks gets the same, at the cost of one look at every key.
func (f *Facts) Promises(i int, now int64, dst []quota.Amount) (p Promises, ok bool) {
	f.measure(now)
	if !f.guaranteed(&f.lines[i]) {
		return p, false
	}
	d := f.period(i, &f.numbers[i], now)
	p = Promises{Each: dst, Until: now + 1 + d.Left}
	for k := range d.Keys {
		one := d.Promise(k)
		p.Each, p.All = append(p.Each, one), quota.AddSat(p.All, one)
	}
	return p, true
}

// keptFor is for whom capacity is kept where the rule guarantee blocks line i at the
// instant that was measured.
func (f *Facts) keptFor(i int) (list []questions.Kept) {
	n := &f.numbers[i]
	if !n.guaranteed || !n.promise.Outcome.Blocks() {
		return nil
	}
	d := f.period(i, n, f.measured)
	for _, k := range d.KeptFor(f.asker(n.estimate), n.promise.Outcome, questions.MostKept, nil) {
		list = append(list, questions.Kept{APIKeyID: f.q.Pool.Pool.Allocations[k.Key].APIKeyID, Amount: k.Amount})
	}
	return list
}

// asker is who asks, for so much of a line.
func (f *Facts) asker(estimate quota.Amount) guarantee.Asker {
	policy := f.policy()
	return guarantee.Asker{Key: f.q.Allocation, Estimate: estimate, Gives: policy == plans.Soft || policy == plans.Burst}
}
