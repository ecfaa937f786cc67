package fairshare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// crowd is a pool of many keys, as a state answers of it: by connection, dimension and key.
type crowd struct {
	*book
	keys [][][]windows.Counter
	dims []plans.Dimension
	as   int
	all  []Hold
}

func (c *crowd) As(j int) Counters { c.as = j; return c }

func (c *crowd) Key(conn int, u quota.Unit, w quota.Window) windows.Counter {
	for i, d := range c.dims {
		if d.Unit == u && d.Window == w {
			return c.keys[conn][i][c.as]
		}
	}
	return windows.Counter{}
}

func (c *crowd) Held(u quota.Unit, most quota.Amount, whose Whose, now int64) (sum quota.Amount) {
	for _, h := range c.all {
		if h.End > now && (whose == OfAll || whose == OfAsker && h.Allocation == c.as) {
			sum += min(h.Amounts[u], most)
		}
	}
	return sum
}

func (c *crowd) Holds(dst []Hold) []Hold {
	for _, h := range c.all {
		h.Key = h.Allocation == c.as
		dst = append(dst, h)
	}
	return dst
}

// crowded is a pool by that rule of n keys on so many connections, which used that part of
// its limits, in percent: every third key nothing, the others by chance.
func crowded(rule plans.Rule, n, conns int, part quota.Amount, dims ...plans.Dimension) (*Question, *crowd) {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	p := &plans.Pool{Name: "bench", Provider: "custom", Rule: rule, Reserve: 100}
	for i := range conns {
		p.Connections = append(p.Connections, plans.Connection{ConnectionID: fmt.Sprint(i)})
	}
	for i := range n {
		p.Allocations = append(p.Allocations, plans.Allocation{APIKeyID: fmt.Sprint(i), Weight: quota.Ratio(1+r.Int64N(100)) * quota.RatioOne / quota.Ratio(n)})
	}
	c := &crowd{book: newBook(conns), dims: dims}
	for conn := range conns {
		c.keys = append(c.keys, nil)
		for _, d := range dims {
			bucket, _ := windows.Bucket(benchNow, d.Window.Millis())
			total := windows.Counter{Index: bucket}
			keys := make([]windows.Counter, n)
			for j := range keys {
				keys[j].Index = bucket
				if j%3 > 0 {
					keys[j].Curr = d.Limit * part / 100 / quota.Amount(n) * quota.Amount(r.Int64N(100)) / 66
					keys[j].Prev = keys[j].Curr
				}
				total.Curr, total.Prev = total.Curr+keys[j].Curr, total.Prev+keys[j].Prev
			}
			c.keys[conn], c.book.conns[conn].total[d.Unit][d.Window] = append(c.keys[conn], keys), total
		}
	}
	q := ask(plans.Resolve(p, func(string) plans.Plan { return plans.Plan{Dimensions: dims} }), "1", 0)
	for _, d := range dims {
		q.Estimate[d.Unit] = d.Limit / 50_000
	}
	c.as = q.Allocation
	return q, c
}

var crowdDims = []plans.Dimension{
	{Unit: quota.Tokens, Window: quota.FiveHour, Limit: 1e9}, {Unit: quota.Requests, Window: quota.Hourly, Limit: 1e6}, {Unit: quota.Tokens, Window: quota.Weekly, Limit: 1e10},
}

// BenchmarkRules is a whole answer by either rule.
func BenchmarkRules(b *testing.B) {
	for _, part := range []quota.Amount{20, 60, 120} {
		for _, conns := range []int{1, 4} {
			for _, n := range []int{10, 100} {
				for _, rule := range []plans.Rule{plans.Threshold, plans.Guarantee} {
					for dims := 1; dims <= 3; dims++ {
						b.Run(fmt.Sprintf("used=%d/conns=%d/keys=%d/dims=%d/%v", part, conns, n, dims, rule), func(b *testing.B) {
							q, c := crowded(rule, n, conns, part, crowdDims[:dims]...)
							c.as = q.Allocation
							var f Facts
							b.ReportAllocs()
							var a Answer
							for b.Loop() {
								c.as = q.Allocation
								f.Gather(q, c, benchNow)
								a = f.Decide(benchNow)
							}
							b.ReportMetric(float64(a.RetryMs), "waitMs")
							_ = a
						})
					}
				}
			}
		}
	}
}

// BenchmarkSearch is the search for the end of a block by the rule guarantee, of who asks
// for all that there is: windows must end together for that.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{10, 100} {
		for _, windows := range [][]quota.Window{{quota.FiveHour}, {quota.Hourly, quota.FiveHour, quota.Weekly}, {quota.Hourly, quota.FiveHour, quota.Daily, quota.Weekly, quota.Monthly}} {
			for _, held := range []int{0, 1000} {
				b.Run(fmt.Sprintf("keys=%d/windows=%d/held=%d", n, len(windows), held), func(b *testing.B) {
					var dims []plans.Dimension
					for _, w := range windows {
						dims = append(dims, plans.Dimension{Unit: quota.Tokens, Window: w, Limit: 1e9})
					}
					q, c := crowded(plans.Guarantee, n, 4, 90, dims...)
					q.Connection = AnyConnection
					q.Estimate[quota.Tokens] = 4e9
					for i := range held {
						h := Hold{Allocation: i % n, End: benchNow + 1 + int64(i)*3_600}
						h.Amounts[quota.Tokens] = 1000
						c.all = append(c.all, h)
					}
					var f Facts
					f.Gather(q, c, benchNow)
					b.ReportAllocs()
					var ms int64
					for b.Loop() {
						ms, _ = f.RetryAfter(benchNow)
					}
					b.ReportMetric(float64(ms), "waitMs")
				})
			}
		}
	}
}
