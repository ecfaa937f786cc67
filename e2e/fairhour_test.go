package e2e

import (
	"fmt"
	"testing"
	"time"
)

// hour is the start of an hour of kimi, whose catalogue gives a connection 1,500
// requests an hour.
type hour struct {
	operator
	t0 int64
}

// thatHour is the last one that is past, of those that stand alike in every window: the
// chart forgets after a year and more.
func thatHour() int64 {
	t0 := int64(1_789_999_200_000)
	ago := time.Now().UnixMilli() - t0 - 3_600_000
	return t0 + (ago - mod(ago, commonCycle))
}

// mod is what is left of n below 0 too.
func mod(n, by int64) int64 { return (n%by + by) % by }

func (h hour) requests(key string, n int, from int64) {
	h.t.Helper()
	list := make([]object, n)
	for i := range list {
		list[i] = used(key, "kimi-1", "requests", "1", from+int64(i)*1000)
	}
	h.consume(list...)
}

// verdict is what is said about a key half an hour into it.
func (h hour) verdict(key string) string {
	h.t.Helper()
	a := h.ask(key, "kimi-1", h.t0+30*60_000)
	d := a.Dimensions[0]
	text := fmt.Sprintf("%s: %s %s, %s of %s, all %s of %s", key, a.Decision, a.Reason, d.Consumed, d.FairShare, d.ConsumedTotal, d.Limit)
	if a.RetryAfterMs != nil {
		text += fmt.Sprintf(", again in %d", *a.RetryAfterMs)
	}
	if share := h.dimension("kimi").key(h.t, key).FairShare; share != d.FairShare {
		h.t.Errorf("%s: the usage shows the share %s, the decision %s", key, share, d.FairShare)
	}
	return text
}

func (h hour) mustBe(when string, want ...string) {
	h.t.Helper()
	for i, key := range []string{"a", "b", "c"} {
		if got := h.verdict(key); got != want[i] {
			h.t.Errorf("%s\n got %s\nwant %s", when, got, want[i])
		}
	}
}

// A blocked key waits for the end of the hour, half an hour away, and then until
// its requests have faded to its share. They fade by a part of the hour each
// millisecond, and count in thousandths: 751 of them read 750.001 at most
// 3,600,000 × 0.999 / 751 ms after the hour, and 750 one later.
func TestAnHourIsSharedByWeight(t *testing.T) {
	h := hour{newOperator(t), thatHour()}
	h.send("POST", apiPath("pools"), object{
		"id": "kimi", "name": "Kimi", "provider": "kimi", "connectionIds": []string{"kimi-1"},
		"allocations": shares(t, "a 50 hard", "b 30 hard", "c 20 hard"),
	})
	h.requests("a", 750, h.t0+60_000)
	h.requests("b", 300, h.t0+60_000)
	h.mustBe("750 is not over 750",
		"a: allow ok, 750 of 750, all 1050 of 1500",
		"b: allow ok, 300 of 450, all 1050 of 1500",
		"c: allow ok, 0 of 300, all 1050 of 1500")
	h.requests("a", 1, h.t0+15*60_000)
	h.mustBe("one more",
		"a: block fair-share, 751 of 750, all 1051 of 1500, again in 1804789",
		"b: allow ok, 300 of 450, all 1051 of 1500",
		"c: allow ok, 0 of 300, all 1051 of 1500")
	h.reallocate("kimi", "a 60", "b 19", "c 20")
	h.mustBe("weights that sum to 99 leave 1 of 100 to nobody",
		"a: allow ok, 751 of 900, all 1051 of 1500",
		"b: block fair-share, 300 of 285, all 1051 of 1500, again in 1979989",
		"c: allow ok, 0 of 300, all 1051 of 1500")
	h.reallocate("kimi", "a 80", "b 80", "c 40")
	h.mustBe("weights that sum to 200 are parts of 200",
		"a: block fair-share, 751 of 600, all 1051 of 1500, again in 2523831",
		"b: allow ok, 300 of 600, all 1051 of 1500",
		"c: allow ok, 0 of 300, all 1051 of 1500")
}

// The chart of that hour has a row for each minute, and every request in it once.
func TestTheHistoryOfAnHourHasEveryRequestInItsMinute(t *testing.T) {
	h := hour{newOperator(t), thatHour()}
	h.poolOf("kimi", []string{"kimi-1"}, "a 50", "b 30")
	h.requests("a", 750, h.t0+60_000)
	h.requests("b", 300, h.t0+60_000)
	h.requests("x", 2, h.t0+58*60_000)
	var doc struct {
		History struct {
			StepMs int64
			Rows   []struct {
				Time            time.Time
				Total, Unlisted struct{ Requests float64 }
				PerKey          []struct {
					APIKeyID string
					Requests float64
				}
			}
		}
	}
	decode(t, h.mustCall("GET", apiPath("pools", "kimi", "history")+fmt.Sprintf("?from=%d&to=%d&step=60000", h.t0, h.t0+3_600_000), ""), &doc)
	if len(doc.History.Rows) != 60 {
		t.Fatalf("%d rows, want 60", len(doc.History.Rows))
	}
	for i, row := range doc.History.Rows {
		of := map[string]float64{}
		for _, k := range row.PerKey {
			of[k.APIKeyID] = k.Requests
		}
		a, b, x := minuteOf(750, i), minuteOf(300, i), 0.0
		if i == 58 {
			x = 2
		}
		if row.Time.UnixMilli() != h.t0+int64(i)*60_000 || of["a"] != a || of["b"] != b || row.Unlisted.Requests != x || row.Total.Requests != a+b+x {
			t.Errorf("minute %d is %+v, want %v of a, %v of b, %v of others", i, row, a, b, x)
		}
	}
}

// minuteOf is how many of n requests, one a second from the first minute on, are
// in that minute.
func minuteOf(n, minute int) float64 {
	return float64(max(0, min(60, n-60*(minute-1))) * min(minute, 1))
}
