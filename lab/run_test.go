package lab

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// two is a scenario of an hour of two keys of equal weight, who ask for these.
func two(windows int, first, second []Request) *Scenario {
	s := story("two", "", equal(2))
	s.Windows, s.Warmup, s.Retry = windows, 0, 1
	s.Keys[0].Requests, s.Keys[1].Requests = first, second
	return s
}

func mustRun(t *testing.T, s *Scenario, kind Kind, rule Rule) *Result {
	t.Helper()
	res, err := Run(s, kind, rule, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

const hour = 3_600_000

// In a cycle the first takes 60 points, and the second, a second later, gets none of 45
// that its share of 50 has room for.
func TestWhoComesLateGetsNothing(t *testing.T) {
	s := two(1, []Request{{0, 60 * onePercent}}, []Request{{1_000, 45 * onePercent}})
	got := mustRun(t, s, Anchored, FirstCome())
	got.Points = nil
	want := &Result{
		Scenario: "two", Kind: Anchored, Rule: FirstCome(),
		Figures: Figures{
			Served: 600_000, Missed: 450_000, Excess: 50_000, Gap: 250_000, Jain: 500_000,
			GaveUp: 1, Claims: 1, Broken: 1, Questions: 2, Refused: 1,
		},
		Keys: []Share{
			{"key-1", 50_000_000, 50 * onePercent, 60 * onePercent, 55 * onePercent, 60 * onePercent, 0},
			{"key-2", 50_000_000, 50 * onePercent, 45 * onePercent, 45 * onePercent, 0, 0},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || got.Optimum() != quota.RatioOne {
		t.Errorf("optimum %s, (-want +got)\n%s", got.Optimum(), diff)
	}
}

// Under the rule guarantee the first is refused, and the second is not.
func TestWhatIsPromisedIsKept(t *testing.T) {
	s := two(1, []Request{{0, 60 * onePercent}}, []Request{{1_000, 45 * onePercent}})
	f := mustRun(t, s, Anchored, Guarantee(100)).Figures
	if f.Claims != 1 || f.Broken != 0 {
		t.Errorf("%+v", f)
	}
}

// In a sliding window 60 points of the last one fall to 55 after a twelfth of this one:
// then there is room for 45.
func TestTheWaitIsUntilItIsServed(t *testing.T) {
	s := two(2, []Request{{0, 60 * onePercent}}, []Request{{hour, 45 * onePercent}})
	got := mustRun(t, s, Sliding, FirstCome())
	if got.WaitMs != hour/12 || got.Keys[1].WaitMs != hour/12 || got.Keys[0].WaitMs != 0 || got.GaveUp != 0 {
		t.Errorf("waits: %+v", got.Figures)
	}
	if got.Served != 525_000 || got.Gap != 0 || got.Keys[0].Served != 30*onePercent {
		t.Errorf("the mean of 60 and 45 points: %+v", got.Figures)
	}
}

// What a key waits for in a window is not asked for in the next one.
func TestWhatWasNotServedIsGivenUp(t *testing.T) {
	s := two(2, []Request{{0, 80 * onePercent}, {hour, 20 * onePercent}}, []Request{{1_000, 45 * onePercent}})
	got := mustRun(t, s, Anchored, FirstCome())
	if got.GaveUp != 1 || got.Keys[1].Served != 0 || got.Served != 500_000 {
		t.Errorf("%+v", got.Figures)
	}
	s.Keys[1].Requests = append(s.Keys[1].Requests, Request{hour, onePercent})
	got = mustRun(t, s, Anchored, FirstCome())
	if got.GaveUp != 1 || got.Keys[1].Served != onePercent/2 || got.WaitMs != 0 {
		t.Errorf("%+v", got.Figures)
	}
}

func TestTheWarmupIsNotMeasured(t *testing.T) {
	s := two(2, []Request{{0, 80 * onePercent}, {hour, 20 * onePercent}}, nil)
	s.Warmup = 1
	if got := mustRun(t, s, Anchored, FirstCome()); got.Served != 200_000 || got.Keys[0].Asked != 20*onePercent {
		t.Errorf("%+v", got.Figures)
	}
}

// Points are what each key has, at even distances, and of a sliding window they fall.
func TestPoints(t *testing.T) {
	s := two(2, []Request{{0, 80 * onePercent}}, []Request{{hour / 2, 10 * onePercent}})
	got := mustRun(t, s, Sliding, FirstCome()).Points
	if len(got) != points+1 {
		t.Fatalf("%d points", len(got))
	}
	for i, want := range map[int]Point{
		0:   {0, []quota.Amount{0, 0}},
		49:  {49 * hour / 100, []quota.Amount{80 * onePercent, 0}},
		51:  {51 * hour / 100, []quota.Amount{80 * onePercent, 10 * onePercent}},
		150: {3 * hour / 2, []quota.Amount{40 * onePercent, 5 * onePercent}},
		200: {2 * hour, []quota.Amount{0, 0}},
	} {
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("point %d: (-want +got)\n%s", i, diff)
		}
	}
}

// A run follows from its arguments, the source of chance among them.
func TestTheSameSeedIsTheSameRun(t *testing.T) {
	run := func(seed uint64, rule Rule) *Result {
		s := Random(9, rand.New(rand.NewPCG(3, 4)))
		res, err := Run(s, Sliding, rule, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for _, rule := range []Rule{FirstCome(), Guarantee(100)} {
		if diff := cmp.Diff(run(1, rule), run(1, rule)); diff != "" {
			t.Errorf("%s: (-once +again)\n%s", rule.Name, diff)
		}
		if cmp.Equal(run(1, rule), run(2, rule)) {
			t.Errorf("%s: another seed is the same run", rule.Name)
		}
	}
}

func TestFaultsOfAScenario(t *testing.T) {
	for want, spoil := range map[string]func(s *Scenario){
		"window: is none":                        func(s *Scenario) { s.Window = quota.Rate },
		"windows: is 0":                          func(s *Scenario) { s.Windows = 0 },
		"warmup: is 1":                           func(s *Scenario) { s.Warmup = 1 },
		"retry: is 0":                            func(s *Scenario) { s.Retry = 0 },
		"keys: are none":                         func(s *Scenario) { s.Keys = nil },
		"keys[1].name: \"key-1\" is there twice": func(s *Scenario) { s.Keys[1].Name = "key-1" },
		"keys[1].weight: is 100.000001":          func(s *Scenario) { s.Keys[1].Weight = 100_000_001 },
		"keys[0].requests[1].at: is 4":           func(s *Scenario) { s.Keys[0].Requests = []Request{{5, 1}, {4, 1}} },
		"keys[0].requests[0].at: is 3600000":     func(s *Scenario) { s.Keys[0].Requests = []Request{{hour, 1}} },
		"keys[0].requests[0].size: is 0":         func(s *Scenario) { s.Keys[0].Requests = []Request{{0, 0}} },
		"keys[0].requests[0].size: is 100000001": func(s *Scenario) { s.Keys[0].Requests = []Request{{0, Whole + 1}} },
	} {
		s := two(1, []Request{{0, 1}, {0, Whole}}, nil)
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		spoil(s)
		_, err := Run(s, Sliding, Rule{Rule: plans.Guarantee, Reserve: 100}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), `scenario "two": `+want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestARunIsGivenUp: whoever asked for it may leave.
func TestARunIsGivenUp(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err := RunContext(gone, Lone(2), Sliding, FirstCome(), rand.New(rand.NewPCG(1, 2)))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("for somebody who is gone: %v", err)
	}
}
