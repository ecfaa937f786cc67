package guarantee

import (
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/quota"
)

// TestWhatIsSettledIsJudgedSo on 200,000 random cases: by what all used together nothing
// is settled in another way than by a look at each, and much is.
func TestWhatIsSettledIsJudgedSo(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	settled := map[Outcome]int{}
	for n := range 200_000 {
		p, i, x, gives := draw(r)
		d := p.dimension()
		a := Asker{Key: i, Estimate: quota.Amount(x), Gives: gives}
		want := d.Judge(a)
		want.Kept, want.Headroom = 0, 0
		var own Key
		if i != NoKey {
			own = d.Keys[i]
		}
		d.Keys = nil
		got, ok := d.Settle(a, own)
		if !ok {
			if !got.Outcome.Blocks() {
				t.Fatalf("seed %d, case %d: not settled, and not careful: %+v", seed, n, got)
			}
			got.Outcome = want.Outcome
		} else {
			settled[got.Outcome]++
		}
		if got != want {
			t.Fatalf("seed %d, case %d: settled as %+v, judged %+v\n%+v, key %d asks for %d, gives %v", seed, n, got, want, p, i, x, gives)
		}
	}
	for _, o := range []Outcome{OK, Guaranteed, Borrowed, Outside, Full} {
		if settled[o] < 100 {
			t.Errorf("%d %q were settled", settled[o], o)
		}
	}
}
