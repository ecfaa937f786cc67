package fairshare

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

func (w wide) big() *big.Int {
	b := new(big.Int).Lsh(new(big.Int).SetUint64(w.hi), 64)
	return b.Add(b, new(big.Int).SetUint64(w.lo))
}

var mostWide = wide{math.MaxUint64, math.MaxUint64}

func TestWideAgainstBig(t *testing.T) {
	draw := rapid.Custom(func(t *rapid.T) wide { return wide{rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")} })
	held := func(b *big.Int) *big.Int {
		if b.Cmp(mostWide.big()) > 0 {
			return mostWide.big()
		}
		return b
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b, k := draw.Draw(t, "a"), draw.Draw(t, "b"), rapid.Uint64().Draw(t, "k")
		x, y := rapid.Int64().Draw(t, "x"), rapid.Int64().Draw(t, "y")
		if got, want := a.plus(b).big(), held(new(big.Int).Add(a.big(), b.big())); got.Cmp(want) != 0 {
			t.Fatalf("sum %v, want %v", got, want)
		}
		if got, want := a.times(k).big(), held(new(big.Int).Mul(a.big(), new(big.Int).SetUint64(k))); got.Cmp(want) != 0 {
			t.Fatalf("product %v, want %v", got, want)
		}
		if got, want := product(x, y).big(), new(big.Int).Mul(big.NewInt(max(x, 0)), big.NewInt(max(y, 0))); got.Cmp(want) != 0 {
			t.Fatalf("product of int64 %v, want %v", got, want)
		}
		if a.less(b) != (a.big().Cmp(b.big()) < 0) || a.less(a) {
			t.Fatalf("less(%v, %v) = %v", a, b, a.less(b))
		}
	})
}

// TestHugeSums has counters, holds and readings at the ends of their ranges: a
// sum beyond int64 must read as beyond every limit, never as a small number.
func TestHugeSums(t *testing.T) {
	p := &plans.Pool{Connections: make([]plans.Connection, 3), Allocations: []plans.Allocation{{APIKeyID: "a", Weight: 50e6, Policy: plans.Burst}}}
	huge := quota.Tokens.Max()
	r := plans.Resolve(p, func(string) plans.Plan {
		return plans.Plan{Dimensions: []plans.Dimension{{Unit: quota.Tokens, Window: quota.Daily, Limit: huge}}}
	})
	b := newBook(3)
	for i := range b.conns {
		c := &b.conns[i].total[quota.Tokens][quota.Daily]
		c.Index, c.Curr, c.Prev = benchNow/quota.Daily.Millis(), 1<<62-1, 1<<62-1
		b.conns[i].readings[quota.Daily].Current = Level{Used: 99e6, Until: benchNow + 1}
	}
	b.holds = []Hold{{End: benchNow + 1, Amounts: quota.Amounts{quota.Tokens: math.MaxInt64}}}
	q := ask(r, "a", 0)
	q.Estimate[quota.Tokens] = huge
	f := gather(q, b, benchNow)
	if v := f.Judge(benchNow); v.Reason != GlobalSaturated {
		t.Errorf("%v, want global-saturated", v.Reason)
	}
	if d := f.Explain(0, benchNow, nil)[0]; d.Mode != "strict" || d.Remaining != 0 || d.ConsumedTotal != math.MaxInt64 {
		t.Errorf("explained as %+v", d)
	}
}

// TestLater checks each kind of fact that may lie after an instant asked for.
func TestLater(t *testing.T) {
	hour := quota.Hourly.Millis()
	now := benchNow / hour * hour
	for name, later := range map[string]func(*bookConn){
		"key":          func(c *bookConn) { c.key[quota.Requests][quota.Hourly].Index = now/hour + 1 },
		"total":        func(c *bookConn) { c.total[quota.Tokens][quota.FiveHour].Index = now/hour + 1 },
		"reading":      func(c *bookConn) { c.readings[quota.Hourly].Current.Observed = now + 1 },
		"other window": func(c *bookConn) { c.readings[quota.Hourly].Other.Observed = now + 1 },
		"scoped":       func(c *bookConn) { c.scoped[quota.Hourly] = []Level{{Observed: now + 1}} },
	} {
		q, b := busyPool(now)
		q.Model = "m"
		if gather(q, b, now).Later(now) {
			t.Fatalf("%s: something is later from the start", name)
		}
		later(&b.conns[0])
		if !gather(q, b, now).Later(now) {
			t.Errorf("%s: not seen as later", name)
		}
	}
}

// TestLaterUsageOfAPart: usage changes the parts of all keys, so one worked out
// from later usage cannot answer, where parts count: in percent, until they end.
func TestLaterUsageOfAPart(t *testing.T) {
	const now = benchNow
	for _, c := range []struct {
		name string
		unit quota.Unit
		caps []plans.Cap
		part Reading
		want bool
	}{
		{"at that instant", quota.Percent, nil, Reading{PartUntil: now + 1, PartAt: now}, false},
		{"just after it", quota.Percent, nil, Reading{PartUntil: now + 1, PartAt: now + 1}, true},
		{"the part has ended", quota.Percent, nil, Reading{PartUntil: now, PartAt: now + 1}, false},
		{"nothing is in percent", quota.Tokens, nil, Reading{PartUntil: now + 1, PartAt: now + 1}, false},
		{"a cap is", quota.Tokens, []plans.Cap{{Unit: quota.Percent, Window: quota.Hourly, Value: 1}}, Reading{PartUntil: now + 1, PartAt: now + 1}, true},
	} {
		p := &plans.Pool{
			Connections: make([]plans.Connection, 2),
			Allocations: []plans.Allocation{{APIKeyID: "a", Weight: quota.RatioOne, Caps: c.caps}},
		}
		dims := []plans.Dimension{{Unit: c.unit, Window: quota.Hourly, Limit: 100e6}}
		b := newBook(2)
		b.conns[1].readings[quota.Hourly] = c.part
		q := ask(plans.Resolve(p, func(string) plans.Plan { return plans.Plan{Dimensions: dims} }), "a", 0)
		if got := gather(q, b, now).Later(now); got != c.want {
			t.Errorf("%s: later is %t", c.name, got)
		}
	}
}
