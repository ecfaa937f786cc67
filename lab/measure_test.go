package lab

import (
	"testing"

	"github.com/quotashare/quotashare/quota"
)

func TestJain(t *testing.T) {
	const most = Whole
	for _, c := range []struct {
		about        string
		served, best []quota.Amount
		weights      []int64
		want         quota.Ratio
	}{
		{"all have what is best", []quota.Amount{25, 75}, []quota.Amount{25, 75}, []int64{1, 3}, 1_000_000},
		{"all have half of it", []quota.Amount{20, 60}, []quota.Amount{40, 120}, []int64{1, 3}, 1_000_000},
		{"one of two has all", []quota.Amount{100, 0}, []quota.Amount{50, 50}, []int64{1, 1}, 500_000},
		{"one of four has all", []quota.Amount{0, 0, 100, 0}, []quota.Amount{25, 25, 25, 25}, []int64{1, 1, 1, 1}, 250_000},
		{"the heavy one has all", []quota.Amount{0, 100}, []quota.Amount{25, 75}, []int64{1, 3}, 750_000},
		{"the light one has all", []quota.Amount{100, 0}, []quota.Amount{25, 75}, []int64{1, 3}, 250_000},
		// (1·1 + 1·½)² / (2 · (1 + ¼)) = 2.25 / 2.5
		{"one has half of what is best", []quota.Amount{50, 25}, []quota.Amount{50, 50}, []int64{7, 7}, 900_000},
		{"who asked for nothing does not count", []quota.Amount{50, 0, 50}, []quota.Amount{50, 0, 50}, []int64{1, 9, 1}, 1_000_000},
		{"nor who has no weight", []quota.Amount{50, 0}, []quota.Amount{50, 50}, []int64{1, 0}, 1_000_000},
		{"nobody has anything", []quota.Amount{0, 0}, []quota.Amount{50, 50}, []int64{1, 1}, 1_000_000},
		{"nobody asked", []quota.Amount{0, 0}, []quota.Amount{0, 0}, []int64{1, 1}, 1_000_000},
		{"large numbers", []quota.Amount{most, 0}, []quota.Amount{1, most - 1}, []int64{100_000_000, 100_000_000}, 500_000},
	} {
		if got := jain(c.served, c.best, c.weights); got != c.want {
			t.Errorf("%s: %s, want %s", c.about, got, c.want)
		}
	}
}

// Means of many runs, the longest wait of them, and counts.
func TestTally(t *testing.T) {
	var sum Tally
	sum.Add(&Figures{Served: 10, Missed: 20, Excess: 30, Gap: 40, Jain: 50, WaitMs: 60, GaveUp: 1, Claims: 2, Broken: 3, Over: 4, Questions: 5, Refused: 6})
	sum.Add(&Figures{Served: 30, Missed: 40, Excess: 50, Gap: 60, Jain: 70, WaitMs: 50, GaveUp: 1, Claims: 1, Broken: 1, Over: 1, Questions: 1, Refused: 1})
	want := Figures{Served: 20, Missed: 30, Excess: 40, Gap: 50, Jain: 60, WaitMs: 60, GaveUp: 2, Claims: 3, Broken: 4, Over: 5, Questions: 6, Refused: 7}
	if got := sum.Figures(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
