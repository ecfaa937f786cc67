package lab

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

func TestFill(t *testing.T) {
	for _, c := range []struct {
		about   string
		limit   quota.Amount
		asked   []quota.Amount
		weights []int64
		want    []quota.Amount
	}{
		{"all have what they ask for", 100, []quota.Amount{10, 20, 30}, []int64{1, 1, 1}, []quota.Amount{10, 20, 30}},
		{"and just so", 60, []quota.Amount{10, 20, 30}, []int64{1, 1, 1}, []quota.Amount{10, 20, 30}},
		{"by weight", 100, []quota.Amount{200, 200, 200}, []int64{1, 1, 2}, []quota.Amount{25, 25, 50}},
		{"what one leaves the others have", 100, []quota.Amount{10, 200, 200}, []int64{1, 1, 1}, []quota.Amount{10, 45, 45}},
		{"by weight too", 100, []quota.Amount{200, 10, 200}, []int64{2, 5, 1}, []quota.Amount{60, 10, 30}},
		{"the step that is left goes to the lowest", 10, []quota.Amount{9, 9, 9}, []int64{1, 1, 1}, []quota.Amount{4, 3, 3}},
		{"which is the heaviest", 10, []quota.Amount{9, 9, 9}, []int64{1, 1, 2}, []quota.Amount{3, 2, 5}},
		{"and has no more than it asks for", 12, []quota.Amount{1, 8, 1, 12}, []int64{2, 9, 1, 3}, []quota.Amount{1, 8, 1, 2}},
		{"who asks for nothing has nothing", 10, []quota.Amount{0, 9, 9}, []int64{8, 1, 1}, []quota.Amount{0, 5, 5}},
		{"no weight is the last", 100, []quota.Amount{30, 90, 90}, []int64{1, 0, 0}, []quota.Amount{30, 35, 35}},
		{"and gets nothing while others ask", 100, []quota.Amount{130, 90, 90}, []int64{1, 0, 0}, []quota.Amount{100, 0, 0}},
		{"nobody has a weight", 100, []quota.Amount{130, 20}, []int64{0, 0}, []quota.Amount{80, 20}},
		{"nobody", 100, nil, nil, []quota.Amount{}},
	} {
		if diff := cmp.Diff(c.want, Fill(c.limit, c.asked, c.weights)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.about, diff)
		}
	}
}

// deal is Fill, one step after the other.
func deal(limit quota.Amount, asked []quota.Amount, weights []int64) []quota.Amount {
	got := make([]quota.Amount, len(asked))
	for range limit {
		lowest := -1
		for i := range got {
			if got[i] < asked[i] && (lowest < 0 || lower(got, weights, i, lowest)) {
				lowest = i
			}
		}
		if lowest < 0 {
			break
		}
		got[lowest]++
	}
	return got
}

// lower reports whether key i, with one more, is lower than key j. Who has no weight is
// above all that have.
func lower(got []quota.Amount, weights []int64, i, j int) bool {
	v, w := weights[i], weights[j]
	switch {
	case v == 0 && w == 0:
		return got[i] < got[j]
	case v == 0 || w == 0:
		return w == 0
	}
	return int64(got[i]+1)*w < int64(got[j]+1)*v
}

func TestFillIsDealing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "keys")
		asked, weights := make([]quota.Amount, n), make([]int64, n)
		for i := range asked {
			asked[i] = quota.Amount(rapid.Int64Range(0, 60).Draw(t, "asked"))
			weights[i] = rapid.Int64Range(0, 6).Draw(t, "weight")
		}
		limit := quota.Amount(rapid.Int64Range(0, 200).Draw(t, "limit"))
		if diff := cmp.Diff(deal(limit, asked, weights), Fill(limit, asked, weights)); diff != "" {
			t.Fatalf("(-dealt +filled)\n%s", diff)
		}
	})
}

// Amounts and weights as large as there are do not overflow.
func TestFillOfLargeNumbers(t *testing.T) {
	const most = quota.Amount(1e18)
	got := Fill(most, []quota.Amount{most, most, most}, []int64{100_000_000, 100_000_000, 50_000_000})
	if diff := cmp.Diff([]quota.Amount{4e17, 4e17, 2e17}, got); diff != "" {
		t.Error(diff)
	}
}
