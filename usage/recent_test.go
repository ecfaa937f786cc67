package usage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

const noon int64 = 1_790_000_000_000/86_400_000*86_400_000 + 43_200_000

// observed is a snapshot at 30 s past noon: allocations a and *, and x and y seen.
func observed() *Snapshot {
	s := &Snapshot{
		AsOf: questions.AsOf{Time: noon + 30_000},
		Keys: []Key{
			{ID: "a", Allocation: "a", Own: true},
			{ID: "*", Allocation: "*", Own: true},
			{ID: "x", Allocation: "*"},
			{ID: "*", Allocation: "*"}, // somebody calls a key that
		},
		Dimensions: []Dimension{
			{Unit: quota.Tokens, Limit: 1_000_000, ConsumedTotal: 400_000},
			{Unit: quota.USD},
			{Unit: quota.Requests, Limit: 5, ConsumedTotal: 8},
		},
	}
	for i := range s.Dimensions {
		s.Dimensions[i].Uses = make([]Use, len(s.Keys))
	}
	return s
}

func tokens(n quota.Amount) quota.Amounts { return quota.Amounts{quota.Tokens: n} }

func TestRecent(t *testing.T) {
	s := observed()
	r := NewRecent(s)
	if from, to := r.Span(); from != noon-3_600_000 || to != noon {
		t.Errorf("the span is %d to %d from noon", from-noon, to-noon)
	}
	for _, time := range []int64{noon - 120_000, noon - 60_000} {
		r.Add(0, time, tokens(4000))
		r.Add(0, time, tokens(2000)) // on another connection
		r.Add(2, time, tokens(600))
		r.Add(3, time, tokens(60))
		r.AddTotal(time, tokens(4000+60))
		r.AddTotal(time, tokens(2000+600+6000)) // and 6000 by keys without a row
	}
	for _, time := range []int64{noon, noon - 3_660_000} { // not complete, and too long ago
		r.Add(0, time, tokens(1e9))
		r.AddTotal(time, tokens(1e9))
	}
	r.Finish()
	var got []Rate
	for _, x := range s.Dimensions[0].Uses {
		got = append(got, x.Rate)
	}
	if diff := cmp.Diff([]Rate{100_000, 111_000, 10_000, 1_000}, got); diff != "" {
		t.Errorf("rates of the rows (-want +got)\n%s", diff)
	}
	want := []Burn{
		{Rate: 211_000, ExhaustionMs: 2_843_602, HasExhaustion: true}, // ceil(600000e6 / 211000)
		{},
		{}, // nothing remains, and there is no rate
	}
	for i, d := range s.Dimensions {
		if diff := cmp.Diff(want[i], d.Burn); diff != "" {
			t.Errorf("%s (-want +got)\n%s", d.Unit, diff)
		}
	}
	if s.TokensPerSecond != 211_000 {
		t.Errorf("%d tokens per second", s.TokensPerSecond)
	}
}

// The oldest minute that counts is a sample, and makes the silence after it some.
func TestRecentTakesSixtyMinutes(t *testing.T) {
	for time, want := range map[int64]bool{noon - 3_600_000: true, noon - 3_600_001: false} {
		s := observed()
		r := NewRecent(s)
		r.AddTotal(time, tokens(1e15))
		r.Finish()
		if got := s.TokensPerSecond > 0; got != want {
			t.Errorf("used %d ms before noon: %v", noon-time, got)
		}
	}
}

// A key may be called what stands for all others; it is one of them.
func TestRecentOfAKeyNamedAsAllOthers(t *testing.T) {
	s := &Snapshot{AsOf: questions.AsOf{Time: noon}, Keys: []Key{{ID: "*"}}, Dimensions: []Dimension{{Unit: quota.Tokens, Uses: make([]Use, 1)}}}
	r := NewRecent(s)
	for _, time := range []int64{noon - 120_000, noon - 60_000} {
		r.AddTotal(time, tokens(6000))
		r.Add(0, time, tokens(600))
	}
	r.Finish()
	if got := s.Dimensions[0].Uses[0].Rate; got != 10_000 {
		t.Errorf("got %d", got)
	}
}

// A reset ends the wait only when every connection has one, and then the latest.
func TestExhaustionEndsWithTheLatestReset(t *testing.T) {
	const now = noon + 30_000
	for _, c := range []struct {
		name   string
		resets []int64
		want   int64
	}{
		{"both", []int64{now + 1000, now + 5000}, 5000},
		{"in any order", []int64{now + 5000, now + 1000}, 5000},
		{"one does not say", []int64{now + 1000, 0}, 6_000_000},
		{"one is over", []int64{now - 1000}, 0},
		{"later than the end", []int64{now + 6_000_001}, 6_000_000},
	} {
		s := observed()
		for _, at := range c.resets {
			s.Dimensions[0].Connections = append(s.Dimensions[0].Connections, Connection{ResetAt: at})
		}
		r := NewRecent(s)
		r.AddTotal(noon-120_000, tokens(6000))
		r.AddTotal(noon-60_000, tokens(6000))
		r.Finish()
		if got := s.Dimensions[0].Burn.ExhaustionMs; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
