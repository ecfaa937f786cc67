package projector_test

import (
	"fmt"
	"testing"
)

// BenchmarkFoldLongLists is a part of a consumption, which frees nothing, while 20
// requests of a key wait for so many connections, each with the list in another order, as
// callers have it that balance by themselves: in another pool, and in theirs; and there,
// when one place is free that the rules keep from all of them.
func BenchmarkFoldLongLists(b *testing.B) {
	for _, n := range []int{50, 1_000} {
		for _, where := range []string{"another", "theirs", "theirs, a place is kept"} {
			b.Run(fmt.Sprintf("connections=%d/%s", n, where), func(b *testing.B) {
				s := newScene(b)
				list := ""
				for i := range n {
					list += fmt.Sprintf(`,{"connectionId":"c%d","maxConcurrent":1}`, i)
				}
				s.publish("quota.config.pool.p", fmt.Sprintf(`{"id":"p","name":"P","provider":"custom","connections":[%s],
					"allocations":[{"apiKeyId":"k","weight":50,"policy":"hard","caps":[{"unit":"tokens","window":"hourly","value":100}]}]}`, list[1:]))
				s.publish("quota.config.pool.u", `{"id":"u","name":"U","provider":"custom","connections":[{"connectionId":"u"}]}`)
				s.ask("h", "u", `"candidates":[{"connectionId":"u"}]`, 1)
				for i := range n {
					s.ask("h", fmt.Sprint("h", i), fmt.Sprintf(`"candidates":[{"connectionId":"c%d"}]`, i), 1)
				}
				for i := range 20 {
					of := ""
					for j := range n {
						of += fmt.Sprintf(`,{"connectionId":"c%d"}`, (i*7+j)%n)
					}
					s.ask("k", fmt.Sprint("w", i), `"candidates":[`+of[1:]+`]`, 1)
				}
				body := `{"apiKeyId":"h","connectionId":"u","requestId":"u","partial":true}`
				if where != "another" {
					body = `{"apiKeyId":"h","connectionId":"c1","requestId":"h1","partial":true}`
				}
				if where == "theirs, a place is kept" {
					s.use("k", "c0", `"tokens":100`)
					s.release("h", "h0")
				}
				for b.Loop() {
					s.publish("quota.consumption", body)
				}
			})
		}
	}
}
