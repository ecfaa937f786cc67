package fairshare

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// Everything is drawn small and round, so that "exactly at the limit" and "one
// step beyond" come up all the time.
const rapidNow = 497_222 * 3_600_000 // the start of an hour and of no other window

var (
	smallAmount = rapid.Int64Range(0, 12)
	anyUnit     = rapid.SampledFrom([]quota.Unit{quota.Requests, quota.Percent})
	anyWindow   = rapid.SampledFrom([]quota.Window{quota.Hourly, quota.FiveHour})
	anyWeight   = rapid.SampledFrom([]quota.Ratio{0, 10e6, 25e6, 50e6, 100e6})
	nearNow     = rapid.SampledFrom([]int64{-1, 0, 1, 7, 1_000, 3_599_999, 3_600_000, 9_000_001, 40_000_000})
	percentage  = rapid.SampledFrom([]int64{0, 1, 3, 40e6, 50e6, 50e6 + 1, 80e6, 100e6 - 1, 100e6, 130e6})
)

func drawAmount(t *rapid.T, label string) quota.Amount {
	return quota.Amount(smallAmount.Draw(t, label))
}

func drawDimensions(t *rapid.T) (dims []plans.Dimension) {
	for _, u := range []quota.Unit{quota.Requests, quota.Percent} {
		for _, w := range []quota.Window{quota.FiveHour, quota.Hourly} {
			if rapid.Bool().Draw(t, "has dimension") {
				limit := drawAmount(t, "limit") * quota.Amount(rapid.SampledFrom([]int{1, 5, 20}).Draw(t, "roomy"))
				dims = append(dims, plans.Dimension{Unit: u, Window: w, Limit: limit})
			}
		}
	}
	return rapid.Permutation(dims).Draw(t, "dimensions")
}

func drawAllocation(t *rapid.T, key string) plans.Allocation {
	a := plans.Allocation{
		APIKeyID: key, Weight: anyWeight.Draw(t, "weight"),
		Policy:    plans.Policy(rapid.IntRange(0, 3).Draw(t, "policy")), // 3 is none we know
		Suspended: rapid.IntRange(0, 19).Draw(t, "suspended") == 7,
	}
	if rapid.IntRange(0, 3).Draw(t, "cap value") == 3 {
		a.CapUnit, a.CapValue = anyUnit.Draw(t, "cap unit"), 1+drawAmount(t, "cap")
	}
	if rapid.IntRange(0, 3).Draw(t, "caps") == 3 {
		a.Caps = []plans.Cap{{Unit: anyUnit.Draw(t, "unit"), Window: anyWindow.Draw(t, "window"), Value: 1 + drawAmount(t, "cap")}}
	}
	return a
}

func drawPool(t *rapid.T) *plans.Resolved {
	p := &plans.Pool{
		Name: "p", Provider: "x", Mode: rapid.SampledFrom([]plans.Mode{0, 0, 0, 0, plans.Observe, plans.Off}).Draw(t, "mode"),
		Connections: make([]plans.Connection, rapid.IntRange(1, 3).Draw(t, "connections")),
	}
	for _, key := range []string{"a", "b", quota.AllOthers} {
		if rapid.IntRange(0, 3).Draw(t, "allocated") > 0 {
			p.Allocations = append(p.Allocations, drawAllocation(t, key))
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "model caps") == 0 {
		p.ModelCaps = []plans.ModelCap{{APIKeyID: "a", Model: "m", CapUnit: anyUnit.Draw(t, "unit"), CapValue: 1 + drawAmount(t, "cap")}}
	}
	return plans.Resolve(p, func(string) plans.Plan { return plans.Plan{Dimensions: drawDimensions(t)} })
}

func drawCounter(t *rapid.T, w quota.Window) windows.Counter {
	bucket, _ := windows.Bucket(rapidNow, w.Millis())
	return windows.Counter{
		Index: bucket + int64(rapid.SampledFrom([]int{0, 0, 0, -1, -2, 1}).Draw(t, "bucket")),
		Curr:  quota.Amount(rapid.Int64Range(-2, 8).Draw(t, "curr")),
		Prev:  quota.Amount(rapid.Int64Range(-2, 8).Draw(t, "prev")),
	}
}

// drawLevel draws a provider's value; in percent it is also an amount beside
// the small limits.
func drawLevel(t *rapid.T) Level {
	return Level{
		Used: quota.Amount(percentage.Draw(t, "used")), Until: rapidNow + nearNow.Draw(t, "until"),
		ResetAt: rapid.Int64Range(0, 9).Draw(t, "reset"), Observed: rapid.Int64Range(1, 9).Draw(t, "observed"),
	}
}

func drawReading(t *rapid.T) (r Reading) {
	if rapid.IntRange(0, 2).Draw(t, "reading") > 0 {
		return r
	}
	r.Current = drawLevel(t)
	if rapid.Bool().Draw(t, "other") {
		r.Other = drawLevel(t)
	}
	if rapid.Bool().Draw(t, "parts") {
		r.Part, r.PartUntil = drawAmount(t, "part"), rapidNow+nearNow.Draw(t, "part until")
		r.Attributed = r.Part + drawAmount(t, "of others")
	}
	return r
}

func drawBook(t *rapid.T, conns int) *book {
	b := newBook(conns)
	for i := range b.conns {
		c := &b.conns[i]
		for _, u := range []quota.Unit{quota.Requests, quota.Percent} {
			for _, w := range []quota.Window{quota.Hourly, quota.FiveHour} {
				c.key[u][w], c.total[u][w] = drawCounter(t, w), drawCounter(t, w)
			}
			c.model[u] = drawCounter(t, quota.Hourly)
		}
		for _, w := range []quota.Window{quota.Hourly, quota.FiveHour} {
			c.readings[w] = drawReading(t)
			for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "scoped") {
				c.scoped[w] = append(c.scoped[w], drawLevel(t))
			}
		}
	}
	for range rapid.IntRange(0, 8).Draw(t, "holds") {
		h := Hold{Key: rapid.Bool().Draw(t, "own"), End: rapidNow + nearNow.Draw(t, "end")}
		h.Model = h.Key && rapid.Bool().Draw(t, "same model")
		h.Amounts[quota.Requests], h.Amounts[quota.Percent] = drawAmount(t, "held"), drawAmount(t, "held")
		b.holds = append(b.holds, h)
	}
	return b
}

func drawQuestion(t *rapid.T) (*Question, *book) {
	p := drawPool(t)
	q := ask(p, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), 0)
	q.Connection = rapid.IntRange(0, len(p.Pool.Connections)-1).Draw(t, "connection")
	q.Model = rapid.SampledFrom([]string{"", "m", "n"}).Draw(t, "model")
	q.Explain = rapid.Bool().Draw(t, "explain")
	q.Threshold = rapid.SampledFrom([]quota.Ratio{0, 5e5, 8e5, 1e6}).Draw(t, "threshold")
	q.Estimate[quota.Requests], q.Estimate[quota.Percent] = drawAmount(t, "estimate"), drawAmount(t, "estimate")
	if rapid.IntRange(0, 3).Draw(t, "crowded") == 0 {
		q.RoomAt = rapidNow + nearNow.Draw(t, "room at")
	}
	if rapid.IntRange(0, 2).Draw(t, "places") == 0 {
		for range p.Pool.Connections {
			q.PlaceAt = append(q.PlaceAt, rapidNow+nearNow.Draw(t, "place at"))
		}
	}
	return q, drawBook(t, len(p.Pool.Connections))
}

// drawLater draws an instant that the facts are good for. Where they know the holds
// only as they are now, the book is made to have those for ever.
func drawLater(t *rapid.T, f *Facts, b *book) int64 {
	if !f.listed {
		b.holds = slices.DeleteFunc(b.holds, func(h Hold) bool { return h.End <= rapidNow })
		for i := range b.holds {
			b.holds[i].End = math.MaxInt64
		}
	}
	return rapidNow + max(0, nearNow.Draw(t, "later"))
}

func TestJudgeAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, b := drawQuestion(t)
		f := gather(q, b, rapidNow)
		now := drawLater(t, f, b)
		tw := &twin{q, b, q.Connection, now}
		if diff := cmp.Diff(tw.judge(), judged(f, f.Judge(now))); diff != "" {
			t.Fatalf("-twin +judge\n%s", diff)
		}
		var want []questions.Dimension
		for i := range q.Pool.Dimensions {
			want = append(want, tw.explain(&q.Pool.Dimensions[i]))
		}
		if diff := cmp.Diff(want, f.Explain(q.Connection, now, nil)); diff != "" {
			t.Fatalf("-twin +explain\n%s", diff)
		}
	})
}

// TestRetryAgainstTwin checks the retry instant from both sides: it allows, and
// no instant before it does, least of all the ones where something changes.
func TestRetryAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, b := drawQuestion(t)
		f := gather(q, b, rapidNow)
		blocks := func(now int64) bool { return (&twin{q, b, q.Connection, now}).judge().Block }
		ms, ok := f.RetryAfter(rapidNow)
		if !ok {
			if v := f.Judge(rapidNow); v.Reason != Suspended {
				t.Fatalf("never, though only %v", v.Reason)
			}
			return
		}
		if blocks(rapidNow + ms) {
			t.Fatalf("still blocked after %d ms", ms)
		}
		for _, wait := range retryProbes(t, f, ms) {
			if !blocks(rapidNow + wait) {
				t.Fatalf("allowed after %d ms already, not only after %d", wait, ms)
			}
		}
	})
}

// retryProbes are waits below ms: the last, all around every change, some more.
func retryProbes(t *rapid.T, f *Facts, ms int64) (probes []int64) {
	f.findStretches(rapidNow)
	at := []int64{rapidNow, rapidNow + ms}
	at = append(at, f.stretches...)
	for _, h := range f.holds {
		at = append(at, h.End)
	}
	for bucket := range int64(12) {
		at = append(at, rapidNow+bucket*3_600_000)
	}
	for range 20 {
		at = append(at, rapidNow+rapid.Int64Range(0, max(ms, 1)).Draw(t, "probe"))
	}
	for _, a := range at {
		for _, wait := range []int64{a - rapidNow - 1, a - rapidNow, a - rapidNow + 1} {
			if wait >= 0 && wait < ms {
				probes = append(probes, wait)
			}
		}
	}
	return probes
}

// TestDecideAgainstTwin checks the answers by pool and by connection against
// the twin's judgement of each connection on its own.
func TestDecideAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, b := drawQuestion(t)
		if rapid.Bool().Draw(t, "by pool") {
			q.Connection = AnyConnection
		}
		want := decideSlowly(q, b)
		f := gather(q, b, rapidNow)
		a := f.Decide(rapidNow)
		got := slowAnswer{a.Connection, a.RetryMs, append([]int(nil), a.Alternatives...), judged(f, a.Verdict)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-slow +decide\n%s", diff)
		}
	})
}

type slowAnswer struct {
	Connection   int
	RetryMs      int64
	Alternatives []int
	Judgement    judgement
}

func decideSlowly(q *Question, b *book) (want slowAnswer) {
	waits := make([]int64, len(b.conns))
	want.Connection = q.Connection
	for i := range b.conns {
		one := *q
		one.Connection = i
		var ok bool
		if waits[i], ok = gather(&one, b, rapidNow).RetryAfter(rapidNow); !ok {
			waits[i] = -1
		}
		if waits[i] == 0 && i != q.Connection {
			want.Alternatives = append(want.Alternatives, i)
		}
	}
	if q.Connection == AnyConnection {
		want.Connection = 0
		for i, w := range waits {
			if w < waits[want.Connection] {
				want.Connection = i
			}
		}
	}
	want.RetryMs = waits[want.Connection]
	want.Judgement = (&twin{q, b, want.Connection, rapidNow}).judge()
	return want
}
