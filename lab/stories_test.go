package lab

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/quota"
)

func TestScenariosAreSound(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Scenarios() {
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if names[s.Name] || s.About == "" {
			t.Errorf("%q has the name of another, or nothing to say", s.Name)
		}
		names[s.Name] = true
	}
}

// A lone key gets as good as all of every window, in however large a company.
func TestTheLoneKeyGetsAll(t *testing.T) {
	for _, keys := range []int{2, 10, 100} {
		s := Lone(keys)
		for _, kind := range []Kind{Anchored, Sliding} {
			if f := mustRun(t, s, kind, Guarantee(100)).Figures; f.Served < 999_800 || f.Over > 0 || f.Broken > 0 {
				t.Errorf("%d keys, %v: %+v", keys, kind, f)
			}
		}
	}
}

// The price: what the lone key has of its first window after three tenths of it, of ten
// keys, and under the threshold rule the half at which it stops.
func TestTheLoneKeyIsPaced(t *testing.T) {
	s := Lone(10)
	for _, c := range []struct {
		rule      Rule
		low, high quota.Amount // points
	}{{Guarantee(100), 36, 38}, {Guarantee(50), 68, 70}, {Threshold(500_000), 50, 51}, {FirstCome(), 90, 91}} {
		got := mustRun(t, s, Anchored, c.rule).Points[points*3/20].Used[0]
		if got < c.low*onePercent || got > c.high*onePercent {
			t.Errorf("%s: %s points, want %d to %d", c.rule.Name, got.Format(quota.Percent), c.low, c.high)
		}
	}
}

// named is the scenario of that name.
func named(t *testing.T, name string) *Scenario {
	t.Helper()
	for _, s := range Scenarios() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no scenario %q", name)
	return nil
}

// Where shares matter the rule guarantee is the nearest to the optimum.
func TestWhereGuaranteeWins(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  Kind
		below Rule
	}{
		{"lone", Anchored, Threshold(500_000)},
		{"lone", Sliding, Threshold(800_000)},
		{"flood", Anchored, Threshold(500_000)},
		{"flood", Sliding, Threshold(500_000)},
		{"late-comer", Anchored, FirstCome()},
		{"late-comer", Sliding, FirstCome()},
		{"bursts", Anchored, FirstCome()},
		{"sudden bursts", Sliding, FirstCome()},
	} {
		t.Run(fmt.Sprint(c.name, c.kind), func(t *testing.T) {
			s := named(t, c.name)
			got, other := mustRun(t, s, c.kind, Guarantee(100)), mustRun(t, s, c.kind, c.below)
			if got.Gap >= other.Gap {
				t.Errorf("%s: gap %s, guarantee %s", c.below.Name, other.Gap, got.Gap)
			}
		})
	}
}

// And where it is not, the threshold rule is: keys that are always hungry need no promise,
// a burst into a full sliding pool has to wait for what comes free, and a request that is
// larger than a sixteenth of the gap finds the room for it taken by small ones.
func TestWhereGuaranteeLoses(t *testing.T) {
	for _, name := range []string{"all hungry", "sudden bursts", "large requests"} {
		t.Run(name, func(t *testing.T) {
			s := named(t, name)
			got, other := mustRun(t, s, Sliding, Guarantee(100)), mustRun(t, s, Sliding, Threshold(500_000))
			if got.Gap <= other.Gap {
				t.Errorf("gap %s, threshold %s", got.Gap, other.Gap)
			}
		})
	}
	s := named(t, "large requests")
	if got := mustRun(t, s, Sliding, Guarantee(100)).Keys[0]; got.Served > got.Optimum/10 {
		t.Errorf("the large requests are served: %+v", got)
	}
	if got := mustRun(t, s, Anchored, Guarantee(100)).Keys[0]; got.Served < got.Optimum*8/10 {
		t.Errorf("in a cycle they are not: %+v", got)
	}
}

// In steady use below the limit there is nothing to share, and every rule lets all pass.
func TestWhereNothingIsAtStake(t *testing.T) {
	s := named(t, "steady")
	for _, kind := range []Kind{Anchored, Sliding} {
		for _, rule := range Rules() {
			if f := mustRun(t, s, kind, rule).Figures; f.Refused > 0 || f.Gap != 0 || f.Served != 800_000 || f.Jain != quota.RatioOne {
				t.Errorf("%v, %s: %+v", kind, rule.Name, f)
			}
		}
	}
}
