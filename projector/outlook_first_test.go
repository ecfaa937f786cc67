package projector_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
)

// crossing is a crush in which keys wait for places of each other's pools, times fall
// together, and one key has a cap that it comes to.
type crossing struct {
	*rapid.T
	crush
	n int // requests
}

func newCrossing(t *rapid.T) *crossing {
	x := &crossing{T: t, crush: crush{fataler: t, State: projector.NewState(memstore.New()), now: start}}
	for _, pool := range []struct{ id, first, second string }{{"p", "c", "d"}, {"q", "e", ""}, {"r", "f", ""}} {
		list := ""
		for _, conn := range []string{pool.first, pool.second} {
			if conn != "" {
				list += fmt.Sprintf(`,{"connectionId":%q,"weight":%d,"maxConcurrent":1}`, conn, 1+len(list))
			}
		}
		x.publish(events.ConfigPrefix+"pool."+pool.id, fmt.Sprintf(
			`{"id":%q,"name":"P","provider":"custom","connections":[%s],"allocations":[{"apiKeyId":"k0","weight":5,"caps":[{"unit":"usd","window":"monthly","value":1}]}]}`, pool.id, list[1:]))
	}
	return x
}

var (
	oneOf   = rapid.SampledFrom([]string{"c", "d", "e", "f"})
	someOf  = rapid.SliceOfNDistinct(oneOf, 1, 3, rapid.ID)
	seconds = rapid.SampledFrom([]int64{1_000, 2_000, 2_000, 5_000, 60_000})
)

// step is a hold, mostly, whose verdict is waited for; else an end of one, a
// consumption that takes a cap up, or nothing but time.
func (x *crossing) step() {
	x.now += rapid.SampledFrom([]int64{0, 0, 0, 1_000, 2_000}).Draw(x.T, "gap")
	key := rapid.SampledFrom([]string{"k0", "k1"}).Draw(x.T, "key")
	switch rapid.IntRange(0, 11).Draw(x.T, "what") {
	case 0:
		x.publish("quota.due", "{}")
	case 1:
		x.publish("quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":"r%d"}`, key, rapid.IntRange(0, x.n).Draw(x.T, "which")))
	case 2:
		x.publish("quota.consumption", `{"apiKeyId":"k0","connectionId":"c","cost":{"usd":"2"}}`)
	default:
		want := of(someOf.Draw(x.T, "of")...)
		if rapid.Bool().Draw(x.T, "a pool") {
			want = fmt.Sprintf(`"pool":%q`, rapid.SampledFrom([]string{"p", "q", "r"}).Draw(x.T, "pool"))
		}
		x.n++
		id := fmt.Sprint("r", x.n)
		expect(x.State, id)
		x.publish("quota.hold", fmt.Sprintf(`{"id":%q,"apiKeyId":%q,"requestId":%[1]q,%[3]s,"leaseMs":%d,"maxWaitMs":%d,"estimate":{},"decisionId":%[1]q}`,
			id, key, want, seconds.Draw(x.T, "lease"), rapid.SampledFrom([]int64{0, 1_000, 2_000, 60_000}).Draw(x.T, "wait")))
	}
}

// at is what who asks at a clock is told, and first by a state that nobody asked before.
func (s *crush) at(q question, clock int64) int64 {
	x := *s
	x.now = clock
	return x.ask(q)
}

func (s *crush) first(q question, clock int64) int64 {
	x := *s
	x.State = projector.NewState(memstore.New())
	fold(s, x.State, s.log, 1)
	return x.at(q, clock)
}

// TestItDoesNotMatterWhoAskedFirst: whatever was asked before, of which pool and at what
// clock, and whoever was told that a wait is over, the next one is told what it would be
// if it were the only one.
func TestItDoesNotMatterWhoAskedFirst(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		x := newCrossing(t)
		for range rapid.IntRange(5, 30).Draw(t, "steps") {
			x.step()
			for range rapid.IntRange(0, 3).Draw(t, "asks") {
				q := question{pool: rapid.SampledFrom([]string{"p", "q", "r", ""}).Draw(t, "asked")}
				if q.pool == "" {
					q.list = someOf.Draw(t, "asked of")
				}
				clock := x.now + rapid.SampledFrom([]int64{0, 0, 500, 1_000, 2_500, 7_000}).Draw(t, "ahead")
				want := x.first(q, clock)
				if got := x.at(q, clock); got != want {
					t.Fatalf("%+v at %d is told %d, and %d when nobody asked before\n%+v", q, clock-start, got-start, want-start, x.Waiting())
				}
				if len(x.Waiting()) > 0 && want > clock {
					seen["waits"]++
				}
			}
		}
	})
	if seen["waits"] == 0 {
		t.Error("nobody was told of a time behind those who wait")
	}
}

// outdated are what was true when somebody asked, and is not when the next one does.
var outdated = []struct {
	name  string
	pools []string
	story func(s *crush)
	q     question
	clock int64 // at which it is asked at last, in ms since the start
	want  int64
}{
	{
		"what time alone has brought, by the clock of who asks, is done then",
		[]string{"p: c 1, d 1"},
		func(s *crush) {
			s.hold("b", "r1", only("c"), 30_000, 0)
			s.hold("b", "r2", only("d"), 100_000, 0)
			s.hold("k1", "w1", `"pool":"p"`, 68_000, 600_000)
			s.hold("k1", "w2", `"pool":"p"`, 10_000, 600_000)
			s.told(question{"", []string{"d"}}, 100_000) // w2 is on c again before
		},
		question{"", []string{"d"}},
		35_000, 110_000,
	},
	{
		"a clock that goes back",
		[]string{"p: c 1, d 1"},
		func(s *crush) {
			s.hold("b", "r1", only("c"), 30_000, 0)
			s.hold("b", "r2", only("d"), 100_000, 0)
			s.hold("k1", "w1", `"pool":"p"`, 68_000, 600_000)
			s.hold("k1", "w2", `"pool":"p"`, 10_000, 600_000)
			s.at(question{"", []string{"d"}}, start+35_000)
		},
		question{"", []string{"d"}},
		0, 100_000,
	},
	{
		"somebody comes who may go to a pool in which nobody waits",
		[]string{"p: c 1", "q: d 1", "r: e 1"},
		func(s *crush) {
			s.hold("b", "r1", only("c"), 100_000, 0)
			s.hold("b", "r2", only("d"), 20_000, 0)
			s.hold("b", "r3", only("e"), 100_000, 0)
			s.hold("k1", "w1", `"pool":"r"`, 10_000, 600_000)
			s.told(question{"q", nil}, 20_000)
			s.hold("k1", "w2", of("c", "d"), 10_000, 600_000)
		},
		question{"q", nil},
		0, 30_000,
	},
	{
		"a connection comes into another pool",
		[]string{"p: c 1", "q: d 1"},
		func(s *crush) {
			s.hold("b", "r1", only("c"), 50_000, 0)
			s.hold("b", "r2", only("d"), 20_000, 0)
			s.hold("k1", "w1", `"pool":"p"`, 10_000, 600_000)
			s.told(question{"p", nil}, 60_000)
			s.pools("q: e 1", "p: c 1, d 1")
		},
		question{"p", nil},
		0, 30_000,
	},
	{
		"who waits is kept back by a cap, and was not asked again when a wait was over",
		[]string{"p: c 1, d 1"},
		func(s *crush) {
			s.hold("b", "r1", only("c"), 5_000, 0)
			s.hold("b", "r2", only("d"), 100_000, 0)
			s.hold("k1", "w1", `"pool":"p"`, 10_000, 600_000)
			over := s.hold("k2", "w2", of("d"), 1_000, 5_000)
			s.capped("k1")
			s.now += 5_000
			s.publish("quota.due", "{}")
			if told(s, over); over.Route.FreeAt != start+100_000 {
				s.Fatalf("before anybody was asked again it is told %d, want 100000", over.Route.FreeAt-start)
			}
		},
		question{"", []string{"d"}},
		5_000, 110_000,
	},
}

// told asks now, and knows the answer.
func (s *crush) told(q question, want int64) {
	s.Helper()
	if got := s.ask(q) - start; got != want {
		s.Fatalf("%+v is told %d, want %d", q, got, want)
	}
}

// capped makes the cap of a key's total the least there is, of which nothing is left.
func (s *crush) capped(key string) {
	s.Helper()
	s.publish("quota.config.pool.p", fmt.Sprintf(`{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","maxConcurrent":1},{"connectionId":"d","weight":10,"maxConcurrent":1}],
		"allocations":[{"apiKeyId":"k0","weight":5},{"apiKeyId":%q,"weight":5,"caps":[{"unit":"usd","window":"monthly","value":1}]}]}`, key))
	s.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":"c","cost":{"usd":"2"}}`, key))
}

func TestWhatWasTrueBefore(t *testing.T) {
	for _, c := range outdated {
		t.Run(c.name, func(t *testing.T) {
			s := &crush{fataler: t, State: projector.NewState(memstore.New()), now: start}
			s.pools(c.pools...)
			c.story(s)
			if got := s.at(c.q, start+c.clock) - start; got != c.want {
				t.Errorf("%+v is told %d, want %d", c.q, got, c.want)
			}
			if got := s.first(c.q, start+c.clock) - start; got != c.want {
				t.Errorf("%+v is told %d when nobody asked before, want %d", c.q, got, c.want)
			}
		})
	}
}

// TestAWaitThatIsOverAsAPlaceComesFree: the place is for who waits still. Who is told that
// his wait is over, for another one, knows that nobody is behind him there.
func TestAWaitThatIsOverAsAPlaceComesFree(t *testing.T) {
	s := &crush{fataler: t, State: projector.NewState(memstore.New()), now: start}
	s.pools("p: c 1, d 1")
	s.hold("b", "r1", only("c"), 5_000, 0)
	s.hold("b", "r2", only("d"), 100_000, 0)
	s.hold("k1", "w1", `"pool":"p"`, 10_000, 600_000)
	over := s.hold("k2", "w2", of("d"), 1_000, 5_000)
	s.now += 5_000
	s.publish("quota.due", "{}")
	if told(s, over); over.Held || over.Route.FreeAt != start+100_000 {
		t.Errorf("held %v, told %d, want 100000", over.Held, over.Route.FreeAt-start)
	}
}
