package fairshare

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// busyPool is a pool of one connection with two dimensions, half used, by a key
// that has used more than its share.
func busyPool(now int64) (*Question, *book) {
	p := &plans.Pool{
		Name: "bench", Provider: "custom",
		Connections: []plans.Connection{{ConnectionID: "c"}},
		Allocations: []plans.Allocation{{APIKeyID: "a", Weight: 30e6, Policy: plans.Soft}, {APIKeyID: "b", Weight: 70e6}},
	}
	dims := []plans.Dimension{{Unit: quota.Tokens, Window: quota.FiveHour, Limit: 1e9}, {Unit: quota.Requests, Window: quota.Hourly, Limit: 1e6}}
	r := plans.Resolve(p, func(string) plans.Plan { return plans.Plan{Dimensions: dims} })
	b := newBook(1)
	for _, d := range dims {
		bucket, _ := windows.Bucket(now, d.Window.Millis())
		b.conns[0].key[d.Unit][d.Window] = windows.Counter{Index: bucket, Curr: d.Limit / 3, Prev: d.Limit / 5}
		b.conns[0].total[d.Unit][d.Window] = windows.Counter{Index: bucket, Curr: d.Limit / 2, Prev: d.Limit / 4}
	}
	q := ask(r, "a", 0)
	q.Estimate[quota.Requests] = 1000
	return q, b
}

const benchNow = 1_790_000_000_000

func BenchmarkGatherAndJudge(b *testing.B) {
	q, book := busyPool(benchNow)
	var f Facts
	b.ReportAllocs()
	for b.Loop() {
		f.Gather(q, book, benchNow)
		if !f.Judge(benchNow).Deprioritize {
			b.Fatal("not deprioritized")
		}
	}
}

func BenchmarkRetryAfter(b *testing.B) {
	q, book := busyPool(benchNow)
	q.Pool.Pool.Allocations[0].Policy = plans.Hard
	var f Facts
	f.Gather(q, book, benchNow)
	b.ReportAllocs()
	for b.Loop() {
		if ms, ok := f.RetryAfter(benchNow); !ok || ms == 0 {
			b.Fatal("not blocked")
		}
	}
}

// summed is a book that knows the sums of its holds, as a state does.
type summed struct {
	*book
	sums [OfAskersModel + 1]quota.Amounts
}

func (s *summed) Held(u quota.Unit, _ quota.Amount, whose Whose, _ int64) quota.Amount {
	return s.sums[whose][u]
}

// inFlight adds n holds that end within five minutes, in no order. The asker has one
// in ten, and all together have a fifth of a limit in flight.
func inFlight(b *book, n int) *summed {
	s := &summed{book: b}
	for i := range n {
		h := Hold{Key: i%10 == 0, End: benchNow + 1 + int64(i)*7_919%300_000}
		h.Amounts[quota.Tokens], h.Amounts[quota.Requests] = quota.Amount(2e8/n), quota.Amount(2e5/n)
		b.holds = append(b.holds, h)
		for u := range h.Amounts {
			s.sums[OfAll][u] += h.Amounts[u]
			if h.Key {
				s.sums[OfAsker][u] += h.Amounts[u]
			}
		}
	}
	return s
}

// BenchmarkHolds is of whole answers beside holds in flight; what the state does
// to add them up is not in it.
func BenchmarkHolds(b *testing.B) {
	for _, policy := range []plans.Policy{plans.Soft, plans.Hard} {
		for _, n := range []int{0, 100, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", map[plans.Policy]string{plans.Soft: "allow", plans.Hard: "block"}[policy], n), func(b *testing.B) {
				q, book := busyPool(benchNow)
				q.Pool.Pool.Allocations[0].Policy = policy
				s := inFlight(book, n)
				var f Facts
				b.ReportAllocs()
				for b.Loop() {
					f.Gather(q, s, benchNow)
					if a := f.Decide(benchNow); a.Allowed() != (policy == plans.Soft) {
						b.Fatal(a.Reason)
					}
				}
			})
		}
	}
}

// TestNoAllocations guards the promise of the package comment; a pool that has
// no room is asked, so the retry search is in it too.
func TestNoAllocations(t *testing.T) {
	q, book := busyPool(benchNow)
	q.Pool.Pool.Allocations[0].Policy = plans.Hard
	q.Model = "m"
	book.holds = []Hold{{Key: true, End: benchNow + 5}}
	book.conns[0].scoped[quota.Hourly] = []Level{{Used: 1, Until: benchNow + 9}}
	var f Facts
	if n := testing.AllocsPerRun(100, func() {
		f.Gather(q, book, benchNow)
		if a := f.Decide(benchNow); a.Allowed() || a.RetryMs <= 0 {
			t.Fatal("not blocked")
		}
	}); n != 0 {
		t.Errorf("%v allocations in a decision", n)
	}
}

// TestNoAllocationsUnderThePromise is of a pool of the rule guarantee that has room and
// of one that has none, beside holds.
func TestNoAllocationsUnderThePromise(t *testing.T) {
	for _, part := range []quota.Amount{20, 120} {
		q, c := crowded(plans.Guarantee, 10, 2, part, crowdDims...)
		for i := range 20 {
			h := Hold{Allocation: i % 10, End: benchNow + 1 + int64(i)}
			h.Amounts[quota.Tokens] = 1000
			c.all = append(c.all, h)
		}
		c.as = q.Allocation
		var f Facts
		if n := testing.AllocsPerRun(100, func() {
			f.Gather(q, c, benchNow)
			if a := f.Decide(benchNow); a.Allowed() == (part > 100) {
				t.Fatalf("%v", a)
			}
		}); n != 0 {
			t.Errorf("%v allocations in a decision", n)
		}
	}
}
