package questions

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

// TestInstantIsThatOfTime compares every day of the calendar's 400-year cycle, at
// different times, and any instant.
func TestInstantIsThatOfTime(t *testing.T) {
	check := func(ms int64) {
		if got, want := string(appendInstant(nil, ms)), quota.FormatInstant(ms); got != want {
			t.Fatalf("%d is %s, want %s", ms, got, want)
		}
	}
	for day := range int64(146_097) {
		check(day*dayMs + day*601%dayMs)
	}
	for _, ms := range []int64{-1, 0, quota.MinInstant, quota.MaxInstant, quota.MaxInstant + 1} {
		check(ms)
	}
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-1000*dayMs, quota.MaxInstant+dayMs).Draw(t, "ms")
		if got, want := string(appendInstant(nil, ms)), quota.FormatInstant(ms); got != want {
			t.Fatalf("%d is %s, want %s", ms, got, want)
		}
	})
}
