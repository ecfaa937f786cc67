package lab

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
)

// Ten tokens in all, over 4 ms, become two windows in which 50 % of the limit is asked for:
// a token is ten points.
func TestTraceIsStretchedAndScaled(t *testing.T) {
	rows := []Row{{1_003, 1, "b"}, {1_000, 4, "b"}, {1_001, 3, "a"}, {1_001, 2, "b"}}
	got, err := Trace("t", rows, quota.FiveHour, 2, 50)
	if err != nil {
		t.Fatal(err)
	}
	const quarter = 2 * 5 * hour / 4
	want := &Scenario{
		Name: "t", About: "4 requests of a trace", Window: quota.FiveHour, Windows: 2, Warmup: 1, Retry: 18_000,
		Keys: []Key{
			{"b", 50 * quota.RatioOne, []Request{{0, 40 * onePercent}, {quarter, 20 * onePercent}, {3 * quarter, 10 * onePercent}}},
			{"a", 50 * quota.RatioOne, []Request{{quarter, 30 * onePercent}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if rows[0].At != 1_003 {
		t.Error("the rows were put in another order where they are")
	}
	if _, err := Run(got, Sliding, FirstCome(), rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Error(err)
	}
}

// What is very small is a step, and what is larger than the limit is the limit.
func TestTraceOfOddSizes(t *testing.T) {
	got, err := Trace("t", []Row{{5, MostTokens, "a"}, {5, 1, "a"}}, quota.Hourly, 1, 300)
	if err != nil {
		t.Fatal(err)
	}
	want := []Request{{0, Whole}, {0, 1}}
	if diff := cmp.Diff(want, got.Keys[0].Requests); diff != "" || got.Warmup != 0 {
		t.Errorf("warm-up %d, (-want +got)\n%s", got.Warmup, diff)
	}
}

func TestFaultsOfATrace(t *testing.T) {
	rows := []Row{{0, 1, "a"}}
	for want, call := range map[string]func() (*Scenario, error){
		"rows: are 0":            func() (*Scenario, error) { return Trace("t", nil, quota.Hourly, 1, 100) },
		"demand: is 0":           func() (*Scenario, error) { return Trace("t", rows, quota.Hourly, 1, 0) },
		"windows: is 0":          func() (*Scenario, error) { return Trace("t", rows, quota.Hourly, 0, 100) },
		"window: is none":        func() (*Scenario, error) { return Trace("t", rows, quota.Rate, 1, 100) },
		"rows: one has 0 tokens": func() (*Scenario, error) { return Trace("t", []Row{{0, 0, "a"}}, quota.Hourly, 1, 100) },
		"rows: are of more than": func() (*Scenario, error) { return Trace("t", ofKeys(MostKeys+1), quota.Hourly, 1, 100) },
		"rows: one is at -1":     func() (*Scenario, error) { return Trace("t", []Row{{-1, 1, "a"}}, quota.Hourly, 1, 100) },
	} {
		if _, err := call(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestTraceOfTheMostKeys(t *testing.T) {
	got, err := Trace("t", ofKeys(MostKeys), quota.Hourly, 1, 100)
	if err != nil || len(got.Keys) != MostKeys {
		t.Error(got, err)
	}
}

// ofKeys is a row of each of so many keys.
func ofKeys(n int) (rows []Row) {
	for i := range n {
		rows = append(rows, Row{Tokens: 1, Key: strconv.Itoa(i)})
	}
	return rows
}
