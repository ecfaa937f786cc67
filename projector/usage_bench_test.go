package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/projector"
)

// largePool makes a pool whose keys all have an allocation, used every
// connection, and are above their share of it; of these windows there are readings.
func largePool(b *testing.B, keys, connections int, windows ...string) *scene {
	s := newScene(b)
	var ids, allocations, events []byte
	for c := range connections {
		for _, w := range windows {
			s.says(fmt.Sprintf("c%d", c), w, 0)
		}
		ids = fmt.Appendf(ids, `,"c%d"`, c)
	}
	for k := range keys {
		allocations = fmt.Appendf(allocations, `,{"apiKeyId":"k%d","weight":%d}`, k, k%3)
		for c := range connections {
			events = fmt.Appendf(events, `,{"apiKeyId":"k%d","connectionId":"c%d","cost":{"requests":1,"tokens":1000}}`, k, c)
		}
		if len(events) > 50_000 || k == keys-1 {
			s.publish("quota.consumption", "["+string(events[1:])+"]")
			events = events[:0]
		}
	}
	s.publish("quota.config.plan.c0", fmt.Sprintf(`{"connectionId":"c0","dimensions":[{"unit":"tokens","window":"5h","limit":%d},{"unit":"requests","window":"hourly","limit":%[1]d}]}`, keys*1500))
	s.pool(string(ids[1:]), `,"allocations":[`+string(allocations[1:])+"]")
	return s
}

func BenchmarkUsage(b *testing.B) {
	for _, c := range []struct {
		keys, connections int
		windows           []string
	}{
		{10_000, 1, nil}, {100, 27, nil}, {10_000, 1, []string{"5h", "weekly"}}, {100, 27, []string{"5h", "weekly"}},
	} {
		s := largePool(b, c.keys, c.connections, c.windows...)
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
				if _, _, err := l.Usage("p", start); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
