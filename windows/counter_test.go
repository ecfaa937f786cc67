package windows

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/windows.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name, Unit, Window string
			Now                int64
			Events             []struct {
				Time   int64
				Amount string
			}
			Effective string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		u, _ := quota.ParseUnit(c.Unit)
		w, _ := quota.ParseWindow(c.Window)
		var counter Counter
		for _, e := range c.Events {
			a, err := quota.ParseAmount(e.Amount, u)
			if err != nil {
				t.Fatal(err)
			}
			bucket, _ := Bucket(e.Time, w.Millis())
			counter.Add(bucket, a)
		}
		if got := counter.Effective(c.Now, w.Millis()).Format(u); got != c.Effective {
			t.Errorf("%s: %s, want %s", c.Name, got, c.Effective)
		}
	}
}

const width = 1_000

// event is one amount at one instant; the twin keeps them all.
type event struct {
	time   int64
	amount quota.Amount
}

var drawEvents = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
	return event{
		time: 10*width + rapid.OneOf(rapid.Int64Range(0, 6*width), rapid.SampledFrom([]int64{0, width - 1, width, width + 1, 2*width - 1, 2 * width})).Draw(t, "time"),
		// mostly use, now and then a correction
		amount: quota.Amount(rapid.OneOf(rapid.Int64Range(0, 50), rapid.Int64Range(-80, 50), rapid.Just(int64(1e15))).Draw(t, "amount")),
	}
}), 0, 12)

// twinEffective is the formula over the list of events, in fractions.
func twinEffective(events []event, now int64) *big.Int {
	curr, prev := new(big.Int), new(big.Int)
	for _, e := range events {
		switch now/width - e.time/width {
		case 0:
			curr.Add(curr, big.NewInt(int64(e.amount)))
		case 1:
			prev.Add(prev, big.NewInt(int64(e.amount)))
		}
	}
	if prev.Sign() > 0 {
		part := new(big.Rat).Mul(new(big.Rat).SetInt(prev), big.NewRat(width-now%width, width))
		curr.Add(curr, new(big.Int).Quo(part.Num(), part.Denom()))
	}
	if curr.Sign() < 0 {
		return new(big.Int)
	}
	return curr
}

func addAll(events []event) (c Counter, late int) {
	for _, e := range events {
		bucket, _ := Bucket(e.time, width)
		if c.Add(bucket, e.amount) == Late {
			late++
		}
	}
	return c, late
}

func newest(events []event) (t int64) {
	for _, e := range events {
		t = max(t, e.time)
	}
	return t
}

// TestAgainstListOfEvents: at any instant not before the newest event, the two
// buckets say what the whole list says, and the order of arrival is forgotten.
func TestAgainstListOfEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents.Draw(t, "events")
		c, _ := addAll(events)
		other, _ := addAll(rapid.Permutation(events).Draw(t, "other order"))
		if c != other {
			t.Fatalf("%+v in one order, %+v in another", c, other)
		}
		now := max(newest(events), width) + rapid.OneOf(rapid.Int64Range(0, 3*width), rapid.SampledFrom([]int64{0, 1, width})).Draw(t, "later")
		if got, want := c.Effective(now, width), twinEffective(events, now); want.Cmp(big.NewInt(int64(got))) != 0 {
			t.Fatalf("%d at %d, want %v", got, now, want)
		}
	})
}

// TestOnlyFalls is what the search for the retry instant stands on.
func TestOnlyFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, _ := addAll(drawEvents.Draw(t, "events"))
		now := rapid.Int64Range(9*width, 18*width).Draw(t, "now")
		later := now + rapid.OneOf(rapid.Just(int64(1)), rapid.Int64Range(0, 2*width)).Draw(t, "later")
		if before, after := c.Effective(now, width), c.Effective(later, width); before < after {
			t.Fatalf("%d at %d rises to %d at %d", before, now, after, later)
		}
		if end := c.End(width); c.Effective(end, width) != 0 {
			t.Fatalf("%d at its end", c.Effective(end, width))
		}
	})
}

func TestLate(t *testing.T) {
	c := Counter{Index: 10, Curr: 5, Prev: 3}
	for _, s := range []struct {
		index int64
		o     Outcome
		want  Counter
	}{
		{10, Added, Counter{10, 6, 3}},
		{9, Added, Counter{10, 5, 4}},
		{8, Late, c},
		{-3, Late, c},
		{11, Added, Counter{11, 1, 5}},
		{12, Added, Counter{12, 1, 0}},
	} {
		got := c
		if check := got.Check(s.index, 1); check != s.o {
			t.Errorf("bucket %d: checked as %v", s.index, check)
		}
		if o := got.Add(s.index, 1); o != s.o || got != s.want {
			t.Errorf("bucket %d: %v, %+v; want %v, %+v", s.index, o, got, s.o, s.want)
		}
	}
}

func TestOverflow(t *testing.T) {
	for _, s := range []struct {
		c      Counter
		index  int64
		amount quota.Amount
		want   Outcome
	}{
		{Counter{5, Limit - 2, 0}, 5, 1, Added},
		{Counter{5, Limit - 2, 0}, 5, 2, Overflow},
		{Counter{5, 0, Limit - 1}, 4, 1, Overflow},
		{Counter{5, Limit - 1, Limit - 1}, 6, 1, Added},
		{Counter{5, -Limit + 2, 0}, 5, -1, Added},
		{Counter{5, -Limit + 2, 0}, 5, -2, Overflow},
		{Counter{5, Limit - 1, 0}, 5, -1, Added},
	} {
		got := s.c
		if o := got.Add(s.index, s.amount); o != s.want || (o == Overflow && got != s.c) {
			t.Errorf("%+v with %d: %v, %+v; want %v", s.c, s.amount, o, got, s.want)
		}
	}
	full := Counter{5, Limit - 1, Limit - 1}
	if got := full.Effective(5*width, width); got != 2*(Limit-1) {
		t.Errorf("two full buckets read %d", got)
	}
}

func TestBucketFloors(t *testing.T) {
	for _, c := range [][3]int64{{0, 0, 0}, {999, 0, 999}, {1000, 1, 0}, {-1, -1, 999}, {-1000, -1, 0}, {-1001, -2, 999}} {
		if index, elapsed := Bucket(c[0], width); index != c[1] || elapsed != c[2] {
			t.Errorf("Bucket(%d) = %d, %d", c[0], index, elapsed)
		}
	}
}

// TestEarlierThanTheCounter: read before its bucket began, a counter reads as at
// that begin.
func TestEarlierThanTheCounter(t *testing.T) {
	c := Counter{Index: 10, Curr: 7, Prev: 5}
	for _, now := range []int64{0, 9*width + 999, 10 * width} {
		if got := c.Effective(now, width); got != 12 {
			t.Errorf("at %d: %d", now, got)
		}
	}
	if got := c.Effective(10*width+1, width); got != 11 {
		t.Errorf("a moment later: %d", got)
	}
}

// TestOthers compares with counting the unlisted keys by themselves, as long as
// no correction makes a bucket negative.
func TestOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var total, rest Counter
		listed := make([]Counter, rapid.IntRange(0, 3).Draw(t, "listed"))
		for _, e := range drawEvents.Draw(t, "events") {
			bucket, _ := Bucket(e.time, width)
			amount := max(e.amount, 0)
			total.Add(bucket, amount)
			if k := rapid.IntRange(0, 4).Draw(t, "key"); k < len(listed) {
				listed[k].Add(bucket, amount)
			} else {
				rest.Add(bucket, amount)
			}
		}
		now := max(total.Index*width, rapid.Int64Range(10*width, 19*width).Draw(t, "now"))
		if got, want := Others(total, listed...).Effective(now, width), rest.Effective(now, width); got != want {
			t.Fatalf("%d, counted by themselves %d", got, want)
		}
	})
}

func TestOthersHeldInRange(t *testing.T) {
	total := Counter{Index: 9, Curr: 10, Prev: 10}
	if got, want := Others(total, Counter{9, 11, 3}), (Counter{9, 0, 7}); got != want {
		t.Errorf("%+v, want %+v: each bucket is held at 0 by itself", got, want)
	}
	if got, want := Others(total, Counter{9, -4, 0}, Counter{9, 5, 0}), (Counter{9, 9, 10}); got != want {
		t.Errorf("%+v, want %+v: a correction of one key counts against another's use", got, want)
	}
	if got, want := Others(total, Counter{10, 1, 4}), (Counter{10, 0, 6}); got != want {
		t.Errorf("%+v, want %+v: all are seen from the newest bucket", got, want)
	}
	if got, want := Others(total, Counter{9, 0, 11}), (Counter{9, 10, 0}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	huge := Others(Counter{9, math.MaxInt64, math.MaxInt64}, Counter{9, math.MinInt64 + 1, -5})
	if huge.Curr != Limit || huge.Prev != Limit {
		t.Errorf("%+v is out of range", huge)
	}
}
