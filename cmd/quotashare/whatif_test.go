package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
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

// reportOf is a report of so many keys that would have had more tokens, and one that less.
func reportOf(more int) *whatif.Report {
	r := &whatif.Report{From: 2, To: 1}
	for i := range more + 1 {
		x := whatif.Row{APIKeyID: fmt.Sprintf("k%02d", i)}
		x.Sides[whatif.Before].Served[quota.Tokens], x.Sides[whatif.After].Served[quota.Tokens] = 5000, 5000+quota.Amount(i)*1000
		r.Rows = append(r.Rows, x)
	}
	r.Rows[0].Sides[whatif.After].Served[quota.Tokens] = 500
	full := whatif.Capacity{Buckets: 2, Limit: 20_000, Used: 12_000, Unused: 8000, Withheld: 7000, Wanted: 6000}
	r.Pools = []whatif.Pool{{PoolID: "team", Unit: quota.Tokens, Window: quota.Hourly, Sides: [2]whatif.Capacity{full, {}}}}
	return r
}

func TestATrialSaysWhoGetsMoreAndWhoLess(t *testing.T) {
	for _, c := range []struct {
		more int
		want string
	}{
		{0, `tokens: nobody would have been served more, and k00 4.5 less.`},
		{1, `tokens: k01 would have been served 1 more, and k00 4.5 less.`},
		{12, `tokens: 12 keys would have been served more, k12 the most (12), and k00 4.5 less.`},
	} {
		var out strings.Builder
		if err := sayWhatIf(&out, reportOf(c.more), true); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{c.want, "tokens/hourly of pool team: before 8 left unused, 7 while it blocked somebody who had asked for 6 of that; after there is no limit."} {
			if !strings.Contains(out.String(), want+"\n") {
				t.Errorf("of %d keys that get more it says\n%swant %s", c.more, out.String(), want)
			}
		}
	}
	var out strings.Builder
	if err := sayShifts(&out, reportOf(12).Shifts()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if got := strings.Fields(lines[2]); len(lines) != 15 || fmt.Sprint(got) != "[tokens k12 5 17 +12]" {
		t.Errorf("of %d lines the first is %q", len(lines), got)
	}
	if got := fmt.Sprint(strings.Fields(lines[12])) + fmt.Sprint(strings.Fields(lines[13])); got != "[tokens and 2 more][tokens k00 5 0.5 -4.5]" {
		t.Errorf("the last are %s", got)
	}
}
