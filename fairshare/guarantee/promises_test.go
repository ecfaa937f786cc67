package guarantee

import (
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// account is one dimension of one pool as time goes on.
type account struct {
	Dimension
	now     int64
	opened  int64             // a cycle's beginning
	totals  windows.Counter   // of all, sliding
	used    []windows.Counter // by key
	strange quota.Amount      // in this period, of keys without an allocation
	held    []quota.Amount
}

const width = 1_000_000 // ms; of no window that there is, long enough that a step is small

// open makes an account of keys with these weights.
func open(limit quota.Amount, cycle bool, weights []quota.Ratio) *account {
	a := &account{Dimension: Dimension{Limit: limit, Window: width, Reserve: 100, Cycle: cycle}}
	equal := true
	for _, w := range weights {
		equal = equal && w == 0
	}
	for i, share := range plans.Shares(limit, weights) {
		k := Key{Share: share, Weight: int64(weights[i])}
		if equal {
			k.Weight = 1
		}
		a.Keys = append(a.Keys, k)
	}
	a.used, a.held = make([]windows.Counter, len(weights)), make([]quota.Amount, len(weights))
	return a
}

// look brings the numbers to the instant.
func (a *account) look() *Dimension {
	if a.Cycle && a.now-a.opened >= width {
		a.opened += (a.now - a.opened) / width * width
		clear(a.used)
		a.totals, a.strange = windows.Counter{}, 0
	}
	bucket, elapsed := windows.Bucket(a.now, width)
	a.Left = width - 1 - elapsed
	if a.Cycle {
		bucket, a.Left = 0, max(0, min(a.opened+width-a.now-1, width-1))
	}
	a.Spent = 0
	for i := range a.Keys {
		c := a.used[i].Rotate(bucket)
		a.Keys[i].Used, a.Keys[i].Begun = c.Curr+a.held[i], c.Curr > 0
		a.Spent += a.held[i]
	}
	a.Total = a.totals.EffectiveAt(bucket, elapsed, width) + a.Spent
	a.Spent += a.totals.Rotate(bucket).Curr
	if a.Cycle {
		a.Total = a.Spent
	}
	return &a.Dimension
}

// spend counts use, of nobody with an allocation when i is NoKey.
func (a *account) spend(i int, x quota.Amount) {
	bucket, _ := windows.Bucket(a.now, width)
	if a.Cycle {
		bucket = 0
	}
	a.totals.Add(bucket, x)
	if i != NoKey {
		a.used[i].Add(bucket, x)
	}
}

// hold takes what was let pass; it is used or given back later.
func (a *account) hold(i int, x quota.Amount) { a.held[i] += x }

// owed is Σ (ℓ_j − c_j)⁺.
func (a *account) owed() (sum quota.Amount) {
	d := a.look()
	p := newPart(d.Reserve*d.Left, 100*d.Window)
	for _, k := range d.Keys {
		if !k.Suspended {
			sum += max(0, p.of(k.Share)-k.Used)
		}
	}
	return sum
}

// anyone draws the weights of a pool: of few and many, equal and not, of none, and of more
// than there is.
func anyone(r *rand.Rand) []quota.Ratio {
	weights := make([]quota.Ratio, 1+r.IntN(10))
	kind := r.IntN(5)
	for i := range weights {
		switch kind {
		case 0: // all 0
		case 1:
			weights[i] = 100 * quota.RatioOne / quota.Ratio(len(weights))
		case 2: // more than 100
			weights[i] = quota.Ratio(r.Int64N(100_000_001))
		case 3: // less
			weights[i] = quota.Ratio(r.Int64N(50_000_001)) / quota.Ratio(len(weights))
		default:
			weights[i] = quota.Ratio(r.IntN(4)) * 25 * quota.RatioOne / quota.Ratio(len(weights))
		}
	}
	return weights
}

// step lets time go by, calls end, and somebody ask.
func (a *account) step(t *testing.T, r *rand.Rand, size quota.Amount) {
	t.Helper()
	a.now += []int64{0, 1, r.Int64N(1000), r.Int64N(20_000)}[r.IntN(4)]
	i := r.IntN(len(a.Keys))
	if h := a.held[i]; h > 0 && r.IntN(2) == 0 { // it ends: used in part, never more
		a.held[i] = 0
		a.spend(i, []quota.Amount{h, 0, quota.Amount(r.Int64N(int64(h) + 1))}[r.IntN(3)])
	}
	x := 1 + quota.Amount(r.Int64N(int64(size)))
	gives := r.IntN(5) == 0
	before := a.owed() + a.Spent
	v := a.look().Judge(Asker{Key: i, Estimate: x, Gives: gives})
	if v.Outcome.Blocks() {
		return
	}
	a.hold(i, x)
	after := a.owed() + a.Spent
	if a.Total > a.Limit {
		t.Fatalf("over-admitted: %d of %d", a.Total, a.Limit)
	}
	if after > max(a.Limit, before) {
		t.Fatalf("used and promised are %d of %d, and were %d: %+v, key %d, %d, gives %v, %v", after, a.Limit, before, a.Dimension, i, x, gives, v)
	}
}

// TestWhatIsPromisedIsThere: in a cycle, any keys, together, get what they are promised,
// at once, whatever was admitted before; and never is more admitted than there is.
func TestWhatIsPromisedIsThere(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	claims := 0
	for round := 0; claims < 100_000; round++ {
		a := open(quota.Amount(1+r.Int64N(1_000_000)), true, anyone(r))
		a.Reserve = []int64{0, 50, 100, 100, 200, 400}[r.IntN(6)]
		for range 40 {
			a.step(t, r, 1+a.Limit/quota.Amount(1+r.IntN(50)))
		}
		for _, i := range r.Perm(len(a.Keys))[:1+r.IntN(len(a.Keys))] {
			v := a.look().Judge(Asker{Key: i, Estimate: 1})
			if v.Promised == 0 {
				continue
			}
			claims++
			if got := a.look().Judge(Asker{Key: i, Estimate: v.Promised}); got.Outcome != Guaranteed {
				t.Fatalf("seed %d, round %d: key %d is promised %d and gets %v: %+v", seed, round, i, v.Promised, got, a.Dimension)
			}
			a.hold(i, v.Promised)
		}
	}
}

// TestNeverMoreThanThereIs of a sliding window, with buckets that turn and use of others.
func TestNeverMoreThanThereIs(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 3))
	for range 1_000 {
		a := open(quota.Amount(1+r.Int64N(1_000_000)), false, anyone(r))
		for range 200 {
			a.step(t, r, 1+a.Limit/quota.Amount(1+r.IntN(50)))
		}
	}
}

// TestLessIsNeverWorse: whoever is let pass with so much is so with less.
func TestLessIsNeverWorse(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 4))
	allowed := 0
	for n := range 300_000 {
		plain, i, x, gives := draw(r)
		d := plain.dimension()
		ask := Asker{Key: i, Estimate: quota.Amount(x), Gives: gives}
		if d.Judge(ask).Outcome.Blocks() {
			continue
		}
		allowed++
		less := ask
		less.Estimate = quota.Amount(r.Int64N(x + 1))
		if v := d.Judge(less); v.Outcome.Blocks() {
			t.Fatalf("seed %d, case %d: %d is allowed and %d is not: %+v, %+v", seed, n, x, less.Estimate, d, v)
		}
	}
	if allowed < 50_000 {
		t.Errorf("only %d were allowed", allowed)
	}
}

// TestLaterIsNeverWorse: whoever is let pass is so later in the same period, if nothing
// else happens. That is so of what admissions by the rule lead to, and not of any numbers.
func TestLaterIsNeverWorse(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 6))
	allowed := 0
	for allowed < 100_000 {
		a := open(quota.Amount(1+r.Int64N(1_000_000)), r.IntN(2) == 0, anyone(r))
		a.Reserve = []int64{0, 50, 100, 100, 200, 400}[r.IntN(6)]
		for range 50 {
			a.step(t, r, 1+a.Limit/quota.Amount(1+r.IntN(50)))
			ask := Asker{Key: r.IntN(len(a.Keys)), Estimate: quota.Amount(r.Int64N(int64(a.Limit) + 1)), Gives: r.IntN(5) == 0}
			now := a.look()
			if now.Judge(ask).Outcome.Blocks() || now.Left == 0 {
				continue
			}
			allowed++
			before, began := *now, a.now
			a.now += r.Int64N(now.Left + 1)
			if v := a.look().Judge(ask); v.Outcome.Blocks() {
				t.Fatalf("seed %d: allowed, and not %d ms later: %+v, then %+v, asked %+v: %+v", seed, a.now-began, before, a.Dimension, ask, v)
			}
			a.now = began
		}
	}
}

// TestNobodyWaitsInACircle: while there is room, some key of those that could use it may.
func TestNobodyWaitsInACircle(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 5))
	for range 3_000 {
		a := open(quota.Amount(10_000+r.Int64N(1_000_000)), r.IntN(2) == 0, anyone(r))
		for range 60 {
			a.step(t, r, 1+a.Limit/quota.Amount(1+r.IntN(50)))
		}
		d := a.look()
		x := quota.Amount(1)
		if d.Total+x > d.Limit || d.Spent+x > d.Limit {
			continue
		}
		free := false
		for i := range d.Keys {
			free = free || !d.Judge(Asker{Key: i, Estimate: x}).Outcome.Blocks()
		}
		if !free {
			t.Fatalf("seed %d: there is room for %d and nobody may: %+v", seed, d.Limit-d.Total, d)
		}
	}
}

// TestAtItsShareNobodyIsOverIt, whatever it asks for.
func TestAtItsShareNobodyIsOverIt(t *testing.T) {
	a := open(100, false, []quota.Ratio{50 * quota.RatioOne, 50 * quota.RatioOne})
	for used, over := range map[quota.Amount]bool{49: false, 50: false, 51: true} {
		a.held[0] = used
		if v := a.look().Judge(Asker{Key: 0, Estimate: 10}); v.Over != over || v.Used != used {
			t.Errorf("with %d of 50 used: %+v", used, v)
		}
	}
}

// TestALoneKeyGetsNearlyAll of a window, however many keys could ask and do not: sliding,
// after it has done so for a while, and of a cycle.
func TestALoneKeyGetsNearlyAll(t *testing.T) {
	for _, keys := range []int{2, 10, 100} {
		for _, cycle := range []bool{false, true} {
			weights := make([]quota.Ratio, keys)
			for i := range weights {
				weights[i] = 100 * quota.RatioOne / quota.Ratio(keys)
			}
			a := open(10_000_000, cycle, weights)
			const step, x = width / 10_000, 500
			var served quota.Amount
			for ; a.now < 6*width; a.now += step {
				if a.now == 5*width {
					served = 0
				}
				for !a.look().Judge(Asker{Key: 0, Estimate: x}).Outcome.Blocks() {
					a.spend(0, x)
					served += x
				}
			}
			if part := float64(served) / 10_000_000; part < 0.9998 {
				t.Errorf("%d keys, cycle %v: it gets %.4f of the limit", keys, cycle, part)
			}
		}
	}
}
