package retention

import (
	"fmt"
	"slices"
	"testing"
)

// TestWhatStaysInTheBroker: those stored last, and of each stretch before them the oldest,
// back to the first that is older than a purge.
func TestWhatStaysInTheBroker(t *testing.T) {
	s := DefaultSettings(2, 14) // ten days apart, back to 60
	at := func(days ...int64) (list []Snapshot) {
		for i, day := range days {
			list = append(list, Snapshot{Seq: uint64(1000 - i), LogTime: 100*dayMillis - day*dayMillis})
		}
		return list
	}
	replaced := []Snapshot{
		{1000, 100 * dayMillis}, {350, 100 * dayMillis}, {5000, 85 * dayMillis}, {340, 200 * dayMillis}, {400, 75 * dayMillis}, {300, 50 * dayMillis},
	}
	for name, c := range map[string]struct {
		list []Snapshot
		want []int // places of those that stay
	}{
		"none":                            {nil, nil},
		"as many as are kept":             {at(0, 0), []int{0, 1}},
		"one more":                        {at(0, 0, 0), []int{0, 1, 2}},
		"the oldest of the day":           {at(0, 0, 0, 0, 0), []int{0, 1, 4}},
		"of each ten days":                {at(0, 1, 2, 9, 11, 15, 20, 21), []int{0, 1, 3, 6, 7}},
		"the first that is old, no other": {at(0, 0, 55, 60, 61, 75, 90), []int{0, 1, 3}},
		"the first that is old, alone":    {at(0, 0, 61, 75), []int{0, 1, 2}},
		"of another log, or clock":        {replaced, []int{0, 1, 5}},
	} {
		gone := Stored(s, c.list)
		var stay []int
		for i := range c.list {
			if !slices.Contains(gone, i) {
				stay = append(stay, i)
			}
		}
		if fmt.Sprint(stay) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v stay, want %v", name, stay, c.want)
		}
	}
	if gone := Stored(Settings{Spacing: dayMillis}, at(0, 0)); len(gone) != 0 {
		t.Errorf("with none to be kept, %v go: the latest and the oldest stay", gone)
	}
}
