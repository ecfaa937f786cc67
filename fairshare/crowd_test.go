package fairshare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// drawCrowd makes a pool of some keys or of many, which are of few kinds.
func drawCrowd(r *rand.Rand) (*plans.Resolved, census) {
	dims := append([]plans.Dimension(nil), pick(r, censusDims...)...)
	limit := pick[int64](r, 1_000, 100_000, 100e6)
	for i := range dims {
		dims[i].Limit = quota.Amount(limit)
	}
	p := &plans.Pool{ID: "p", Rule: pick(r, plans.Guarantee, plans.Guarantee, plans.Guarantee, plans.Threshold), Reserve: 100, Connections: make([]plans.Connection, 1+r.IntN(2))}
	n, soft := pick(r, 3, 130), r.IntN(20) == 0
	var c census
	for j := range n {
		a := plans.Allocation{APIKeyID: fmt.Sprint(j), Weight: pick[quota.Ratio](r, 1, 2) * quota.RatioOne, Suspended: r.IntN(15) == 0}
		if a.Policy = plans.Hard; soft {
			a.Policy = plans.Soft
		}
		p.Allocations = append(p.Allocations, a)
	}
	for range n + 1 {
		c.books = append(c.books, newBook(len(p.Connections)))
	}
	for conn := range p.Connections {
		c.fill(r, conn, limit)
	}
	c.hold(r, limit)
	c.hold(r, limit)
	return plans.Resolve(p, func(string) plans.Plan { return plans.Plan{Dimensions: dims} }), c
}

// told is all that a view asks of facts.
type told struct {
	Answer     Answer
	Later      []Verdict
	Dimensions []questions.Dimension
	Promises   []Promises
}

func tell(f *Facts, q *Question, c Counters, now int64, later []int64) (x told) {
	f.Gather(q, c, now)
	x.Answer = f.Decide(now)
	x.Answer.Alternatives = append([]int{}, x.Answer.Alternatives...)
	for _, at := range later {
		x.Later = append(x.Later, f.JudgeOn(0, at))
	}
	x.Dimensions = f.Explain(0, now, nil)
	for i := range q.Pool.Dimensions {
		p, _ := f.Promises(i, now, nil)
		x.Promises = append(x.Promises, p)
	}
	return x
}

// turns are the instants after now at which it may be that all stand in another way, and
// those before.
func (c census) turns(now int64) (list []int64) {
	var ends []int64
	for _, conn := range c.conns {
		for _, w := range censusWindows {
			r := &conn.readings[w]
			bucket := now/w.Millis() + 1
			ends = append(ends, r.Current.Until, r.Other.Until, r.PartUntil, bucket*w.Millis(), (bucket+1)*w.Millis())
		}
	}
	for _, h := range c.holds {
		ends = append(ends, h.End)
	}
	for _, end := range ends {
		if end > now {
			list = append(list, end-1, end)
		}
	}
	return list
}

// TestACrowdIsWhatEachGathers: who shares what is known of all keys is told what it is told
// alone, at the instant of the others and at another, of their pool and of another.
func TestACrowdIsWhatEachGathers(t *testing.T) {
	seed := rand.Uint64()
	var f Facts
	var crowd Crowd // of all states in turn
	var grouped, blocked, shared int
	for n := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, n))
		pool, c := drawCrowd(r)
		now := int64(rapidNow)
		for range 8 {
			if r.IntN(8) == 0 {
				now += pick(r, 1, r.Int64N(3_600_000))
			}
			j := r.IntN(len(c.books))
			q := ask(pool, fmt.Sprint(j), pick(r, AnyConnection, AnyConnection, 0))
			q.Estimate[quota.Tokens] = quota.Amount(r.Int64N(int64(pool.Dimensions[0].Limit) / pick[int64](r, 5, 1_000)))
			if r.IntN(2) == 0 {
				q.RoomAt = now + r.Int64N(3_600_000)
			}
			c.book = c.books[j]
			later := c.turns(now)
			want := tell(&f, q, c, now, later)
			q.Crowd = &crowd
			if p := &crowd.peers; p.known && p.pool == pool && p.heldAt == now {
				shared++
			}
			if diff := cmp.Diff(want, tell(&f, q, c, now, later)); diff != "" {
				t.Fatalf("seed %d, state %d: alone, together\n%s", seed, n, diff)
			}
			if want.Answer.Reason == FairShare {
				blocked++
			}
			grouped += countGrouped(&crowd)
		}
	}
	if grouped < 300 || blocked < 30 || shared < 500 {
		t.Errorf("%d in groups, %d blocked, %d shared", grouped, blocked, shared)
	}
}

// TestAStandStands: all stand the same from its first instant to its last, and as they are
// gathered at an instant when that is looked at beforehand.
func TestAStandStands(t *testing.T) {
	seed := rand.Uint64()
	var f, alone Facts
	for n := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, n))
		pool, c := drawCrowd(r)
		if pool.Pool.Rule != plans.Guarantee {
			continue
		}
		c.book = c.books[0]
		q := ask(pool, "0", AnyConnection)
		q.Crowd = new(Crowd)
		f.Gather(q, c, rapidNow)
		instants := append(c.turns(rapidNow), rapidNow)
		f.holds, f.listed = c.Holds(f.holds[:0]), true
		i := r.IntN(len(pool.Dimensions))
		for _, at := range instants {
			want := slices.Clone(f.rows(i, at))
			from, to := f.standing(i, at)
			for _, same := range append([]int64{to - 1, max(from, rapidNow)}, instants...) {
				if from <= same && same < to && !slices.Equal(want, f.rows(i, same)) {
					t.Fatalf("seed %d, state %d: from %d to %d, but not at %d as at %d", seed, n, from, to, same, at)
				}
			}
		}
		f.listed = false
		whole := *q
		whole.Crowd = nil
		for _, at := range instants {
			f.stand(i, at-1)
			f.readHeld(c, at)
			alone.Gather(&whole, c, at)
			if !slices.Equal(alone.rows(i, at), f.stand(i, at).keys) {
				t.Fatalf("seed %d, state %d: they stand in another way at %d", seed, n, at)
			}
		}
	}
}

func countGrouped(c *Crowd) (n int) {
	for _, line := range c.peers.stands {
		for i := range line {
			if line[i].groups != nil {
				n++
			}
		}
	}
	return n
}

// asking counts how often it is read as another key.
type asking struct {
	census
	n *int
}

func (a asking) As(j int) Counters { *a.n++; return a.census.As(j) }

// TestACrowdIsGatheredOnce: for all rows of a view each key is looked at once, and twice
// where something is held; and again for another instant.
func TestACrowdIsGatheredOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	pool, c := drawCrowd(r)
	for pool.Pool.Rule != plans.Guarantee {
		pool, c = drawCrowd(r)
	}
	looks, crowd, f := 0, Crowd{}, Facts{}
	rows := func(now int64) {
		for j := range len(c.books) - 1 {
			q := ask(pool, fmt.Sprint(j), AnyConnection)
			q.Crowd, c.book = &crowd, c.books[j]
			tell(&f, q, asking{c, &looks}, now, nil)
		}
	}
	n := len(c.books) - 1
	for i := int64(1); i <= 2; i++ {
		if rows(rapidNow + i); looks > int(i)*2*n || looks < int(i)*n {
			t.Errorf("%d looks at %d keys", looks, n)
		}
	}
}
