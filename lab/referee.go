package lab

import (
	"math/bits"

	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// referee watches a run and knows nothing of its rule but the reserve.
type referee struct {
	run     *run
	reserve int64
	keys    []watched
	figures Figures
	waits   []int64
}

// watched is what a key waits for.
type watched struct {
	waiting bool  // within its share, and refused
	since   int64 // when that was first
	served  int   // the number of the question by which it was served last
	claim   claim
}

// claim is a promise of a sliding window that is not kept yet.
type claim struct {
	open  bool
	since int          // the number of the question that opened it
	want  quota.Amount // in this bucket, by its end
	size  quota.Amount // the largest that was refused
	last  int64        // when the key was refused last
}

func newReferee(r *run) referee {
	f := referee{run: r, reserve: r.rule.Reserve, keys: make([]watched, len(r.lines)), waits: make([]int64, len(r.lines))}
	if r.rule.Rule != plans.Guarantee {
		f.reserve = 100
	}
	return f
}

func (f *referee) share(key int) quota.Amount { return f.run.pool.Dimensions[0].Shares[key] }

// promise is ℓ of the key: min(share, ⌊share × ρ × left / (100 × W)⌋).
func (f *referee) promise(key int) quota.Amount {
	share := f.share(key)
	hi, lo := bits.Mul64(uint64(share), uint64(f.reserve*f.run.left()))
	whole := uint64(100 * f.run.width)
	if hi >= whole {
		return share
	}
	q, _ := bits.Div64(hi, lo, whole)
	return min(share, quota.Amount(q))
}

// claims reports whether a request would leave the key within its promise.
func (f *referee) claims(key int, size quota.Amount) (promise quota.Amount, ok bool) {
	promise = f.promise(key)
	return promise, f.run.inPeriod(key)+size <= promise
}

// refused is told of every refusal.
func (f *referee) refused(key int, size quota.Amount) {
	f.figures.Questions++
	f.figures.Refused++
	w := &f.keys[key]
	if !w.waiting && f.run.inPeriod(key)+size <= f.share(key) {
		w.waiting, w.since = true, f.run.now
	}
	w.claim.size, w.claim.last = max(w.claim.size, size), f.run.now
	promise, ok := f.claims(key, size)
	switch {
	case !ok:
	case f.run.kind == Anchored:
		f.figures.Claims++
		f.figures.Broken++
	case !w.claim.open:
		f.figures.Claims++
		w.claim = claim{open: true, since: f.figures.Questions, want: promise, size: size, last: f.run.now}
	}
}

// admits is told before an admission counts.
func (f *referee) admits(key int, size quota.Amount) {
	f.figures.Questions++
	if _, ok := f.claims(key, size); ok && !f.keys[key].claim.open {
		f.figures.Claims++
	}
	f.keys[key].served = f.figures.Questions
}

// admitted is told after it.
func (f *referee) admitted(key int) {
	if w := &f.keys[key]; w.waiting {
		f.waits[key] = max(f.waits[key], f.run.now-w.since)
		w.waiting = false
	}
	if f.run.has(f.run.total) > Whole {
		f.figures.Over++
	}
}

// hasAll is told when a key was served all that it asked for: whatever it was promised, it
// wanted no more.
func (f *referee) hasAll(key int) { f.keys[key].claim = claim{} }

// periodEnds is told when a window is over: who waits has waited in vain, and what was
// promised in a bucket must be there. Nothing came since its last millisecond, which is
// looked at.
func (f *referee) periodEnds() {
	f.run.now--
	for j := range f.keys {
		if f.broken(j) {
			f.figures.Broken++
		}
		if f.keys[j].waiting {
			f.figures.GaveUp++
		}
	}
	for j := range f.keys {
		f.keys[j].waiting, f.keys[j].claim = false, claim{}
	}
	f.run.now++
}

// broken reports whether a key that asks still did not get what it was promised in this
// bucket, and another that was served since has more for its weight. What came free after
// the key had asked last it would have got: at most the whole limit in a window's time.
func (f *referee) broken(j int) bool {
	c := &f.keys[j].claim
	free := quota.Amount((f.run.now - c.last) * int64(Whole) / f.run.width)
	has := f.run.inPeriod(j) + guarantee.Gap*c.size + free
	if !c.open || !f.asks(j) || has >= c.want {
		return false
	}
	w := f.run.pool.Weights
	for k := range f.keys {
		if k != j && f.keys[k].served > c.since && compare(f.run.inPeriod(k), w[j], has, w[k]) > 0 {
			return true
		}
	}
	return false
}

// asks reports whether a key has a request that came already.
func (f *referee) asks(key int) bool {
	l := &f.run.lines[key]
	return len(l.requests) > 0 && f.run.begin+l.requests[0].At <= f.run.now
}
