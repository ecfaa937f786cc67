package fairshare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// census is a state of a pool of the rule guarantee: a book for each allocation, and one
// more for keys that have none.
type census struct {
	*book
	books []*book
}

func (c census) As(j int) Counters { return c.books[j] }

var (
	censusDims = [][]plans.Dimension{
		{{Unit: quota.Tokens, Window: quota.FiveHour}},
		{{Unit: quota.Percent, Window: quota.FiveHour}},
		{{Unit: quota.Tokens, Window: quota.Hourly}, {Unit: quota.Tokens, Window: quota.FiveHour}},
		{{Unit: quota.Percent, Window: quota.FiveHour}, {Unit: quota.Tokens, Window: quota.Hourly}},
		{{Unit: quota.Percent, Window: quota.Hourly}, {Unit: quota.Percent, Window: quota.FiveHour}, {Unit: quota.Requests, Window: quota.Hourly}},
	}
	censusUnits   = []quota.Unit{quota.Requests, quota.Tokens, quota.Percent}
	censusWindows = []quota.Window{quota.Hourly, quota.FiveHour}
)

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// drawCensus makes a pool and a question of it.
func drawCensus(r *rand.Rand) (*Question, census) {
	dims := append([]plans.Dimension(nil), pick(r, censusDims...)...)
	limit := pick[int64](r, 60, 1_000, 100_000, 100e6)
	for i := range dims {
		dims[i].Limit = quota.Amount(limit)
	}
	p := &plans.Pool{ID: "p", Rule: plans.Guarantee, Reserve: pick[int64](r, 100, 100, 100, 0, 30, 400), Connections: make([]plans.Connection, 1+r.IntN(2))}
	n := 1 + r.IntN(5)
	for j := range n {
		p.Allocations = append(p.Allocations, censusAllocation(r, j, n, limit))
	}
	if r.IntN(3) == 0 {
		p.Allocations[n-1].APIKeyID = quota.AllOthers
	}
	if r.IntN(4) == 0 {
		p.ModelCaps = []plans.ModelCap{{APIKeyID: "0", Model: "m", CapUnit: quota.Tokens, CapValue: 1 + quota.Amount(r.Int64N(limit))}}
	}
	c := census{}
	for range n + 1 {
		c.books = append(c.books, newBook(len(p.Connections)))
	}
	for conn := range p.Connections {
		c.fill(r, conn, limit)
	}
	c.hold(r, limit)
	resolved := plans.Resolve(p, func(string) plans.Plan { return plans.Plan{Dimensions: dims} })
	q := ask(resolved, fmt.Sprint(r.IntN(n+1)), pick(r, 0, 0, len(p.Connections)-1, AnyConnection))
	q.Model = pick(r, "", "m")
	for _, u := range censusUnits {
		q.Estimate[u] = quota.Amount(pick(r, 0, 1, r.Int64N(limit/20+1), r.Int64N(limit/5+1), r.Int64N(limit+1)/pick[int64](r, 1, 4)))
	}
	c.book = c.books[n]
	if q.Allocation >= 0 {
		c.book = c.books[q.Allocation]
	}
	if r.IntN(9) == 0 {
		q.RoomAt = rapidNow + r.Int64N(10_000_000)
	}
	if r.IntN(9) == 0 {
		for range p.Connections {
			q.PlaceAt = append(q.PlaceAt, pick(r, 0, rapidNow+r.Int64N(10_000_000)))
		}
	}
	return q, c
}

func censusAllocation(r *rand.Rand, j, n int, limit int64) plans.Allocation {
	a := plans.Allocation{
		APIKeyID: fmt.Sprint(j), Weight: pick(r, 100*quota.RatioOne/quota.Ratio(n), quota.Ratio(r.Int64N(100e6)), 0),
		Policy: pick(r, plans.Hard, plans.Hard, plans.Soft, plans.Burst), Suspended: r.IntN(15) == 0,
	}
	if r.IntN(12) == 0 {
		a.Caps = []plans.Cap{{Unit: quota.Tokens, Window: quota.Hourly, Value: 1 + quota.Amount(r.Int64N(limit))}}
	}
	if r.IntN(8) == 0 {
		a.CapUnit, a.CapValue = quota.Percent, 1+quota.Amount(r.Int64N(limit))
	}
	return a
}

// fill writes what was used on a connection and what its provider says: of each allocation,
// and of all the sum.
func (c *census) fill(r *rand.Rand, conn int, limit int64) {
	most := limit*pick[int64](r, 1, 3, 6)/int64(5*len(c.books)) + 1
	for _, w := range censusWindows {
		for _, u := range censusUnits {
			bucket, _ := windows.Bucket(rapidNow, w.Millis())
			total := windows.Counter{Index: bucket}
			for _, b := range c.books {
				x := windows.Counter{Index: bucket - pick[int64](r, 0, 0, 0, 1, 2), Curr: quota.Amount(pick(r, 0, 1, r.Int64N(most))), Prev: quota.Amount(r.Int64N(most) / pick[int64](r, 1, 4))}
				b.conns[conn].key[u][w], b.conns[conn].model[u] = x, x
				x = x.Rotate(bucket)
				total.Curr, total.Prev = total.Curr+x.Curr, total.Prev+x.Prev
			}
			for _, b := range c.books {
				b.conns[conn].total[u][w] = total
			}
		}
		c.say(r, conn, w, limit)
	}
}

// say writes a reading of a window, with a reset and without, and now and then a second
// window and one of a model.
func (c *census) say(r *rand.Rand, conn int, w quota.Window, limit int64) {
	if r.IntN(3) == 0 {
		return
	}
	level := func() Level {
		until := rapidNow + 1 + pick(r, r.Int64N(30_000), r.Int64N(w.Millis()))
		return Level{Used: quota.Amount(r.Int64N(limit * pick[int64](r, 2, 5) / 4)), Until: until, ResetAt: pick(r, until, until, until, 0), Observed: rapidNow}
	}
	reading := Reading{Current: level()}
	if r.IntN(4) == 0 {
		reading.Other = level()
	}
	if reading.PartUntil = reading.Current.ResetAt; reading.PartUntil == 0 {
		reading.PartUntil = rapidNow + r.Int64N(w.Millis())
	}
	var scoped []Level
	if r.IntN(9) == 0 {
		scoped = []Level{{Used: pick[quota.Amount](r, 50e6, 100e6), Until: rapidNow + r.Int64N(w.Millis())}}
	}
	left := reading.Current.Used
	for _, b := range c.books {
		part := quota.Amount(r.Int64N(int64(left/2 + 1)))
		reading.Part, left = part, left-part
		b.conns[conn].readings[w], b.conns[conn].scoped[w] = reading, scoped
	}
}

func (c *census) hold(r *rand.Rand, limit int64) {
	for range pick(r, 0, 1, 3, 8) {
		h := Hold{Allocation: r.IntN(len(c.books)), End: rapidNow + 1 + pick(r, r.Int64N(1_000), r.Int64N(3_600_000))}
		for _, u := range censusUnits {
			h.Amounts[u] = quota.Amount(pick(r, 0, 0, r.Int64N(limit/20+1), r.Int64N(limit/20+1), r.Int64N(limit/5+1), limit*2/pick[int64](r, 1, 20)))
		}
		whose := h.Allocation
		if whose == len(c.books)-1 {
			h.Allocation = -1
		}
		for j, b := range c.books {
			h.Key = j == whose
			b.holds = append(b.holds, h)
		}
	}
}

// TestAPromiseAskedAgain asks blocked questions under the rule guarantee again at the
// instant they were told and a millisecond earlier, as TestAskedAgain does, and at some
// instants before.
func TestAPromiseAskedAgain(t *testing.T) {
	seen, f, begun := map[string]int{}, new(Facts), rand.Uint64()
	for n, blocked := uint64(0), 0; blocked < 10_000; n++ {
		r := rand.New(rand.NewPCG(begun, n))
		q, c := drawCensus(r)
		f.Gather(q, c, rapidNow)
		a := f.Decide(rapidNow)
		if !a.Reason.Blocks() || a.Reason != FairShare && n%3 > 0 {
			continue
		}
		blocked++
		note, end := noteOf(f, a), rapidNow+a.RetryMs
		seen[note]++
		if a.RetryMs < 0 {
			end = 1 << 50
		}
		judge := func(at int64) Verdict { f.Gather(q, c, at); return f.Judge(at) }
		if v := judge(end); v.Reason.Blocks() == (a.RetryMs >= 0) {
			t.Fatalf("seed %d, state %d: %s now, wait %d ms, then %v %s: %+v", begun, n, note, a.RetryMs, v.Reason, v.Detail, q)
		}
		for _, at := range []int64{end - 1, end - 1 - r.Int64N(min(1_000, end-rapidNow)), rapidNow + r.Int64N(end-rapidNow)} {
			if v := judge(at); !v.Reason.Blocks() {
				t.Fatalf("seed %d, state %d: %s now, wait %d ms, but %v %s after %d ms", begun, n, note, a.RetryMs, v.Reason, v.Detail, at-rapidNow)
			}
		}
	}
	for _, what := range []string{
		"suspended, never", "global-saturated", "cap-absolute", "capacity", "reserved percent of 1", "reserved percent of 3", "reserved tokens of 1", "reserved tokens of 2", "yield tokens of 2",
	} {
		if seen[what] < 50 {
			t.Errorf("only %d times %s", seen[what], what)
		}
	}
}

// noteOf tells one kind of block from another.
func noteOf(f *Facts, a Answer) string {
	note := fmt.Sprint(a.Reason)
	if a.Reason == FairShare {
		l := &f.lines[a.Line]
		note = fmt.Sprint(a.Detail, " ", l.unit, " of ", len(f.q.Pool.Dimensions))
	}
	if a.RetryMs < 0 {
		note += ", never"
	}
	return note
}
