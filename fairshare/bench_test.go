package fairshare

import (
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
