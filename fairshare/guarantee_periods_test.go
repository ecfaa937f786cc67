package fairshare

import (
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// duo is a pool of two equal keys and two connections, of one dimension.
func duo(u quota.Unit, each quota.Amount, policy plans.Policy) (*plans.Resolved, census) {
	p := &plans.Pool{
		ID: "p", Rule: plans.Guarantee, Reserve: 100, Connections: make([]plans.Connection, 2),
		Allocations: []plans.Allocation{{APIKeyID: "a", Weight: 50e6, Policy: policy}, {APIKeyID: "b", Weight: 50e6}},
	}
	c := census{books: []*book{newBook(2), newBook(2), newBook(2)}}
	c.book = c.books[0]
	return plans.Resolve(p, func(string) plans.Plan {
		return plans.Plan{Dimensions: []plans.Dimension{{Unit: u, Window: quota.FiveHour, Limit: each}}}
	}), c
}

// on changes a connection for all who read it.
func (c census) on(conn int, change func(*bookConn)) {
	for _, b := range c.books {
		change(&b.conns[conn])
	}
}

// judgedBy asks as key a.
func judgedBy(p *plans.Resolved, c census, u quota.Unit, estimate quota.Amount, now int64) Verdict {
	q := ask(p, "a", 0)
	q.Estimate[u] = estimate
	var f Facts
	f.Gather(q, c, now)
	return f.Judge(now)
}

var fiveHours, _ = windows.Bucket(rapidNow, quota.FiveHour.Millis())

// TestAConnectionWithoutAReadingGivesItsBucket to the cycle of the others: what it had in
// the bucket before is not of the cycle.
func TestAConnectionWithoutAReadingGivesItsBucket(t *testing.T) {
	p, c := duo(quota.Percent, 100, plans.Hard)
	now := (fiveHours + 1) * quota.FiveHour.Millis() // all of the bucket before still counts
	end := now + 1                                   // the cycle: nothing is kept any more
	c.on(0, func(x *bookConn) {
		x.readings[quota.FiveHour] = Reading{Current: Level{Used: 20, Until: end, ResetAt: end, Observed: now}, PartUntil: end}
	})
	c.on(1, func(x *bookConn) {
		x.total[quota.Percent][quota.FiveHour] = windows.Counter{Index: fiveHours + 1, Curr: 30, Prev: 60}
	})
	if v := judgedBy(p, c, quota.Percent, 150, now); v.Reason != OK {
		t.Errorf("all that is left is asked for: %v %s", v.Reason, v.Detail)
	}
	if v := judgedBy(p, c, quota.Percent, 151, now); v.Reason != GlobalSaturated {
		t.Errorf("one more than is left is asked for: %v %s", v.Reason, v.Detail)
	}
}

// TestACycleLastsAWindowAtMost for what is kept, wherever its provider says that it ends.
func TestACycleLastsAWindowAtMost(t *testing.T) {
	p, c := duo(quota.Percent, 100e6, plans.Hard)
	width := quota.FiveHour.Millis()
	for _, k := range []struct{ end, far int64 }{{rapidNow + width/2, width/2 - 1}, {rapidNow + width, width - 1}, {rapidNow + 2*width, width - 1}} {
		c.on(0, func(x *bookConn) {
			x.readings[quota.FiveHour] = Reading{Current: Level{Until: k.end, ResetAt: k.end, Observed: rapidNow}, PartUntil: k.end}
		})
		kept := quota.Amount(100e6 * k.far / width)
		if v := judgedBy(p, c, quota.Percent, 200e6-kept, rapidNow); v.Reason != OK {
			t.Errorf("%d ms are left, and what is not kept is not given: %v %s", k.far, v.Reason, v.Detail)
		}
		if v := judgedBy(p, c, quota.Percent, 200e6-kept+1, rapidNow); v.Detail != "reserved" {
			t.Errorf("%d ms are left, and what is kept is given: %v %s", k.far, v.Reason, v.Detail)
		}
	}
}

// TestTheLatestResetEndsTheCycle of a pool whose accounts began at different times.
func TestTheLatestResetEndsTheCycle(t *testing.T) {
	p, c := duo(quota.Percent, 100e6, plans.Hard)
	width := quota.FiveHour.Millis()
	for i, far := range []int64{width / 2, width / 10} {
		end := rapidNow + far
		c.on(i, func(x *bookConn) {
			x.readings[quota.FiveHour] = Reading{Current: Level{Until: end, ResetAt: end, Observed: rapidNow}, PartUntil: end}
		})
	}
	kept := quota.Amount(100e6 * (width/2 - 1) / width)
	if v := judgedBy(p, c, quota.Percent, 200e6-kept, rapidNow); v.Reason != OK {
		t.Errorf("what is not kept is not given: %v %s", v.Reason, v.Detail)
	}
	if v := judgedBy(p, c, quota.Percent, 200e6-kept+1, rapidNow); v.Detail != "reserved" {
		t.Errorf("what is kept is given: %v %s", v.Reason, v.Detail)
	}
}

// TestDeletedKeysStay: what a key used that has no allocation any more is of the pool.
func TestDeletedKeysStay(t *testing.T) {
	p, c := duo(quota.Tokens, 100, plans.Hard)
	now := (fiveHours+1)*quota.FiveHour.Millis() - 1 // nothing is kept any more
	c.on(1, func(x *bookConn) {
		x.total[quota.Tokens][quota.FiveHour] = windows.Counter{Index: fiveHours, Curr: 120}
	})
	if v := judgedBy(p, c, quota.Tokens, 80, now); v.Reason != OK {
		t.Errorf("all that is left is asked for: %v %s", v.Reason, v.Detail)
	}
	if v := judgedBy(p, c, quota.Tokens, 81, now); v.Reason != GlobalSaturated {
		t.Errorf("one more than is left is asked for: %v %s", v.Reason, v.Detail)
	}
	c.on(1, func(x *bookConn) {
		x.total[quota.Tokens][quota.FiveHour] = windows.Counter{Index: fiveHours, Curr: 110}
	})
	now = fiveHours * quota.FiveHour.Millis() // 100 − 1 are kept for b
	if v := judgedBy(p, c, quota.Tokens, 1, now); v.Detail != "guaranteed" {
		t.Errorf("inside the promise: %v %s", v.Reason, v.Detail)
	}
	c.books[0].conns[0].key[quota.Tokens][quota.FiveHour] = windows.Counter{Index: fiveHours, Curr: 99}
	if v := judgedBy(p, c, quota.Tokens, 1, now); v.Detail != "reserved" {
		t.Errorf("beyond the promise, and all but what is kept is used: %v %s", v.Reason, v.Detail)
	}
}

// TestAllOfItIsFreeAtTheEndOfTheFirstEmptyBucket: what was used counts until then, and in
// that bucket, from its beginning on, the other key's pace is kept.
func TestAllOfItIsFreeAtTheEndOfTheFirstEmptyBucket(t *testing.T) {
	const each = 1e9 // of so much something still counts in the last millisecond
	p, c := duo(quota.Tokens, each, plans.Hard)
	width := quota.FiveHour.Millis()
	now := fiveHours * width
	c.on(1, func(x *bookConn) {
		x.total[quota.Tokens][quota.FiveHour] = windows.Counter{Index: fiveHours, Curr: 2 * each}
	})
	q := ask(p, "a", 0)
	q.Estimate[quota.Tokens] = 2 * each
	var f Facts
	f.Gather(q, c, now)
	if ms, ok := f.RetryAfter(now); !ok || ms != 3*width-1 {
		t.Errorf("again after %d ms (%v), want %d", ms, ok, 3*width-1)
	}
}

// TestSoftAndBurstLeaveNoHeadroom, but the whole promise of the others.
func TestSoftAndBurstLeaveNoHeadroom(t *testing.T) {
	now := fiveHours*quota.FiveHour.Millis() + quota.FiveHour.Millis()/2 // 49,999 of 200,000 are kept for b
	for _, k := range []struct {
		policy     plans.Policy
		curr, prev quota.Amount // of a, of all; half of the latter counts
		most       quota.Amount
		beyond     string
	}{
		{plans.Hard, 140_000, 100_000, 1_250, "yield"}, // ⌊140,000 / 16⌋ = 8,750
		{plans.Soft, 140_000, 100_000, 10_000, ""},
		{plans.Burst, 140_000, 100_000, 10_000, ""},
		{plans.Soft, 140_000, 0, 10_001, "reserved"},
		{plans.Burst, 140_000, 0, 10_001, "reserved"},
	} {
		p, c := duo(quota.Tokens, 100_000, k.policy)
		c.on(0, func(x *bookConn) {
			x.total[quota.Tokens][quota.FiveHour] = windows.Counter{Index: fiveHours, Curr: k.curr, Prev: k.prev}
		})
		c.books[0].conns[0].key[quota.Tokens][quota.FiveHour] = windows.Counter{Index: fiveHours, Curr: k.curr}
		if v := judgedBy(p, c, quota.Tokens, k.most+1, now); v.Detail != k.beyond || !v.Reason.Blocks() {
			t.Errorf("%+v is passed: %v %s", k, v.Reason, v.Detail)
		}
		if v := judgedBy(p, c, quota.Tokens, k.most, now); v.Detail != "borrowed" || v.Deprioritize != (k.policy == plans.Soft) {
			t.Errorf("%+v: %v %s, deprioritized %v", k, v.Reason, v.Detail, v.Deprioritize)
		}
	}
}

// TestAnUnknownLimitIsNotJudged by the rule either.
func TestAnUnknownLimitIsNotJudged(t *testing.T) {
	p, c := duo(quota.Tokens, 0, plans.Hard)
	c.on(0, func(x *bookConn) {
		x.total[quota.Tokens][quota.FiveHour] = windows.Counter{Index: fiveHours, Curr: 140_000}
	})
	if v := judgedBy(p, c, quota.Tokens, 1_000, rapidNow); v.Reason != OK || v.Detail != "" {
		t.Errorf("of a limit that nobody knows: %v %s", v.Reason, v.Detail)
	}
}

// TestAPartEndsWithItsWindow, though the reading, which says nothing of a reset, goes on.
func TestAPartEndsWithItsWindow(t *testing.T) {
	p, c := duo(quota.Percent, 100e6, plans.Hard)
	for _, k := range []struct {
		until  int64
		detail string
	}{{rapidNow + 1, "ok"}, {rapidNow, "guaranteed"}} {
		for i, part := range []quota.Amount{60e6, 0, 0} {
			c.books[i].conns[0].readings[quota.FiveHour] = Reading{Current: Level{Used: 60e6, Until: rapidNow + 30_000, Observed: rapidNow}, Part: part, PartUntil: k.until}
			c.books[i].conns[1].readings[quota.FiveHour] = Reading{Current: Level{Until: rapidNow + 10_000_000, ResetAt: rapidNow + 10_000_000, Observed: rapidNow}}
		}
		if v := judgedBy(p, c, quota.Percent, 20e6, rapidNow); v.Reason != OK || v.Detail != k.detail { // 10,000 of 18,000 s are left: 55.5e6 are promised
			t.Errorf("a part until %d ms: %v %s, want %s", k.until-rapidNow, v.Reason, v.Detail, k.detail)
		}
	}
}

// TestAboveItsShareASoftKeyComesLast: at it, it does not.
func TestAboveItsShareASoftKeyComesLast(t *testing.T) {
	now := (fiveHours+1)*quota.FiveHour.Millis() - 1 // nothing is kept any more
	for used, last := range map[quota.Amount]bool{50: false, 51: true} {
		p, c := duo(quota.Tokens, 50, plans.Soft)
		c.on(0, func(x *bookConn) {
			x.total[quota.Tokens][quota.FiveHour] = windows.Counter{Index: fiveHours, Curr: used}
		})
		c.books[0].conns[0].key[quota.Tokens][quota.FiveHour] = windows.Counter{Index: fiveHours, Curr: used}
		if v := judgedBy(p, c, quota.Tokens, 1, now); v.Reason != OK || v.Deprioritize != last {
			t.Errorf("with %d of 50 used: %v, deprioritized %v", used, v.Reason, v.Deprioritize)
		}
	}
}
