package lab

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
)

// known is what the rules came to on 120 pools by chance when the rule guarantee was made,
// in tenths of a percent of the limit: anchored, then sliding.
var known = []struct {
	rule        Rule
	served, gap [2]int64
}{
	{FirstCome(), [2]int64{1000, 991}, [2]int64{219, 221}},
	{Threshold(500_000), [2]int64{670, 570}, [2]int64{202, 223}},
	{Threshold(800_000), [2]int64{910, 840}, [2]int64{174, 169}},
	{Guarantee(100), [2]int64{998, 988}, [2]int64{134, 90}},
}

// line is what came of many runs of one rule and kind.
type line struct {
	Kind Kind
	Rule Rule
	Figures
}

// table lets so many pools by chance run under each rule, in both kinds, and returns a line
// for each rule and kind, the rules in their order, of each first Anchored. Pools are the
// same for every rule, and follow from the seed.
func table(t *testing.T, seed uint64, pools int, rules []Rule) []line {
	t.Helper()
	tallies := make([]Tally, 2*len(rules))
	for p := range pools {
		s := Random(p, rand.New(rand.NewPCG(seed, uint64(p))))
		for i := range tallies {
			res, err := Run(s, kindOf(i), rules[i/2], rand.New(rand.NewPCG(^seed, uint64(p))))
			if err != nil {
				t.Fatal(err)
			}
			tallies[i].Add(&res.Figures)
		}
	}
	lines := make([]line, len(tallies))
	for i := range lines {
		lines[i] = line{kindOf(i), rules[i/2], tallies[i].Figures()}
	}
	return lines
}

// kindOf is the kind of the i-th line.
func kindOf(i int) Kind {
	if i%2 == 0 {
		return Anchored
	}
	return Sliding
}

// TestTheTableComesOut: fewer pools, others, and by a code of its own, within three points.
func TestTheTableComesOut(t *testing.T) {
	var rules []Rule
	for _, k := range known {
		rules = append(rules, k.rule)
	}
	const pools = 33 // three of each number of keys
	lines := table(t, 2027, pools, rules)
	for i, l := range lines {
		near(t, l, "served", l.Served, known[i/2].served[i%2])
		near(t, l, "gap", l.Gap, known[i/2].gap[i%2])
		if l.Over > 0 {
			t.Errorf("%v, %s: %d over-admissions", l.Kind, l.Rule.Name, l.Over)
		}
	}
	for i, bounds := range [][2]quota.Ratio{{995_000, 160_000}, {980_000, 110_000}} {
		l := lines[6+i]
		if l.Served < bounds[0] || l.Gap > bounds[1] || l.Broken > 0 || l.Claims < 6_000 {
			t.Errorf("%v, %s: %+v", l.Kind, l.Rule.Name, l.Figures)
		}
	}
	if lines[0].Broken == 0 || lines[1].Broken == 0 {
		t.Errorf("first come, first served keeps promises: %+v", lines[:2])
	}
}

func near(t *testing.T, l line, what string, got quota.Ratio, want int64) {
	t.Helper()
	t.Logf("%-8v %-13s %-6s %5.1f, known %5.1f", l.Kind, l.Rule.Name, what, float64(got)/1e4, float64(want)/10)
	if d := int64(got) - want*1_000; d < -30_000 || d > 30_000 {
		t.Errorf("%v, %s: %s is %s, and %d thousandths are known", l.Kind, l.Rule.Name, what, got, want)
	}
}

func TestTheSameSeedIsTheSameTable(t *testing.T) {
	of := func(seed uint64) []line { return table(t, seed, 3, Rules()[:2]) }
	if diff := cmp.Diff(of(1), of(1)); diff != "" {
		t.Error(diff)
	}
	// In a cycle chance has no part in who comes first, so it must be the pools.
	if of(1)[0].Questions == of(2)[0].Questions {
		t.Error("another seed has the same pools")
	}
}

func TestPour(t *testing.T) {
	want := []Request{{10, 3}, {13, 3}, {17, 3}, {20, 3}}
	if diff := cmp.Diff(want, pour(nil, 10, 24, 10, 3)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Pools by chance are scenarios, and never ask for less than there is.
func TestRandomPools(t *testing.T) {
	for n := range 44 {
		s := Random(n, rand.New(rand.NewPCG(1, uint64(n))))
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		if len(s.Keys) != 2+n%11 {
			t.Errorf("pool %d has %d keys", n, len(s.Keys))
		}
		var weights quota.Ratio
		asked := make([]quota.Amount, s.Windows)
		for _, k := range s.Keys {
			weights += k.Weight
			for _, q := range k.Requests {
				asked[q.At/s.Window.Millis()] += q.Size
			}
		}
		if weights > 100*quota.RatioOne || weights < 100*quota.RatioOne-12 {
			t.Errorf("pool %d has weights of %s in all", n, weights)
		}
		for w, a := range asked {
			if a < Whole {
				t.Errorf("pool %d asks for %d in window %d", n, a, w)
			}
		}
	}
}
