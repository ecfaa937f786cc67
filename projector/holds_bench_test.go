package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// inFlight is a pool with n holds of 50 keys on its connection, some 30,000 tokens
// each, and room for as many again; mode and the limit's factor say for what else.
func inFlight(t testing.TB, n int, mode string, limit int) *scene {
	s := newScene(t)
	s.plan("c", "tokens", "5h", fmt.Sprint(limit))
	allocations := ""
	for k := range 50 {
		allocations += fmt.Sprintf(`,{"apiKeyId":"k%d","weight":2,"policy":"burst"}`, k)
	}
	s.pool(`"c"`, fmt.Sprintf(`,"mode":%q,"allocations":[%s]`, mode, allocations[1:]))
	for from := 0; from < n; from += 500 {
		s.publish("quota.hold", "["+holdsFrom(from, min(n, from+500))+"]")
	}
	if got := s.State.Holds().Open; got != n {
		t.Fatalf("%d holds are open, want %d", got, n)
	}
	return s
}

func holdsFrom(from, to int) string {
	var list []byte
	for i := from; i < to; i++ {
		list = fmt.Appendf(list, `,{"id":"%d","decisionId":"%[1]d","apiKeyId":"k%d","requestId":"r%[1]d","connectionId":"c","model":"m","leaseMs":%[3]d,"estimate":{"tokens":%[4]d}}`,
			i, i%50, 300_000+i*7919%100_000, 29_000+i*7919%2_000)
	}
	return string(list[1:])
}

// BenchmarkFoldHolds is arrays of 100 holds, each judged in a pool, and then the 100
// consumptions that settle them, beside so many others that are open; and beside one
// that is larger than the limit, in a pool that observes.
func BenchmarkFoldHolds(b *testing.B) {
	for _, c := range []struct {
		open int
		huge int
	}{{0, 0}, {1_000, 0}, {100_000, 0}, {10_000, 1}} {
		b.Run(fmt.Sprintf("open=%d/huge=%d", c.open, c.huge), func(b *testing.B) {
			open, mode := c.open+c.huge, "enforce"
			if c.huge > 0 {
				mode = "observe"
			}
			s := inFlight(b, c.open, mode, 1e11)
			if c.huge > 0 {
				s.hold("k0", "huge", "c", 3_600_000, `"tokens":200000000000`)
			}
			opened, settled := holdsAndTheirEnd(s, open)
			n := uint64(1)
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range []*projector.Run{opened, settled} {
					r.Renew(n)
					must(b, s.Apply(r))
					r.Renew(n)
				}
				if n++; n%100 == 0 {
					must(b, s.Cut(nowhere{}))
					s.Committed()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200, "ns/event")
			if got := s.State.Holds().Open; got != open {
				b.Fatalf("%d are open, want %d", got, open)
			}
		})
	}
}

func holdsAndTheirEnd(s *scene, from int) (opened, settled *projector.Run) {
	opened, settled = new(projector.Run), new(projector.Run)
	opened.Add(events.Message{Subject: "quota.hold", Seq: s.seq + 1, Time: s.now, Data: []byte("[" + holdsFrom(from, from+100) + "]")})
	var list []byte
	for i := from; i < from+100; i++ {
		list = fmt.Appendf(list, `,{"id":"%d","apiKeyId":"k%d","requestId":"r%[1]d","connectionId":"c","model":"m","cost":{"tokens":1}}`, i, i%50)
	}
	list[0] = '['
	settled.Add(events.Message{Subject: "quota.consumption", Seq: s.seq + 2, Time: s.now, Data: append(list, ']')})
	return opened, settled
}

// TestJudgingHoldsAllocatesNothing: of a hold and its end nothing is left for the
// collector, once there was as much before.
func TestJudgingHoldsAllocatesNothing(t *testing.T) {
	s := inFlight(t, 1_000, "observe", 1_000_000)
	opened, settled := holdsAndTheirEnd(s, 1_000)
	n := uint64(1)
	round := func() {
		for _, r := range []*projector.Run{opened, settled} {
			r.Renew(n)
			must(t, s.Apply(r))
			r.Renew(n)
		}
		n++
	}
	for range 100 { // twice: the memories of ids take turns
		round()
		if n%50 == 0 {
			must(t, s.Cut(nowhere{}))
			s.Committed()
		}
	}
	if got := testing.AllocsPerRun(20, round); got > 0 {
		t.Errorf("%.1f allocations for 100 holds and their ends", got)
	}
	if got := s.Counts().Holds; got.Settled != got.Opened-1_000 {
		t.Errorf("%+v", got)
	}
}

// BenchmarkGatherBesideHolds is a question and its answer, beside so many open holds:
// when each counts in full; when one is larger than the limit, in a pool that
// observes; when all leases are over and the log has not said so; and blocked.
func BenchmarkGatherBesideHolds(b *testing.B) {
	for _, c := range []struct {
		name  string
		mode  string
		limit int
		later int64
		sizes []int
		huge  bool
	}{
		{"all", "enforce", 1e11, 0, []int{0, 1_000, 100_000}, false},
		{"one huge", "observe", 1e11, 0, []int{1_000, 10_000}, true},
		{"over", "enforce", 1e11, 500_000, []int{1_000, 10_000}, false},
		{"blocked", "observe", 1e6, 0, []int{1_000, 10_000}, false},
	} {
		for _, n := range c.sizes {
			b.Run(fmt.Sprintf("%s/open=%d", c.name, n), func(b *testing.B) {
				s := inFlight(b, n, c.mode, c.limit)
				if c.huge {
					s.hold("k0", "huge", "c", 3_600_000, `"tokens":200000000000`)
				}
				qs := []questions.Question{{APIKeyID: "k7", ConnectionID: "c"}}
				asked := make([]projector.Asked, 1)
				b.ReportAllocs()
				for b.Loop() {
					s.Gather(qs, s.now+c.later, asked)
					asked[0].Facts.Decide(asked[0].Now)
				}
			})
		}
	}
}
