package guarantee

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// vector is one dimension with one question, and what is right.
type vector struct {
	Name                     string
	Kind                     string
	Limit, WindowMs, Now     int64
	ResetAt                  *int64
	Weights, Curr, Prev      []int64
	Holds                    []struct{ Key, Amount, LeaseEnd int64 }
	Outside, Reserve, Key    int64
	Estimate                 int64
	Allow                    bool
	Why                      string
	Promised, Kept, Headroom int64
	RetryAfterMs             *int64
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/guarantee.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []vector }
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Cases
}

// at is the dimension as it stands at an instant, if nothing else happens until then.
func (v *vector) at(now int64) *plain {
	d := &plain{limit: v.Limit, window: v.WindowMs, reserve: v.Reserve, anchored: v.Kind == "anchored"}
	weights := make([]quota.Ratio, len(v.Weights))
	for i, w := range v.Weights {
		weights[i] = quota.Ratio(w) * quota.RatioOne
	}
	shares := plans.Shares(quota.Amount(v.Limit), weights)
	bucket, elapsed := windows.Bucket(now, v.WindowMs)
	began, _ := windows.Bucket(v.Now, v.WindowMs)
	var prev int64
	over := d.anchored && now >= *v.ResetAt
	d.left = v.WindowMs - 1 - elapsed
	if d.anchored {
		reset := *v.ResetAt
		for now >= reset {
			reset += v.WindowMs
		}
		d.left = max(0, min(reset-now-1, v.WindowMs-1))
	}
	for i := range v.Weights {
		k := plainKey{share: int64(shares[i]), weight: v.Weights[i]}
		curr := windows.Counter{Index: began, Curr: quota.Amount(v.Curr[i]), Prev: quota.Amount(v.Prev[i])}
		switch {
		case d.anchored && !over:
			k.curr = v.Curr[i]
		case !d.anchored:
			turned := curr.Rotate(bucket)
			k.curr, prev = int64(turned.Curr), prev+int64(turned.Prev)
		}
		d.keys = append(d.keys, k)
	}
	outside := windows.Counter{Index: began, Curr: quota.Amount(v.Outside)}.Rotate(bucket)
	if !over {
		d.outside = int64(outside.Curr)
	}
	if d.anchored && !over {
		d.outside = v.Outside
	}
	all := d.outside
	var held int64
	for _, h := range v.Holds {
		if now < h.LeaseEnd {
			d.keys[h.Key].held += h.Amount
			held += h.Amount
		}
	}
	for _, k := range d.keys {
		all += k.curr
	}
	total := windows.Counter{Index: bucket, Curr: quota.Amount(all), Prev: quota.Amount(prev + int64(outside.Prev))}
	d.total = int64(total.EffectiveAt(bucket, elapsed, v.WindowMs)) + held
	return d
}

var words = map[Outcome]string{
	OK: "ok", Guaranteed: "guaranteed", Borrowed: "borrowed", Yield: "fair-share/yield", Reserved: "fair-share/reserved", Full: "global-saturated",
}

func TestPlainVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		got := v.at(v.Now).judge(int(v.Key), v.Estimate, false)
		want := plainVerdict{promised: v.Promised, kept: v.Kept, headroom: v.Headroom}
		why := words[got.outcome]
		got.outcome = 0
		if got != want || why != v.Why {
			t.Errorf("%s: %s %+v, want %s %+v", v.Name, why, got, v.Why, want)
		}
	}
}

// dimension is the plain one as the rule takes it.
func (d *plain) dimension() *Dimension {
	out := &Dimension{
		Limit: quota.Amount(d.limit), Total: quota.Amount(d.total), Spent: quota.Amount(d.outside),
		Window: d.window, Left: d.left, Reserve: d.reserve, Cycle: d.anchored,
	}
	equal := true
	for _, k := range d.keys {
		equal = equal && k.weight == 0
	}
	for _, k := range d.keys {
		one := Key{Used: quota.Amount(k.curr + k.held), Begun: k.curr > 0, Share: quota.Amount(k.share), Weight: k.weight, Suspended: k.suspended}
		if equal {
			one.Weight = 1
		}
		out.Keys = append(out.Keys, one)
		out.Spent += one.Used
	}
	if d.anchored {
		out.Total = out.Spent
	}
	return out
}

func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		ask := func(now int64) Verdict {
			return v.at(now).dimension().Judge(Asker{Key: int(v.Key), Estimate: quota.Amount(v.Estimate)})
		}
		got := ask(v.Now)
		if got.Outcome.Blocks() == v.Allow || words[got.Outcome] != v.Why || int64(got.Promised) != v.Promised || int64(got.Kept) != v.Kept || int64(got.Headroom) != v.Headroom {
			t.Errorf("%s: %s %+v, want %+v", v.Name, words[got.Outcome], got, v)
		}
		if v.RetryAfterMs == nil || v.Allow {
			continue
		}
		if at := v.Now + *v.RetryAfterMs; ask(at).Outcome.Blocks() || !ask(at-1).Outcome.Blocks() {
			t.Errorf("%s: not free just after %d ms: %s, then %s", v.Name, *v.RetryAfterMs, words[ask(at-1).Outcome], words[ask(at).Outcome])
		}
	}
}
