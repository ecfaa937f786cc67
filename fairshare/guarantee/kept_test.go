package guarantee

import (
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/quota"
)

// TestKeptForIsWhatTheVerdictSays on 40,000 random cases: what is kept for each key is
// together what the verdict keeps, the headroom is that of the largest of each group, and
// a promise is what the key is told when it asks.
func TestKeptForIsWhatTheVerdictSays(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	seen := map[Outcome]int{}
	for n := range 40_000 {
		p, i, x, gives := draw(r)
		d := p.dimension()
		a := Asker{Key: i, Estimate: quota.Amount(x), Gives: gives}
		v := d.Judge(a)
		kept := d.KeptFor(a, v.Outcome, len(d.Keys), nil)
		seen[v.Outcome]++
		var sum quota.Amount
		var most [2]quota.Amount
		for at, k := range kept {
			sum += k.Amount
			group := 0
			if d.Keys[k.Key].Begun {
				group = 1
			}
			most[group] = max(most[group], k.Amount)
			if k.Amount <= 0 || k.Key == i || d.Keys[k.Key].Suspended || at > 0 && kept[at-1].Amount < k.Amount {
				t.Fatalf("seed %d, case %d: %+v\n%+v, key %d asks for %d, gives %v", seed, n, kept, d, i, x, gives)
			}
		}
		want := map[Outcome]quota.Amount{Reserved: v.Kept, Yield: v.Headroom}[v.Outcome]
		if v.Outcome == Yield {
			sum = most[0] + most[1]
		}
		if sum != want {
			t.Fatalf("seed %d, case %d, %s: %d in %+v, the verdict says %d\n%+v, key %d asks for %d, gives %v", seed, n, v.Outcome, sum, kept, want, d, i, x, gives)
		}
		if i != NoKey {
			if got := d.Promise(i); got != v.Promised {
				t.Fatalf("seed %d, case %d: %d is promised, when asked %d\n%+v", seed, n, got, v.Promised, d)
			}
		}
	}
	if seen[Reserved] < 500 || seen[Yield] < 10 {
		t.Errorf("only %d were reserved, %d yielded", seen[Reserved], seen[Yield])
	}
}

// TestKeptForHasTheLargest, those of equal amounts in the order of the keys, after what
// was in the list.
func TestKeptForHasTheLargest(t *testing.T) {
	d := Dimension{Limit: 100, Total: 60, Spent: 60, Window: 1000, Left: 999, Reserve: 100}
	for _, k := range [][2]quota.Amount{{60, 20}, {0, 10}, {0, 30}, {0, 10}, {0, 20}} {
		d.Keys = append(d.Keys, Key{Used: k[0], Begun: k[0] > 0, Share: k[1], Weight: int64(k[1])})
	}
	a := Asker{Key: 0}
	if v := d.Judge(a); v.Outcome != Reserved {
		t.Fatalf("%+v", v)
	}
	got := d.KeptFor(a, Reserved, 3, []Kept{{Key: 7}})
	want := []Kept{{Key: 7}, {2, 29}, {4, 19}, {1, 9}}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	if got := d.KeptFor(a, OK, 3, nil); len(got) != 0 {
		t.Errorf("nobody stands before who may pass, and there is %+v", got)
	}
}

// TestMostIsFoundByHalvingToo, on 20,000 random cases.
func TestMostIsFoundByHalvingToo(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	part := 0
	for n := range 20_000 {
		p, i, _, gives := draw(r)
		d := p.dimension()
		a := Asker{Key: i, Gives: gives}
		room := max(0, d.Limit-max(d.Total, d.Spent))
		least, most := quota.Amount(0), room
		for least < most {
			if a.Estimate = least + (most-least+1)/2; d.Judge(a).Outcome.Blocks() {
				most = a.Estimate - 1
			} else {
				least = a.Estimate
			}
		}
		if got := d.Most(a, room); got != least {
			t.Fatalf("seed %d, case %d: %d, by halving %d of %d\n%+v, key %d, gives %v", seed, n, got, least, room, d, i, gives)
		}
		if least > 0 && least < room {
			part++
		}
	}
	if part < 1000 {
		t.Errorf("only %d could use a part", part)
	}
}
