package guarantee

import (
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// alike makes many keys of a few kinds: so many as groups are for.
func alike(r *rand.Rand, p *plain) {
	kinds := p.keys[:min(len(p.keys), 3)]
	n := 100 + r.IntN(200)
	weights := make([]quota.Ratio, n)
	keys := make([]plainKey, n)
	for j := range keys {
		k := kinds[r.IntN(len(kinds))]
		weights[j] = quota.Ratio(k.weight)
		k.curr = []int64{0, k.curr, r.Int64N(p.limit/int64(n) + 2), r.Int64N(p.limit/20 + 1)}[r.IntN(4)]
		k.held = []int64{0, 0, 0, r.Int64N(p.limit/int64(n) + 1)}[r.IntN(4)]
		k.suspended = r.IntN(20) == 0
		keys[j] = k
	}
	for j, share := range plans.Shares(quota.Amount(p.limit), weights) {
		keys[j].share = int64(share)
	}
	p.keys, p.total, p.outside = keys, 0, 0
	for _, k := range keys {
		p.total += k.curr + k.held
	}
	if more := p.limit - p.total; more > 0 && r.IntN(2) == 0 { // mostly full
		p.total += more - min(more, r.Int64N(p.limit/100+1))
	}
}

// TestGroupsAreTheirKeys on random cases: by groups, what is judged is judged as by a look
// at each key.
func TestGroupsAreTheirKeys(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	seen, none := map[Outcome]int{}, 0
	for n := range 20_000 {
		p, _, x, gives := draw(r)
		alike(r, p)
		if r.IntN(2) == 0 {
			x = r.Int64N(p.limit/1000 + 2)
		}
		d := p.dimension()
		groups := Group(d.Keys)
		if groups == nil {
			none++
			continue
		}
		for range 6 {
			a := Asker{Key: max(NoKey, r.IntN(len(d.Keys)*9/8)-len(d.Keys)/8), Estimate: quota.Amount(x), Gives: gives}
			d.Groups = nil
			want := d.Judge(a)
			d.Groups = groups
			if got := d.Judge(a); got != want {
				t.Fatalf("seed %d, case %d: %+v, want %+v\n%+v\n%+v", seed, n, got, want, d, a)
			}
			seen[want.Outcome]++
		}
	}
	for o := OK; o <= Full; o++ {
		if seen[o] < 10 {
			t.Errorf("outcome %d was drawn %d times", o, seen[o])
		}
	}
	if none > 10_000 {
		t.Errorf("%d had no groups", none)
	}
}
