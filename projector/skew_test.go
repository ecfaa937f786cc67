package projector

import "testing"

// TestSkew: the quickest message of the last one to two minutes tells.
func TestSkew(t *testing.T) {
	var s skew
	for _, c := range []struct{ clock, took, want int64 }{
		{60_000, 500, 500},
		{61_000, 90, 90},
		{62_000, 4000, 90},    // it waited somewhere
		{125_000, 3000, 90},   // of the minute before
		{185_000, 2000, 2000}, // that is gone
		{186_000, -7000, -7000},
		{900_000, 1000, -7000}, // nothing came between
		{960_000, 1000, 1000},
	} {
		s.observe(c.clock, c.clock-c.took)
		if got := s.least(); got != c.want {
			t.Errorf("at %d a message took %d: %d, want %d", c.clock, c.took, got, c.want)
		}
	}
}
