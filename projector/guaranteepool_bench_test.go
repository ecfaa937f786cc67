package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// sharedBy is a pool by a rule, of keys that all used something on each of its connections
// in the present windows: so much in percent of both its limits together.
func sharedBy(t testing.TB, rule string, keys, conns, used int) *scene {
	s := newScene(t)
	connections, allocations := "", ""
	for c := range conns {
		s.publish(fmt.Sprint("quota.config.plan.c", c), fmt.Sprintf(`{"connectionId":"c%d","dimensions":[{"unit":"tokens","window":"5h","limit":100000000},{"unit":"requests","window":"hourly","limit":100000}]}`, c))
		connections += fmt.Sprintf(`,{"connectionId":"c%d"}`, c)
	}
	for k := range keys {
		allocations += fmt.Sprintf(`,{"apiKeyId":"k%d","weight":%v}`, k, 100/float64(keys))
	}
	s.publish("quota.config.pool.p", fmt.Sprintf(`{"id":"p","name":"P","provider":"custom","rule":%q,"connections":[%s],"allocations":[%s]}`, rule, connections[1:], allocations[1:]))
	for c := range conns {
		list := ""
		for k := range keys {
			list += fmt.Sprintf(`,{"apiKeyId":"k%d","connectionId":"c%d","cost":{"tokens":%d,"requests":%d}}`, k, c, 1_000_000*used/keys, 1_000*used/keys)
		}
		s.publish("quota.consumption", "["+list[1:]+"]")
	}
	return s
}

// BenchmarkGatherByRule is a question and its answer by either rule: of a pool with much
// room, with some, and with none.
func BenchmarkGatherByRule(b *testing.B) {
	for _, used := range []int{5, 80, 100} {
		for _, conns := range []int{1, 4} {
			for _, keys := range []int{10, 100} {
				for _, rule := range []string{"threshold", "guarantee"} {
					b.Run(fmt.Sprintf("used=%d/conns=%d/keys=%d/%s", used, conns, keys, rule), func(b *testing.B) {
						s := sharedBy(b, rule, keys, conns, used)
						qs := []questions.Question{{APIKeyID: "k7", ConnectionID: "c0"}}
						asked := make([]projector.Asked, 1)
						b.ReportAllocs()
						blocked := 0.0
						for b.Loop() {
							s.Gather(qs, s.now, asked)
							if asked[0].Facts.Decide(asked[0].Now).Reason.Blocks() {
								blocked = 1
							}
						}
						b.ReportMetric(blocked, "blocked")
					})
				}
			}
		}
	}
}

// BenchmarkFoldHoldsByRule is arrays of 100 holds of as many keys, each judged in a pool,
// and their ends, by either rule and beside a thousand holds that stay.
func BenchmarkFoldHoldsByRule(b *testing.B) {
	for _, used := range []int{5, 80} {
		for _, rule := range []string{"threshold", "guarantee"} {
			b.Run(fmt.Sprintf("used=%d/%s", used, rule), func(b *testing.B) {
				s := sharedBy(b, rule, 100, 1, used)
				hold := func(i int) string {
					return fmt.Sprintf(`,{"id":"%d","decisionId":"%[1]d","apiKeyId":"k%d","requestId":"r%[1]d","connectionId":"c0","leaseMs":3600000,"estimate":{"tokens":10}}`, i, i%100)
				}
				stay, come, end := "", "", ""
				for i := range 1_000 {
					stay += hold(i)
				}
				s.publish("quota.hold", "["+stay[1:]+"]")
				for i := 1_000; i < 1_100; i++ {
					come += hold(i)
					end += fmt.Sprintf(`,{"apiKeyId":"k%d","requestId":"r%d"}`, i%100, i)
				}
				opened, ended := new(projector.Run), new(projector.Run)
				opened.Add(events.Message{Subject: "quota.hold", Seq: s.seq + 1, Time: s.now, Data: []byte("[" + come[1:] + "]")})
				ended.Add(events.Message{Subject: "quota.release", Seq: s.seq + 2, Time: s.now, Data: []byte("[" + end[1:] + "]")})
				n := uint64(1)
				b.ReportAllocs()
				for b.Loop() {
					for _, r := range []*projector.Run{opened, ended} {
						r.Renew(n)
						must(b, s.Apply(r))
						r.Renew(n)
					}
					if n++; n%100 == 0 {
						must(b, s.Cut(nowhere{}))
						s.Committed()
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/hold")
				b.ReportMetric(float64(s.Counts().Holds.Refused)/float64(b.N), "refused")
			})
		}
	}
}
