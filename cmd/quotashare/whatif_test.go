package main

import (
	"strings"
	"testing"
)

// Both sides fold each message, and people count it once.
func TestTheBarOfATrialCountsMessagesOnce(t *testing.T) {
	var out strings.Builder
	part := onBothSides(&foldBar{w: &out, shown: true})
	part(13, 26)
	part(26, 26)
	if got, want := out.String(), "\rfolded 6 of 13 messages, 46 %\rfolded 13 of 13 messages, 100 %\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}
