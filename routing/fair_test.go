package routing_test

import (
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// crowd is a random run: keys that ask, and one after the other that is served.
type crowd struct {
	*testing.T
	*rand.Rand
	b      routing.Backlog
	quanta map[routing.Key]quota.Amount
	most   quota.Amount // the largest request
	last   routing.Ticket
	served map[routing.Key]quota.Amount
}

func newCrowd(t *testing.T, seed uint64) *crowd {
	c := &crowd{T: t, Rand: rand.New(rand.NewPCG(seed, 7)), quanta: map[routing.Key]quota.Amount{}, served: map[routing.Key]quota.Amount{}}
	c.most = 1 + quota.Amount(c.IntN(2_000))
	return c
}

func (c *crowd) ask(k routing.Key, n int) {
	for range n {
		c.last++
		must(c.T, c.b.Push(routing.Waiter{Ticket: c.last, Key: k, Cost: 1 + quota.Amount(c.Int64N(int64(c.most)))}))
	}
}

func (c *crowd) serve() routing.Waiter {
	c.Helper()
	w, ok := c.b.Next(&rules{quanta: c.quanta})
	if !ok {
		c.Fatal("nobody goes")
	}
	c.served[w.Key] += w.Cost
	return w
}

// TestAHeavyKeyAndALightOne: one asks for ten times as much as the other, of the same
// weight, among others. While both wait, what they are served differs by no more than
// a quantum and the largest request:
//
//	served = visits × quantum − saved, 0 ≤ saved < largest request
//
// and there is at most one visit between them.
func TestAHeavyKeyAndALightOne(t *testing.T) {
	var worst quota.Amount
	for seed := range uint64(1_000) {
		c := newCrowd(t, seed)
		q := 1 + quota.Amount(c.IntN(1_000))
		c.quanta[1], c.quanta[2] = q, q
		others := routing.Key(c.IntN(4))
		for k := routing.Key(3); k < 3+others; k++ {
			c.quanta[k] = 1 + quota.Amount(c.IntN(1_000))
			c.ask(k, 1+c.IntN(20))
		}
		c.ask(1, 50)
		c.ask(2, 5)
		for c.last < 1_000 {
			c.serve()
			off := max(c.served[1]-c.served[2], c.served[2]-c.served[1])
			if off > q+c.most {
				t.Fatalf("seed %d: %d and %d are served, with a quantum of %d and requests up to %d", seed, c.served[1], c.served[2], q, c.most)
			}
			worst = max(worst, off*1_000/(q+c.most))
			if c.b.LenOf(1) == 0 || c.b.LenOf(2) == 0 {
				break // what it saved is lost, and the count begins anew
			}
			if n := c.IntN(3); n > 0 && c.b.LenOf(1) < 300 {
				c.ask(1, 10*n)
				c.ask(2, n)
			}
		}
	}
	t.Logf("at most %d.%d %% of a quantum and the largest request apart", worst/10, worst%10)
	if worst < 500 {
		t.Error("no run came near the bound, so it says little")
	}
}

// TestALightKeyWaits for a bounded time: in each of the rounds until its savings pay,
// everybody else has a quantum at most and what was saved before.
func TestALightKeyWaits(t *testing.T) {
	var worst, bound quota.Amount
	for seed := range uint64(1_000) {
		c := newCrowd(t, seed)
		heavy := routing.Key(1 + c.IntN(6))
		for k := range heavy {
			c.quanta[k] = 1 + quota.Amount(c.IntN(1_000))
			c.ask(k, 200)
		}
		for range c.IntN(100) {
			c.serve()
		}
		const light = 99
		c.quanta[light] = 1 + quota.Amount(c.IntN(1_000))
		c.ask(light, 1)
		var cost, before quota.Amount
		for w := c.serve(); ; w = c.serve() {
			if w.Key == light {
				cost = w.Cost
				break
			}
			before += w.Cost
		}
		rounds := (cost + c.quanta[light] - 1) / c.quanta[light]
		most := quota.Amount(0)
		for k := range heavy {
			most += rounds*c.quanta[k] + c.most
		}
		if before > most {
			t.Fatalf("seed %d: %d went before it, and it has to wait for %d at most", seed, before, most)
		}
		if before > worst {
			worst, bound = before, most
		}
	}
	t.Logf("the longest wait: %d tokens went before, of %d that might have", worst, bound)
}

// TestNobodyStarves: whoever waits is served, however many of whatever weight do.
func TestNobodyStarves(t *testing.T) {
	for seed := range uint64(10) {
		c := newCrowd(t, seed)
		for k := range routing.Key(20) {
			c.quanta[k] = 1 + quota.Amount(c.IntN(3)*c.IntN(1_000))
			c.ask(k, 1)
		}
		first := map[routing.Key]bool{}
		for n := 0; len(first) < 20; n++ {
			w := c.serve()
			first[w.Key] = true
			c.ask(w.Key, 1) // it is always there again
			if n > 2_000_000 {
				t.Fatalf("seed %d: only %d of 20 were served", seed, len(first))
			}
		}
	}
}

// TestWantingManyThingsBringsNoMore: two keys of one weight, of which one wants four
// things and the other one, while rules hold back now these of them and now those.
// What they are served differs by no more than when all want the same.
func TestWantingManyThingsBringsNoMore(t *testing.T) {
	var worst quota.Amount
	passed := 0
	for seed := range uint64(1_000) {
		c := newCrowd(t, seed)
		q := 1 + quota.Amount(c.IntN(1_000))
		c.quanta[1], c.quanta[2] = q, q
		held := heldWants{rules: &rules{quanta: c.quanta}}
		ask := func(k routing.Key, wants, n int) {
			for range n {
				c.last++
				must(t, c.b.Push(routing.Waiter{
					Ticket: c.last, Key: k, Want: uint32(c.IntN(wants)), Cost: 1 + quota.Amount(c.Int64N(int64(c.most))),
				}))
			}
		}
		ask(1, 4, 30)
		ask(2, 1, 30)
		ask(3, 2, 30)
		for c.last < 1_000 && c.b.LenOf(1) > 0 && c.b.LenOf(2) > 0 {
			for k := range routing.Key(4) {
				held.of[k] = uint32(c.IntN(16))
			}
			held.of[2] = 0 // or it would be passed over, and get less for that
			if !held.anyOf(&c.b, 1) {
				held.of[1] = 0
			}
			first := map[routing.Key]routing.Ticket{}
			for k := range held.of {
				for w := range c.b.Waiting(routing.Key(k)) {
					first[routing.Key(k)] = w.Ticket
					break
				}
			}
			w, ok := c.b.Next(&held)
			if !ok || held.of[w.Key]>>w.Want&1 == 1 {
				t.Fatalf("seed %d: %+v goes, %t", seed, w, ok)
			}
			if w.Ticket != first[w.Key] {
				passed++
			}
			c.served[w.Key] += w.Cost
			ask(w.Key, []int{0, 4, 1, 2}[w.Key], 1)
			off := max(c.served[1]-c.served[2], c.served[2]-c.served[1])
			if off > q+c.most {
				t.Fatalf("seed %d: %d and %d are served, with a quantum of %d and requests up to %d", seed, c.served[1], c.served[2], q, c.most)
			}
			worst = max(worst, off*1_000/(q+c.most))
		}
	}
	t.Logf("at most %d.%d %% of a quantum and the largest request apart, %d went that were not the first of their key", worst/10, worst%10, passed)
	if worst < 500 || passed < 10_000 {
		t.Error("no run came near the bound, so it says little")
	}
}

// heldWants are rules that hold back some wants, a bit for each, of each key.
type heldWants struct {
	*rules
	of [4]uint32
}

func (r *heldWants) Passes(w *routing.Waiter) (bool, int64) {
	return r.of[w.Key]>>w.Want&1 == 0, routing.Never
}

// anyOf reports whether one of the key may pass.
func (r *heldWants) anyOf(b *routing.Backlog, k routing.Key) bool {
	for w := range b.Firsts(k) {
		if ok, _ := r.Passes(&w); ok {
			return true
		}
	}
	return false
}
