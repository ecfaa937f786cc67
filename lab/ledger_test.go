package lab

import (
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// wander makes a ledger on which keys used something by chance over some windows, and
// calls look now and then.
func wander(t *testing.T, kind Kind, rule Rule, look func(l *ledger, key int, size quota.Amount)) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, uint64(kind)))
	for range 200 {
		s := story("wander", "", anyWeights(2+r.IntN(5), r))
		l := newLedger(s, kind, rule)
		l.now = epoch*l.width + r.Int64N(l.width)
		for range 30 {
			l.now += r.Int64N(l.width / 8)
			key, size := r.IntN(len(s.Keys)), 1+quota.Amount(r.Int64N(int64(Whole)/10))
			if r.IntN(3) == 0 {
				size = min(max(1, Whole-l.has(l.total)+quota.Amount(r.IntN(3))-1), Whole) // about what is left
			}
			look(l, key, size)
			if !l.judge(key, size).Reason.Blocks() {
				l.use(key, size)
			}
		}
	}
}

// First come, first served asks for nothing but room.
func TestFirstComeFirstServed(t *testing.T) {
	for _, kind := range []Kind{Sliding, Anchored} {
		refused := 0
		wander(t, kind, FirstCome(), func(l *ledger, key int, size quota.Amount) {
			want := l.has(l.total)+size > Whole
			if got := l.judge(key, size).Reason.Blocks(); got != want {
				t.Fatalf("%v: %d of %d are used, %d more: blocks %v", kind, l.has(l.total), Whole, size, got)
			}
			if want {
				refused++
			}
		})
		if refused < 500 {
			t.Errorf("%v: only %d were refused", kind, refused)
		}
	}
}

// The threshold rule: from a part of the limit on, who is above its share is refused.
func TestThresholdIsWhatItSays(t *testing.T) {
	for _, kind := range []Kind{Sliding, Anchored} {
		refused := 0
		wander(t, kind, Threshold(600_000), func(l *ledger, key int, size quota.Amount) {
			has, total := l.has(l.keys[key]), l.has(l.total)
			over := total >= 60*onePercent && has > l.pool.Dimensions[0].Shares[key]
			if got := l.judge(key, size).Reason.Blocks(); got != (over || total+size > Whole) {
				t.Fatalf("%v: the key has %d and all %d: blocks %v", kind, has, total, got)
			}
			if over {
				refused++
			}
		})
		if refused < 100 {
			t.Errorf("%v: only %d were refused", kind, refused)
		}
	}
}

// The rule guarantee is told what every key used: as the rule alone says when it is told
// the same.
func TestGuaranteeKnowsAllKeys(t *testing.T) {
	for _, kind := range []Kind{Sliding, Anchored} {
		seen := map[string]int{}
		wander(t, kind, Guarantee(150), func(l *ledger, key int, size quota.Amount) {
			d := guarantee.Dimension{
				Limit: Whole, Total: l.has(l.total), Window: l.width, Left: l.width - 1 - l.now%l.width,
				Reserve: 150, Cycle: kind == Anchored,
			}
			for j, share := range l.pool.Dimensions[0].Shares {
				k := guarantee.Key{Used: l.inPeriod(j), Share: share, Weight: l.pool.Weights[j]}
				k.Begun = k.Used > 0
				d.Keys, d.Spent = append(d.Keys, k), d.Spent+k.Used
			}
			want := d.Judge(guarantee.Asker{Key: key, Estimate: size}).Outcome
			got := l.judge(key, size)
			if got.Reason.Blocks() != want.Blocks() || want != guarantee.Full && got.Detail != want.String() {
				t.Fatalf("%v: %v %q, want %v: %+v", kind, got.Reason, got.Detail, want, d)
			}
			seen[got.Detail]++
		})
		for _, detail := range []string{"guaranteed", "ok", "borrowed", "reserved"} {
			if seen[detail] < 20 {
				t.Errorf("%v: %s was seen %d times", kind, detail, seen[detail])
			}
		}
	}
}

// The provider's word stands to the last millisecond of its cycle, and the next one begins
// with nothing.
func TestCyclesFollowUponEachOther(t *testing.T) {
	l := newLedger(story("", "", equal(2)), Anchored, Guarantee(100))
	l.now = (epoch+1)*l.width - 1
	l.use(0, Whole-1)
	if v := l.judge(1, 2); !v.Reason.Blocks() {
		t.Errorf("a cycle that is full lets pass: %+v", v)
	}
	if v := l.judge(1, 1); v.Detail != "ok" {
		t.Errorf("the last step, when nothing is kept any more: %+v", v)
	}
	l.now++
	if v := l.judge(1, 50*onePercent-14); v.Detail != "guaranteed" {
		t.Errorf("the next cycle: %+v", v)
	}
	if v := l.judge(1, 50*onePercent-13); v.Detail != "ok" {
		t.Errorf("a step more than the share × (W − 1) / W: %+v", v)
	}
}

func TestRulesAreThoseOfPools(t *testing.T) {
	for _, r := range Rules() {
		if (r.Rule == plans.Guarantee) != (r.Reserve > 0) || (r.Rule == plans.Threshold) != (r.Threshold > 0) {
			t.Errorf("%+v has not the knob of its rule", r)
		}
	}
}
