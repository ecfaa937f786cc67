package projector_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quotashare/quotashare/projector"
	view "github.com/quotashare/quotashare/usage"
)

// largePool makes a pool whose keys all have an allocation, used so many of its
// connections, and are above their share; of these windows there are readings. All
// is in the store.
func largePool(b *testing.B, keys, connections, used int, windows ...string) *scene {
	return largePoolOf(b, `"rule":"threshold"`, keys*1500, 3, keys, connections, used, windows...)
}

// largePoolOf is one of that rule, of these limits and so many different weights.
func largePoolOf(b *testing.B, rule string, limit, weights, keys, connections, used int, windows ...string) *scene {
	store := openPebble(b, vfs.NewMem())
	b.Cleanup(func() { must(b, store.Close()) })
	s := &scene{TB: b, State: projector.NewState(store), store: store, now: start}
	var ids, allocations, events []byte
	for c := range connections {
		for _, w := range windows {
			s.says(fmt.Sprintf("c%d", c), w, 0)
		}
		ids = fmt.Appendf(ids, `,"c%d"`, c)
	}
	for k := range keys {
		allocations = fmt.Appendf(allocations, `,{"apiKeyId":"k%d","weight":%g}`, k, float64(k%weights)/max(1, float64(weights)/100))
		for c := range used {
			events = fmt.Appendf(events, `,{"apiKeyId":"k%d","connectionId":"c%d","cost":{"requests":1,"tokens":1000}}`, k, c)
		}
		if len(events) > 50_000 || k == keys-1 {
			s.publish("quota.consumption", "["+string(events[1:])+"]")
			events = events[:0]
		}
	}
	s.publish("quota.config.plan.c0", fmt.Sprintf(`{"connectionId":"c0","dimensions":[{"unit":"tokens","window":"5h","limit":%d},{"unit":"requests","window":"hourly","limit":%[1]d}]}`, limit))
	s.pool(string(ids[1:]), `,`+rule+`,"allocations":[`+string(allocations[1:])+"]")
	cut(b, s.State, s.store)
	return s
}

func BenchmarkUsage(b *testing.B) {
	for _, c := range []struct {
		keys, connections, used int
		windows                 []string
	}{
		{10_000, 1, 1, nil},
		{100, 27, 27, nil},
		{10_000, 1, 1, []string{"5h", "weekly"}},
		{100, 27, 27, []string{"5h", "weekly"}},
		{10_000, 201, 21, nil},
	} {
		s := largePool(b, c.keys, c.connections, c.used, c.windows...)
		name := fmt.Sprintf("keys=%d/connections=%d/meters=%d", c.keys, c.connections, len(c.windows))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.usage()
			}
		})
		b.Run(name+"/locked", func(b *testing.B) {
			for b.Loop() {
				s.TakeUsage("p")
			}
		})
		b.Run(name+"/burn", func(b *testing.B) {
			l := projector.NewLoop(s.State, s.store, nil)
			for b.Loop() {
				if _, _, err := l.Usage(b.Context(), "p", start); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/history", func(b *testing.B) {
			l := projector.NewLoop(s.State, s.store, nil)
			q := view.Query{PoolID: "p", From: start/3_600_000*3_600_000 - 3_600_000, To: start/3_600_000*3_600_000 + 3_600_000, StepMs: 3_600_000}
			for b.Loop() {
				if _, _, err := l.UsageHistory(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkUsageGuarantee is the same of the rule guarantee: of pools in which one third of
// the keys is blocked, two thirds are, and nearly all, each of a weight of its own.
func BenchmarkUsageGuarantee(b *testing.B) {
	for _, c := range []struct{ keys, each, weights int }{ // each: of the limits, for each key
		{1000, 1500, 3}, {1000, 1001, 3}, {1000, 1001, 1000}, {10_000, 1500, 3}, {10_000, 1001, 3},
	} {
		s := largePoolOf(b, `"rule":"guarantee"`, c.keys*c.each, c.weights, c.keys, 1, 1)
		b.Run(fmt.Sprintf("keys=%d/limit=%d/weights=%d", c.keys, c.keys*c.each, c.weights), func(b *testing.B) {
			blocked := 0
			for b.Loop() {
				blocked = 0
				for _, k := range s.usage().Keys {
					if !k.Allow {
						blocked++
					}
				}
			}
			b.ReportMetric(float64(blocked), "blocked")
		})
	}
}
