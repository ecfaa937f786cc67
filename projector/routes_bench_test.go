package projector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/routing"
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

// BenchmarkFoldFlood is a message of 500 holds of a key whose backlog is full, each of
// which is told when to come back; and the same when before each of them another key
// begins to wait, or leaves, so that what is told is found out anew.
func BenchmarkFoldFlood(b *testing.B) {
	for _, others := range []bool{false, true} {
		b.Run(fmt.Sprintf("others=%t", others), func(b *testing.B) {
			s := &crush{fataler: b, State: projector.NewState(memstore.New()), now: start}
			s.pools("p: c 1")
			s.hold("b", "r", `"pool":"p"`, 1_000, 0)
			for i := range routing.MaxWaiting / 2 {
				s.hold("k", fmt.Sprint("w", i), `"pool":"p"`, 30_000, 60_000)
			}
			n, took := 0, time.Duration(0)
			for b.Loop() {
				var body []string
				for i := range 500 {
					n++
					id := fmt.Sprint("f", n)
					expect(s.State, id)
					if others {
						wait := 60_000 * (1 - i%2)
						body = append(body, fmt.Sprintf(`{"id":"o%d","apiKeyId":"o","requestId":"o","pool":"p","leaseMs":30000,"maxWaitMs":%d,"estimate":{},"decisionId":"o%[1]d"}`, n, wait))
					}
					body = append(body, fmt.Sprintf(`{"id":%q,"apiKeyId":"k","requestId":%[1]q,"pool":"p","leaseMs":30000,"maxWaitMs":60000,"estimate":{},"decisionId":%[1]q}`, id))
				}
				began := time.Now()
				s.publish("quota.hold", "["+strings.Join(body, ",")+"]")
				took += time.Since(began)
			}
			b.ReportMetric(float64(took.Microseconds())/float64(b.N)/1e3, "ms/message")
		})
	}
}
