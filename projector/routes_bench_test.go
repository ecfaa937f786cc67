package projector_test

import (
	"fmt"
	"testing"
)

// BenchmarkFoldRoutes is a hold that leaves the connection open and the release that
// ends it, in pools of so many connections; and the same beside so many that wait in
// turn, where each release lets one of them pass, and the hold waits in its place.
func BenchmarkFoldRoutes(b *testing.B) {
	for _, c := range []struct{ connections, keys, waiting int }{{2, 10, 0}, {20, 10, 0}, {200, 10, 0}, {4, 10, 100}, {4, 100, 2_000}} {
		b.Run(fmt.Sprintf("connections=%d/keys=%d/waiting=%d", c.connections, c.keys, c.waiting), func(b *testing.B) {
			s := newScene(b)
			list := ""
			for i := range c.connections {
				s.plan(fmt.Sprint("c", i), "tokens", "hourly", "1000000000")
				list += fmt.Sprintf(`,{"connectionId":"c%d","maxConcurrent":%d}`, i, 1_000_000)
				if c.waiting > 0 {
					list = list[:len(list)-len("1000000}")] + "5}"
				}
			}
			s.publish("quota.config.pool.p", fmt.Sprintf(`{"id":"p","name":"P","provider":"custom","connections":[%s],"allocations":[{"apiKeyId":"k0","weight":5}]}`, list[1:]))
			n := 0
			ask := func() {
				s.route(fmt.Sprint("k", n%c.keys), fmt.Sprint("r", n), `"pool":"p","maxWaitMs":3600000`)
				n++
			}
			if c.waiting > 0 {
				for range 5*c.connections + c.waiting {
					ask()
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				ask()
				s.publish("quota.release", fmt.Sprintf(`{"apiKeyId":"k%d","requestId":"r%d"}`, (n-1)%c.keys, n-1))
			}
			if got := len(s.Waiting()); got != c.waiting {
				b.Fatalf("%d wait, want %d", got, c.waiting)
			}
		})
	}
}

// BenchmarkFoldBlockedBacklog is an adjustment in a pool that has a place free, where
// the first requests of so many keys wait for what the rules do not let pass: each is
// judged anew, and looked for when it may.
func BenchmarkFoldBlockedBacklog(b *testing.B) {
	for _, keys := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			s := newScene(b)
			s.narrow()
			s.plan("c", "tokens", "hourly", "100")
			s.route("k", "r", `"pool":"p"`)
			for i := range keys {
				s.route(fmt.Sprint("k", i), "r", `"pool":"p","maxWaitMs":3600000`)
			}
			s.use("another", "c", `"tokens":100`)
			s.publish("quota.release", `{"apiKeyId":"k","requestId":"r"}`)
			for b.Loop() {
				s.publish("quota.adjustment", `{"apiKeyId":"another","connectionId":"c","reason":"a bill","cost":{"tokens":1}}`)
			}
			if got := len(s.Waiting()); got != keys {
				b.Fatalf("%d wait, want %d", got, keys)
			}
		})
	}
}
