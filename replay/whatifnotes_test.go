package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
)

// kimi is a pool of those connections and allocations.
func kimi(id, connections, allocations string) string {
	return fmt.Sprintf(`{"id":%q,"name":"P","provider":"kimi","connectionIds":[%s],"allocations":[%s]}`, id, connections, allocations)
}

// TestWhatMayNotBeMeant is noted, in the order in which it is looked for, and of names
// that are right nothing is.
func TestWhatMayNotBeMeant(t *testing.T) {
	const a, b, others = `{"apiKeyId":"a","weight":50}`, `{"apiKeyId":"b","weight":50}`, `{"apiKeyId":"*","weight":50}`
	for _, c := range []struct {
		trial string
		want  []string
	}{
		{`"pools":[` + kimi("p", `"c"`, a+","+b) + `]`, nil},
		{`"pools":[` + kimi("p", `"c"`, a+`,{"apiKeyId":"late","weight":25},{"apiKeyId":"b","weight":25}`) + `]`, nil},
		{`"pools":[` + kimi("p", `"c","d"`, a+","+b) + `]`, nil},
		{
			`"pools":[` + kimi("p", `"c"`, `{"apiKeyId":"a","weight":70},`+b) + `]`,
			[]string{"pool p: allocations have weights that sum to 120, so each share is scaled down by 100/120: let them sum to 100"},
		},
		{`"pools":[` + kimi("p", `"c"`, `{"apiKeyId":"aa","weight":50},`+b) + `]`, []string{
			"pool p has an allocation for key aa, by which nothing was consumed up to message 7: look whether it is spelt as its gateway spells it",
			"pool p has no allocation for key a any more, which asks in the range, so it is let pass while there is room",
		}},
		{
			`"pools":[` + kimi("p", `"c"`, b+","+others) + `]`,
			[]string{"pool p has no allocation for key a any more, which asks in the range, so it shares that of all others"},
		},
		{`"pools":[` + kimi("p", `"k"`, a+","+b) + `]`, []string{
			"pool p has connection k, on which nothing was consumed up to message 7: look whether it is spelt as its gateway spells it",
			"connection c was in pool p and is in none any more, so nothing is blocked on it",
		}},
		{`"pools":[` + kimi("p", `"d"`, a+","+b) + `,` + kimi("q", `"c"`, a+","+b) + `]`, nil}, // it moved
		{`"plans":[{"connectionId":"k","dimensions":[{"unit":"tokens","window":"hourly","limit":1000}]}]`, []string{
			"plan k: connectionId is in no pool, and no event has named it: look whether it is spelt as its gateway spells it",
		}},
		{`"plans":[{"connectionId":"k","dimensions":null}],"withoutPools":["p"]`, nil}, // that is what was asked for
	} {
		l := shared(50, 50)
		l.add(0, "quota.config.plan.d", `{"connectionId":"d","dimensions":[{"unit":"tokens","window":"hourly","limit":1000}]}`)
		l.use(1, "a", 10)
		l.use(2, "b", 10)
		l.add(3, "quota.consumption", `{"apiKeyId":"b","connectionId":"d","cost":{"tokens":1}}`)
		l.use(4, "late", 1)
		for _, from := range []int{1, 4} { // the pool comes in the range, or was there before
			r := whatIfOf(t, l, fmt.Sprintf(`{%s,"from":{"seq":%d}}`, c.trial, from))
			got := slices.DeleteFunc(r.Notes, func(n string) bool { return strings.Contains(n, "has no known limit") })
			if !slices.Equal(got, c.want) {
				t.Errorf("%s from %d:\n%s\nwant\n%s", c.trial, from, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		}
	}
}

// TestNamesInForceAreNoMistakes of who tries something: those that nobody uses yet are
// not told of each time.
func TestNamesInForceAreNoMistakes(t *testing.T) {
	l := shared(50, 50)
	tried := func(connections, key string) string {
		return kimi("p", connections, `{"apiKeyId":"a","weight":50},{"apiKeyId":"`+key+`","weight":50}`)
	}
	l.add(0, "quota.config.plan.idle", `{"connectionId":"idle","dimensions":[{"unit":"tokens","window":"hourly","limit":1000}]}`)
	l.add(0, "quota.config.pool.p", tried(`"c","idle"`, "new"))
	l.use(1, "a", 10)
	if r := whatIfOf(t, l, `{"pools":[`+tried(`"c","idle"`, "new")+`],"from":{"seq":5}}`); len(r.Notes) > 0 {
		t.Errorf("as it is: %q", r.Notes)
	}
	if r := whatIfOf(t, l, `{"pools":[`+tried(`"c"`, "a b")+`],"from":{"seq":5}}`); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "allocation for key a b,") {
		t.Errorf("another key, and a connection less that nobody uses: %q", r.Notes)
	}
}

// TestABlockThatPassesIsARequest, though it was asked about without saying of how many:
// else every block of a limit of requests would pass under one more.
func TestABlockThatPassesIsARequest(t *testing.T) {
	limited := func(n int) string {
		return fmt.Sprintf(`{"connectionId":"c","dimensions":[{"unit":"requests","window":"hourly","limit":%d}]}`, n)
	}
	l := &memory{}
	l.add(0, "quota.config.plan.c", limited(5))
	l.add(0, "quota.config.pool.p", pool(100, 0))
	for i := range int64(5) {
		l.use(i, "a", 1)
	}
	for i := range int64(6) {
		blockedRow(l, 10+i, 0, "").Reply.Reason = "global-saturated"
	}
	for limit, passed := range map[int]int64{5: 0, 6: 1, 8: 3, 20: 6} {
		r := whatIfOf(t, l, `{"plans":[`+limited(limit)+`]}`)
		after := &r.Rows[0].Sides[whatif.After]
		if r.Rows[0].NewlyAllowed != passed || after.Blocked != 6-passed || after.Served[quota.Requests] != quota.Amount(5+passed)*1000 || after.Served[quota.Tokens] != 5000 {
			t.Errorf("limit %d: newly allowed %d, after %+v", limit, r.Rows[0].NewlyAllowed, after)
		}
	}
	// A caller that reserved said how many, and may have said none.
	q := &l.rows[0].Question
	q.Reserve, l.rows = true, l.rows[:1]
	if got := whatIfOf(t, l, `{"plans":[`+limited(6)+`]}`).Rows[0].Sides[whatif.After].Served[quota.Requests]; got != 5000 {
		t.Errorf("a reserve of no requests is %d", got)
	}
}

// TestNothingWasLogged, and blocks were answered all the same: they are of the range by
// the time of the answer.
func TestNothingWasLogged(t *testing.T) {
	l := shared(50, 50)
	l.use(10, "a", 950)
	for _, ms := range []int64{100, 200, 300, 400} {
		blockedRow(l, ms, 60, "")
	}
	l.use(1000, "a", 1)
	between := func(from, to int64) string {
		return fmt.Sprintf(`{"settings":{"maxLagMs":7},"from":%d,"to":%d}`, began+from, began+to)
	}
	for _, c := range []struct{ from, to, want int64 }{{200, 300, 2}, {100, 400, 4}, {101, 399, 2}, {500, 600, 0}, {20, 90, 0}} {
		r := whatIfOf(t, l, between(c.from, c.to))
		if r.Asked.Blocks != c.want || r.Asked.Consumptions != 0 || r.From != 4 || r.To != 3 || r.FromAt != 0 || r.ToAt != 0 {
			t.Errorf("%d to %d: %+v, messages %d to %d at %d to %d, want %d blocks", c.from, c.to, r.Asked, r.From, r.To, r.FromAt, r.ToAt, c.want)
		}
	}
	if r := whatIfOf(t, l, fmt.Sprintf(`{"settings":{"maxLagMs":7},"from":%d}`, began+2000)); r.From != 5 || r.To != 4 {
		t.Errorf("after the log's end: %d to %d", r.From, r.To)
	}
	// What was answered in the range is of it, though of a message before, or behind.
	blockedRow(l, 1100, 60, "").Reply.AsOf.Seq = 3
	l.use(1050, "a", 1)
	if r := whatIfOf(t, l, between(1060, 1200)); r.Asked.Blocks != 1 {
		t.Errorf("a late answer: %+v", r.Asked)
	}
	_, err := WhatIf(t.Context(), WhatIfOptions{Options: Options{Log: l, Store: inMemory}}, trial(t, between(300, 299)))
	if err == nil || !strings.Contains(err.Error(), "to is before from") {
		t.Errorf("the wrong way round: %v", err)
	}
}

// forgetful are the rows of a log that has dropped those from before.
type forgetful struct {
	*memory
	since int64
}

func (f forgetful) KeptSince(context.Context) (int64, error) { return f.since, nil }

func TestBlocksThatAreGoneAreSaid(t *testing.T) {
	l := shared(50, 50)
	l.use(10, "a", 1)
	l.use(20, "a", 1)
	for place, gone := range map[string]bool{`"from":{"seq":1}`: true, `"from":{"seq":4}`: false, fmt.Sprintf(`"from":%d`, began+14): true, fmt.Sprintf(`"from":%d`, began+15): false} {
		o := WhatIfOptions{Options: Options{Log: l, Store: inMemory}, Rows: forgetful{l, began + 15}}
		r, err := WhatIf(t.Context(), o, trial(t, `{"settings":{"maxLagMs":7},`+place+`}`))
		if err != nil {
			t.Fatal(err)
		}
		const want = "decisions before 2024-09-14T00:00:00.015Z are not recorded any more, so the blocks of that part of the range are not asked about"
		if said := slices.Contains(r.Notes, want); said != gone || len(r.Notes) > 1 {
			t.Errorf("%s: notes %q, want it said: %t", place, r.Notes, gone)
		}
	}
}
