package projector_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// rush is a guild whose dimensions are all sliding windows of an hour, in which keys ask
// again and again, each for requests of its own size, and what each was promised is noted
// until the end of the bucket.
type rush struct {
	*guild
	r      *rand.Rand
	sizes  []quota.Amounts
	claims []claimed
	served []serving
	seen   *rushed
}

// serving is who was served, what all had used just before, by dimension, and who would
// have been refused just then.
type serving struct {
	k     int
	used  [][]int64
	waits []bool
}

// claimed is what a key was promised at an instant, in each dimension.
type claimed struct {
	j      int
	target []int64 // ℓ_j then
	best   []int64 // the most that was c_j since
	there  bool    // all that is promised was there
	since  int     // index in served
}

// slack is how many requests of a key may be missing: it waits for room of a sixteenth of
// its gap, and one request may be too large for what is left.
const slack = 17

// drawRush makes a pool of hard keys.
func drawRush(t *testing.T, r *rand.Rand, n *rushed) *rush {
	c := &rush{guild: newGuild(t), r: r, seen: n}
	c.reserve = []int64{100, 100, 100, 50, 200, 400, 0}[r.IntN(7)]
	c.dims = []guildDim{{quota.Tokens, quota.Hourly, 1_000_000}, {quota.Requests, quota.Hourly, 1_000_000}}[:1+r.IntN(2)]
	for i := range 1 + r.IntN(3) {
		c.accounts = append(c.accounts, account{id: fmt.Sprint("c", i)})
	}
	keys, kind := 2+r.IntN(4), r.IntN(5)
	for j := range keys {
		c.members = append(c.members, member{id: fmt.Sprint("k", j), weight: c.weight(kind, keys), policy: "hard", suspended: r.IntN(12) == 0})
		c.sizes = append(c.sizes, quota.Amounts{})
		for _, d := range c.dims {
			c.sizes[j][d.unit] = quota.Amount(int64(len(c.accounts)) * []int64{2_000, 4_000, 4_000, 10_000}[r.IntN(4)])
		}
	}
	if r.IntN(3) == 0 {
		c.members[keys-1].id = quota.AllOthers
	}
	c.configure()
	return c
}

// weight draws one: all are 0, equal, or anything, with sums above 100 and below.
func (c *rush) weight(kind, n int) int64 {
	switch kind {
	case 0:
		return 0
	case 1:
		return 100e6 / int64(n)
	case 2:
		return c.r.Int64N(100e6 + 1)
	case 3:
		return c.r.Int64N(50e6) / int64(n)
	}
	return c.r.Int64N(4) * 25e6 / int64(n)
}

// some draws who asks.
func (c *rush) some() []int {
	return c.r.Perm(len(c.members))[:1+c.r.IntN(len(c.members))]
}

// hungry lets keys ask in any order, again and again, until nobody gets more.
func (c *rush) hungry(list []int) {
	for some := true; some; {
		some = false
		c.r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		for _, k := range list {
			some = c.serve(k) || some
		}
	}
}

// serve has a key ask for a request of its size on any connection. Some run on for a
// while, and some are never settled.
func (c *rush) serve(k int) bool {
	before := c.before(k)
	e := c.holdOf(c.members[k].key(), c.r.IntN(len(c.accounts)), c.sizes[k])
	e.LeaseMs = 1 + c.r.Int64N(1_200_000)
	if !c.hold(e) {
		return false
	}
	c.note(before)
	if c.r.IntN(4) > 0 {
		c.settle(len(c.open)-1, c.r.IntN(4) == 0)
		if before.used != nil {
			c.end(false)
		}
	}
	return true
}

// before is how it is before k asks. Where more is promised than there is, it asks for the
// others too.
func (c *rush) before(k int) serving {
	s := serving{k: k, waits: make([]bool, len(c.members))}
	if !slices.ContainsFunc(c.claims, func(p claimed) bool { return !p.there }) {
		return s
	}
	for _, x := range c.stand(c.now) {
		s.used = append(s.used, x.used)
	}
	var qs []questions.Question
	for j := range c.members {
		qs = append(qs, c.question(c.members[j].key(), 0, c.sizes[j]))
	}
	for j, a := range c.answer(qs, c.now) {
		s.waits[j] = a.Facts.Judge(c.now).Reason.Blocks()
	}
	return s
}

// note looks at every claim when k is served.
func (c *rush) note(before serving) {
	if len(c.claims) == 0 {
		return
	}
	c.served = append(c.served, before)
	list := c.stand(c.now)
	for i := range c.claims {
		for d := range list {
			p := &c.claims[i]
			p.best[d] = max(p.best[d], list[d].used[p.j])
		}
	}
}

// ahead reports whether somebody was served while the key of the claim had to wait who had
// used more for its weight in every dimension than that key came to, by more than the slack.
func (c *rush) ahead(p *claimed) bool {
	return slices.ContainsFunc(c.served[p.since:], func(s serving) bool {
		wk, wj := c.members[s.k].weight, c.members[p.j].weight
		if !slices.ContainsFunc(c.members, func(m member) bool { return m.weight > 0 }) {
			wk, wj = 1, 1
		}
		for d := range s.used {
			if !s.waits[p.j] || s.k == p.j || s.used[d][s.k]*wj <= (p.best[d]+slack*int64(c.sizes[p.j][c.dims[d].unit]))*wk {
				return false
			}
		}
		return true
	})
}

// settle ends a hold with what it held, or less.
func (c *rush) settle(i int, less bool) {
	h := c.open[i]
	c.open = slices.Delete(c.open, i, i+1)
	if h.end <= c.now {
		return
	}
	e := events.Event{Kind: events.Consumption, APIKeyID: h.key, ConnectionID: h.conn, RequestID: h.request, Cost: h.amounts}
	for _, d := range c.dims {
		e.Given |= 1 << d.unit
		if less {
			e.Cost[d.unit] = quota.Amount(c.r.Int64N(int64(h.amounts[d.unit]) + 1))
		}
	}
	c.publish(e)
}

// settleSome ends some of the calls that run.
func (c *rush) settleSome() {
	c.open = slices.DeleteFunc(c.open, func(h openHold) bool { return h.end <= c.now })
	for i := len(c.open) - 1; i >= 0; i-- {
		if c.r.IntN(30) == 0 {
			c.settle(i, c.r.IntN(3) == 0)
		}
	}
}

// intrude is use that nobody asked for, of a key or a stranger, perhaps of long ago.
func (c *rush) intrude(most int64) {
	key := "stranger"
	if c.r.IntN(4) > 0 {
		key = c.members[c.r.IntN(len(c.members))].key()
	}
	conn := c.r.IntN(len(c.accounts))
	e := events.Event{Kind: events.Consumption, APIKeyID: key, ConnectionID: c.accounts[conn].id}
	if c.r.IntN(2) == 0 {
		e.Time = c.now - c.r.Int64N(hour)
	}
	for _, d := range c.dims {
		e.Given |= 1 << d.unit
		e.Cost[d.unit] = quota.Amount(c.r.Int64N(most * int64(len(c.accounts))))
	}
	c.publish(e)
	c.claims = nil // what is promised is another matter now
}

// promise notes what the keys that ask are promised now.
func (c *rush) promise(asking []int) {
	list := c.stand(c.now)
	for _, j := range asking {
		p := claimed{j: j, there: true, since: len(c.served)}
		owed := !c.members[j].suspended
		for d := range list {
			x := &list[d]
			p.there = p.there && x.excess() <= 0
			p.target, p.best = append(p.target, x.promise[j]), append(p.best, x.used[j])
			owed = owed && x.owed(j) > slack*int64(c.sizes[j][c.dims[d].unit])
		}
		if owed {
			c.claims = append(c.claims, p)
		}
	}
}

// got reports whether a claim was met but for the slack: as far as the first dimension
// goes in which the key used up its promise.
func (c *rush) got(p *claimed) bool {
	for d := range p.target {
		if p.best[d] >= p.target[d]-slack*int64(c.sizes[p.j][c.dims[d].unit]) {
			return true
		}
	}
	return false
}

// rushed is what was seen.
type rushed struct{ kept, keptAnyway, orElse, vectors int }

// end looks at the claims that end now: all of them at the end of the bucket; before it,
// when what is promised is there again, those of a time when it was not.
func (c *rush) end(all bool) {
	c.t.Helper()
	if len(c.claims) == 0 {
		return
	}
	n, list := c.seen, c.stand(c.now)
	again := !slices.ContainsFunc(list, func(x standing) bool { return x.excess() > 0 })
	c.claims = slices.DeleteFunc(c.claims, func(p claimed) bool {
		if !all && (p.there || !again) {
			return false
		}
		switch got := c.got(&p); {
		case got && p.there:
			n.kept++
		case got:
			n.keptAnyway++
		case p.there || c.ahead(&p):
			c.t.Fatalf("%+v is not kept: served %d, dims %d, reserve %d, %+v, sizes %v, %+v", p, len(c.served), len(c.dims), c.reserve, c.members, c.sizes, list)
		default:
			n.orElse++
		}
		if len(c.dims) > 1 {
			n.vectors++
		}
		return true
	})
}

// TestThePromiseInARush: in sliding windows, of one dimension or two, on any number of
// connections, with calls that run on, keys that are suspended or listed as all others, and
// weights of every kind, a key that asks on gets what it was promised by the end of the
// bucket, but for 17 requests. While more is promised than there is, because of use that
// nobody asked for or of other weights, it gets that too, or else whoever is served had
// used less for its weight.
func TestThePromiseInARush(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	var n rushed
	for round := 0; round < 1_000 && (n.kept < 2_000 || n.orElse < 10); round++ {
		c := drawRush(t, r, &n)
		began := (start/hour + 1) * hour
		c.fill(began)
		c.rushTo(began + 2*hour - 1)
	}
	t.Logf("%+v", n)
	if n.kept < 2_000 || n.orElse < 10 || n.vectors < 300 {
		t.Errorf("too little was seen: %+v", n)
	}
}

// fill lives through a bucket and the beginning of the next: the pool is about full of
// what the last one leaves. Between them weights change.
func (c *rush) fill(began int64) {
	for _, at := range []int64{began + 600_000, began + 3_000_000, began + hour + c.r.Int64N(1_500_000)} {
		if c.now = at; at >= began+hour && c.r.IntN(2) == 0 {
			m := &c.members[c.r.IntN(len(c.members))]
			m.weight = c.r.Int64N(60e6)
			c.configure()
		}
		if c.r.IntN(3) == 0 {
			c.intrude(200_000)
		}
		for range c.r.IntN(3) {
			c.hold(c.holdOf("stranger", 0, c.sizes[0]))
		}
		c.hungry(c.some())
	}
}

// rushTo has some keys ask on to the end of the bucket, and notes on the way what they are
// promised. Smaller and smaller steps: in the last one nothing is kept any more.
func (c *rush) rushTo(end int64) {
	c.t.Helper()
	asking, intruded := c.some(), c.r.IntN(3) == 0
	for c.now < end {
		if intruded && c.r.IntN(50) == 0 {
			c.intrude(150_000)
		}
		gap := 3_000 + c.r.Int64N(13_000)
		c.now += min(gap, (end-c.now+3)/4)
		c.settleSome()
		c.end(false)
		c.promise(asking)
		c.hungry(asking)
	}
	c.end(true)
}
