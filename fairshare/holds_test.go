package fairshare

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// TestFallsAgainstList compares the sums made once with adding up the holds at each
// instant, for lines of all kinds.
func TestFallsAgainstList(t *testing.T) {
	amounts := rapid.SampledFrom([]quota.Amount{0, 1, 2, 5, 9, math.MaxInt64 / 2, math.MaxInt64})
	ends := rapid.OneOf(rapid.Int64Range(-3, 30), rapid.Int64Range(254, 259), rapid.Int64Range(0, 1<<17), rapid.Int64())
	cmpHolding := cmp.AllowUnexported(holding{})
	rapid.Check(t, func(t *rapid.T) {
		f := Facts{listed: true, at: -1}
		for range rapid.IntRange(0, 40).Draw(t, "holds") {
			h := Hold{Key: rapid.Bool().Draw(t, "own"), End: ends.Draw(t, "end")}
			h.Model = h.Key && rapid.Bool().Draw(t, "same model")
			h.Amounts[quota.Requests], h.Amounts[quota.Percent] = amounts.Draw(t, "amount"), amounts.Draw(t, "amount")
			f.holds = append(f.holds, h)
		}
		list := append([]Hold(nil), f.holds...)
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			f.lines = append(f.lines, line{
				kind: rapid.SampledFrom([]kind{dimension, capped, modelCapped}).Draw(t, "kind"), unit: anyUnit.Draw(t, "unit"),
				limit: amounts.Draw(t, "limit"), cap: amounts.Draw(t, "cap"),
			})
		}
		now := ends.Draw(t, "now")
		for i, l := range f.lines {
			var want holding
			if l.kind == dimension {
				want.all = heldOf(list, l.unit, l.limit, OfAll, now)
				want.key = heldOf(list, l.unit, l.limit, OfAsker, now)
			}
			whose := map[kind]Whose{dimension: OfAsker, capped: OfAsker, modelCapped: OfAskersModel}[l.kind]
			if l.cap > 0 {
				want.cap = heldOf(list, l.unit, l.cap, whose, now)
			}
			// -1 is the instant of Gather.
			if now != -1 && !cmp.Equal(want, f.holdingAt(i, now), cmpHolding) {
				t.Fatalf("line %d (-list +falls)\n%s", i, cmp.Diff(want, f.holdingAt(i, now), cmpHolding))
			}
		}
	})
}

// counting counts how often a book lists its holds.
type counting struct {
	*book
	lists int
}

func (c *counting) Holds(dst []Hold) []Hold {
	c.lists++
	return c.book.Holds(dst)
}

// TestListOfHolds: it may be long, so it is asked for only where the retry instant
// depends on it.
func TestListOfHolds(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(q *Question, b *book)
		want    int
		retryMs int64
	}{
		"allowed":         {func(q *Question, _ *book) { q.Pool.Pool.Allocations[0].Policy = plans.Soft }, 0, 0},
		"blocked":         {func(*Question, *book) {}, 1, 7_000},
		"by pool":         {func(q *Question, _ *book) { q.Connection = AnyConnection }, 1, 7_000},
		"would block":     {func(q *Question, _ *book) { q.Pool.Pool.Mode = plans.Observe }, 1, 7_000},
		"for good":        {func(q *Question, _ *book) { q.Pool.Pool.Allocations[0].Suspended = true }, 0, -1},
		"nobody waits":    {func(q *Question, _ *book) { q.NoRetry = true }, 0, 0},
		"no pool, full":   {func(q *Question, _ *book) { q.Pool, q.Connection, q.RoomAt = nil, -1, benchNow+9 }, 0, 9},
		"off, full":       {func(q *Question, _ *book) { q.Pool.Pool.Mode, q.RoomAt = plans.Off, benchNow+9 }, 0, 9},
		"full":            {func(q *Question, b *book) { b.holds, q.RoomAt = nil, benchNow+9 }, 0, 9},
		"full, by pool":   {func(q *Question, b *book) { b.holds, q.RoomAt, q.Connection = nil, benchNow+9, AnyConnection }, 1, 9},
		"full, soft":      {func(q *Question, _ *book) { q.Pool.Pool.Allocations[0].Policy, q.RoomAt = plans.Soft, benchNow+9 }, 0, 9},
		"full and above":  {func(q *Question, _ *book) { q.RoomAt = benchNow + 9 }, 1, 7_000},
		"full for longer": {func(q *Question, _ *book) { q.RoomAt = benchNow + 7_001 }, 1, 7_001},
		"full, then above": {func(q *Question, b *book) {
			// The provider says nothing was used. When that ends, there is no room yet,
			// and by our count the key has used 60 points; they are 50 ten minutes into
			// the next hour.
			q.RoomAt, b.holds = benchNow+9, nil
			unseen(b, 60e6)
		}, 1, 3_600_000 - benchNow%3_600_000 + 600_000},
		"full, then free": {func(q *Question, b *book) {
			// As before, but with 45 points and a hold of 10, over when there is room.
			q.RoomAt = benchNow + 9
			b.holds[0].Amounts[quota.Percent], b.holds[0].End = 10e6, benchNow+9
			unseen(b, 45e6)
		}, 0, 9},
		"first is free": {func(q *Question, b *book) { ofTwo(q, b, 1) }, 0, 0},
		"last is free":  {func(q *Question, b *book) { ofTwo(q, b, 0) }, 0, 0},
	} {
		q, b := oneAbove(1)
		c.arrange(q, b)
		counted := &counting{book: b}
		var f Facts
		f.Gather(q, counted, benchNow)
		a := f.Decide(benchNow)
		if a.Reason.Blocks() && a.ScoreFactor != quota.RatioOne {
			t.Errorf("%s: a block with a score factor of %v", name, a.ScoreFactor)
		}
		for _, d := range f.Explain(0, benchNow, nil) {
			if want := heldOf(b.holds, d.Unit, d.Limit, OfAll, benchNow); d.HeldTotal != want {
				t.Errorf("%s: %v held in all, want %v", name, d.HeldTotal, want)
			}
		}
		if ms, ok := f.RetryAfter(benchNow); ms != a.RetryMs || ok == (ms < 0) {
			t.Errorf("%s: a wait of %d ms, %v, and %d", name, ms, ok, a.RetryMs)
		}
		if counted.lists != c.want || !q.NoRetry && a.RetryMs != c.retryMs {
			t.Errorf("%s: %v, %d lists and a wait of %d ms, want %d and %d", name, a.Reason, counted.lists, a.RetryMs, c.want, c.retryMs)
		}
	}
}

// ofTwo asks by pool for one of two connections, of which one is full.
func ofTwo(q *Question, b *book, full int) {
	two, holds := oneAbove(2)
	*q, *b = *two, *holds
	q.Connection, b.holds = AnyConnection, nil
	b.conns[full].readings[quota.Hourly].Current = Level{Used: 100e6, Until: benchNow + 8}
}

// oneAbove is a pool in percent and a key without use whose hold, for 7 seconds more,
// is 60 percent of the limit: above its share of 50 and enough for strict mode.
func oneAbove(conns int) (*Question, *book) {
	p := &plans.Pool{Connections: make([]plans.Connection, conns), Allocations: []plans.Allocation{{APIKeyID: "a", Weight: 50e6}}}
	dims := []plans.Dimension{{Unit: quota.Percent, Window: quota.Hourly, Limit: 100e6}}
	b := newBook(conns)
	b.holds = []Hold{{Key: true, End: benchNow + 7_000}}
	b.holds[0].Amounts[quota.Percent] = quota.Amount(conns) * 60e6
	return ask(plans.Resolve(p, func(string) plans.Plan { return plans.Plan{Dimensions: dims} }), "a", 0), b
}

// unseen makes the provider say for 8 ms that nothing was used, of what the key used.
func unseen(b *book, points quota.Amount) {
	c := &b.conns[0]
	c.readings[quota.Hourly] = Reading{Current: Level{Until: benchNow + 8}, PartUntil: benchNow + 8}
	bucket, _ := windows.Bucket(benchNow, quota.Hourly.Millis())
	c.key[quota.Percent][quota.Hourly] = windows.Counter{Index: bucket, Curr: points}
	c.total[quota.Percent][quota.Hourly] = windows.Counter{Index: bucket, Curr: points}
}

// TestDecideMeasuresNothingAgain: what Gather worked out is good for its instant, so
// a decision at that instant looks at no counter.
func TestDecideMeasuresNothingAgain(t *testing.T) {
	for _, conn := range []int{0, AnyConnection} {
		q, b := oneAbove(2)
		q.Pool.Pool.Allocations[0].Policy, q.Connection = plans.Soft, conn
		f := gather(q, b, benchNow)
		f.held[0].all = 200e6 // the whole limit: measured again, nothing would be free
		if a := f.Decide(benchNow); len(a.Alternatives) == 0 {
			t.Errorf("connection %d: measured again", conn)
		}
		f.numbers[0].held = 0 // judged again, the key would not be above its share
		if !f.Decide(benchNow).Deprioritize || !f.Judge(benchNow).Deprioritize {
			t.Errorf("connection %d: judged again", conn)
		}
	}
}
