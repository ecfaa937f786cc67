package fairshare

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// promised is a dimension with one question under the rule guarantee, and what is right.
type promised struct {
	Name                  string
	Kind                  string
	Limit, WindowMs, Now  int64
	ResetAt               *int64
	Weights, Curr, Prev   []int64
	Holds                 []struct{ Key, Amount, LeaseEnd int64 }
	Outside, Reserve, Key int64
	Estimate              int64
	Allow                 bool
	Why                   string
	RetryAfterMs          *int64
}

func readPromised(t *testing.T) []promised {
	t.Helper()
	text, err := os.ReadFile("guarantee/testdata/guarantee.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []promised }
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Cases
}

// ledger is a state of one pool with one connection and one dimension.
type ledger struct {
	*promised
	unit   quota.Unit
	window quota.Window
	as     int // the allocation that reads
}

func (l ledger) As(j int) Counters { l.as = j; return l }

func (l ledger) counter(curr, prev int64) windows.Counter {
	bucket, _ := windows.Bucket(l.Now, l.WindowMs)
	return windows.Counter{Index: bucket, Curr: quota.Amount(curr), Prev: quota.Amount(prev)}
}

func (l ledger) Key(_ int, u quota.Unit, w quota.Window) windows.Counter {
	if l.Kind == "anchored" || u != l.unit || w != l.window || l.as < 0 {
		return windows.Counter{}
	}
	return l.counter(l.Curr[l.as], l.Prev[l.as])
}

func (l ledger) all() (curr, prev int64) {
	curr = l.Outside
	for i := range l.Curr {
		curr, prev = curr+l.Curr[i], prev+l.Prev[i]
	}
	return curr, prev
}

func (l ledger) Total(_ int, u quota.Unit, w quota.Window) windows.Counter {
	if l.Kind == "anchored" || u != l.unit || w != l.window {
		return windows.Counter{}
	}
	return l.counter(l.all())
}

func (l ledger) Model(int, quota.Unit) windows.Counter { return windows.Counter{} }

func (l ledger) Reading(_ int, w quota.Window) Reading {
	if l.Kind != "anchored" || w != l.window {
		return Reading{}
	}
	used, _ := l.all()
	r := Reading{Current: Level{Used: quota.Amount(used), Until: *l.ResetAt, ResetAt: *l.ResetAt, Observed: l.Now}, PartUntil: *l.ResetAt}
	if l.as >= 0 {
		r.Part = quota.Amount(l.Curr[l.as])
	}
	return r
}

func (l ledger) Scoped(_ int, _ quota.Window, dst []Level) []Level { return dst }

func (l ledger) Held(u quota.Unit, most quota.Amount, whose Whose, now int64) quota.Amount {
	return heldOf(l.Holds(nil), u, most, whose, now)
}

func (l ledger) Holds(dst []Hold) []Hold {
	for _, h := range l.promised.Holds {
		one := Hold{End: h.LeaseEnd, Key: int(h.Key) == l.as, Allocation: int(h.Key)}
		one.Amounts[l.unit] = quota.Amount(h.Amount)
		dst = append(dst, one)
	}
	return dst
}

// windowOf is the window of that length.
func windowOf(ms int64) (w quota.Window, ok bool) {
	for _, w := range []quota.Window{quota.Hourly, quota.FiveHour, quota.Daily, quota.Weekly, quota.Monthly} {
		if w.Millis() == ms {
			return w, true
		}
	}
	return 0, false
}

// TestGivenPromises runs what is given of the rule through a whole question.
func TestGivenPromises(t *testing.T) {
	ran, waited := 0, 0
	for _, v := range readPromised(t) {
		w, ok := windowOf(v.WindowMs)
		if used, _ := (ledger{promised: &v}).all(); !ok || v.Kind == "anchored" && used >= int64(full) {
			continue // no window of ours, or a provider that says that all is used
		}
		ran++
		l := ledger{&v, quota.Tokens, w, int(v.Key)}
		if v.Kind == "anchored" {
			l.unit = quota.Percent
		}
		pool := &plans.Pool{ID: "p", Rule: plans.Guarantee, Reserve: v.Reserve, Connections: []plans.Connection{{ConnectionID: "c", Weight: 100}}}
		for i, weight := range v.Weights {
			pool.Allocations = append(pool.Allocations, plans.Allocation{APIKeyID: fmt.Sprint(i), Weight: quota.Ratio(weight) * quota.RatioOne})
		}
		resolved := plans.Resolve(pool, func(string) plans.Plan {
			return plans.Plan{Dimensions: []plans.Dimension{{Unit: l.unit, Window: w, Limit: quota.Amount(v.Limit)}}}
		})
		q := ask(resolved, fmt.Sprint(v.Key), 0)
		q.Estimate[l.unit] = quota.Amount(v.Estimate)
		var f Facts
		f.Gather(q, l, v.Now)
		a := f.Decide(v.Now)
		want := map[string]Reason{"fair-share/reserved": FairShare, "fair-share/yield": FairShare, "global-saturated": GlobalSaturated}[v.Why]
		detail := strings.TrimPrefix(strings.TrimPrefix(v.Why, "fair-share/"), "global-saturated")
		if a.Reason != want || a.Reason.Blocks() == v.Allow || a.Detail != detail {
			t.Errorf("%s: %s %s, want %s", v.Name, a.Reason, a.Detail, v.Why)
		}
		if v.RetryAfterMs == nil || v.Allow || v.Kind == "anchored" && v.Now+*v.RetryAfterMs > *v.ResetAt {
			continue // after its reset a cycle is another one, of which nothing is known
		}
		waited++
		if a.RetryMs != *v.RetryAfterMs {
			t.Errorf("%s: free after %d ms, want %d", v.Name, a.RetryMs, *v.RetryAfterMs)
		}
	}
	if ran < 120 || waited < 10 {
		t.Errorf("only %d ran, and %d waited", ran, waited)
	}
}
