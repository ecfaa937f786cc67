package projector_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// crowd is a guild of hard keys that share tokens by the hour, each with its own size of
// requests.
type crowd struct {
	*guild
	t     *rapid.T
	sizes []int64
}

const hour = int64(3_600_000)

// hungry lets the keys of a list ask in any order, again and again until nobody gets more,
// and calls served before each of them is served.
func (c *crowd) hungry(list []int, served func(k int)) {
	for {
		some := false
		for _, k := range rapid.Permutation(list).Draw(c.t, "order") {
			if c.serve(k) {
				some = true
				served(k)
			}
		}
		if !some {
			return
		}
	}
}

// serve has a key ask for a request of its size, and use it.
func (c *crowd) serve(k int) bool {
	var x quota.Amounts
	x[quota.Tokens] = quota.Amount(c.sizes[k])
	asked := c.answer([]questions.Question{c.question(c.members[k].key(), 0, x)}, c.now)
	if asked[0].Facts.Judge(c.now).Reason.Blocks() {
		return false
	}
	c.publish(events.Event{Kind: events.Consumption, APIKeyID: c.members[k].key(), ConnectionID: "c0", Cost: x, Given: 1 << quota.Tokens})
	return true
}

// TestThePromiseByTheEndOfTheBucket: in a sliding window a key that asks on gets what it
// was promised by the end of the bucket, up to 16 request sizes, whatever the others ask
// for and however often; or else whoever was served meanwhile had used less for its weight.
func TestThePromiseByTheEndOfTheBucket(t *testing.T) {
	kept, waited := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := drawCrowd(t)
		all := indices(len(c.members))
		some := func() []int {
			return rapid.Permutation(all).Draw(t, "who")[:rapid.IntRange(1, len(all)).Draw(t, "so many")]
		}
		began := (start/hour + 1) * hour
		for _, at := range []int64{began + 600_000, began + 3_000_000, began + hour + rapid.Int64Range(0, 1_500_000).Draw(t, "into")} {
			c.now = at
			c.hungry(some(), func(int) {})
		}
		end := began + 2*hour - 1
		x := c.stand(c.now)[0]
		if x.excess() > 0 {
			t.Fatalf("what is promised is not there: %+v", x)
		}
		before, ahead, asking := x.used, make([]bool, len(all)), some()
		for c.now < end {
			// Smaller and smaller steps: in the last one nothing is kept any more.
			gap := rapid.Int64Range(30_000, 120_000).Draw(t, "gap")
			c.now += min(gap, (end-c.now+3)/4)
			c.hungry(asking, func(k int) { c.overtakes(k, ahead) })
		}
		for j, now := range c.stand(c.now)[0].used {
			owed := x.promise[j] - before[j]
			if owed <= 0 || !slices.Contains(asking, j) {
				continue
			}
			kept++
			if got := now - before[j]; got < owed-17*c.sizes[j] {
				if waited++; ahead[j] {
					t.Fatalf("%d was promised %d and got %d, by requests of %d: %+v", j, owed, got, c.sizes[j], x)
				}
			}
		}
	})
	if t.Logf("%d kept, %d behind others", kept, waited); kept < 100 {
		t.Errorf("only %d were promised something", kept)
	}
}

func drawCrowd(t *rapid.T) *crowd {
	c := &crowd{guild: newGuild(t), t: t}
	c.dims = []guildDim{{quota.Tokens, quota.Hourly, 1_000_000}}
	c.accounts = []account{{id: "c0"}}
	n := rapid.IntRange(2, 5).Draw(t, "keys")
	kind := rapid.IntRange(1, 4).Draw(t, "weights")
	for j := range n {
		m := drawMember(t, fmt.Sprint("k", j), kind, int64(n))
		m.policy, m.suspended, m.weight = "hard", false, max(m.weight, 1e6)
		c.members = append(c.members, m)
		c.sizes = append(c.sizes, rapid.SampledFrom([]int64{2_000, 5_000, 5_000, 20_000}).Draw(t, "size"))
	}
	c.configure()
	return c
}

// overtakes notes before whom a key was served that had used more for its weight, and by
// more than a sixteenth of what they ask for keeps free.
func (c *crowd) overtakes(k int, ahead []bool) {
	used := c.stand(c.now)[0].used
	for j := range ahead {
		if before := used[k] - c.sizes[k]; before*c.members[j].weight > (used[j]+17*c.sizes[j])*c.members[k].weight {
			ahead[j] = true
		}
	}
}

// TestALoneKeyInTheFold gets nearly all of a window, however many keys could ask and do
// not.
func TestALoneKeyInTheFold(t *testing.T) {
	for _, keys := range []int{2, 10, 100} {
		for _, unit := range []quota.Unit{quota.Tokens, quota.Percent} {
			g := newGuild(t)
			g.dims = []guildDim{{unit, quota.FiveHour, 100e6}}
			width := quota.FiveHour.Millis()
			g.now = (start/width + 1) * width
			g.accounts = []account{{id: "c0", reads: true, reset: g.now + width}}
			for j := range keys {
				g.members = append(g.members, member{id: fmt.Sprint("k", j), weight: 100e6 / int64(keys), policy: "hard"})
			}
			g.configure()
			g.read(&g.accounts[0])
			if got := g.servedAlone(unit, 3, 300); got < 99.98e6 {
				t.Errorf("of %d keys a lone one gets %d of 100,000,000 %v", keys, got, unit)
			}
		}
	}
}

// servedAlone has the first key take all that it may, so many times in each window, and
// tells what it got in the last one.
func (g *guild) servedAlone(unit quota.Unit, windows, times int64) (got int64) {
	width, began := quota.FiveHour.Millis(), g.now
	for w := range windows {
		got = 0
		for i := range times + 1 {
			g.now = began + w*width + min(i*width/times, width-1)
			q := g.question("k0", 0, quota.Amounts{})
			q.Explain = true
			asked := g.answer([]questions.Question{q}, g.now)
			x := asked[0].Facts.Explain(0, g.now, nil)[0].Remaining
			if x <= 0 {
				continue
			}
			got += int64(x)
			e := events.Event{Kind: events.Consumption, APIKeyID: "k0", ConnectionID: "c0"}
			e.Cost[unit] = x
			g.use(e)
		}
	}
	return got
}

// TestInAnyOrder: use that is told in another order leads to the same answers.
func TestInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := drawGuild(t)
		var list []events.Event
		for i := range rapid.IntRange(2, 12).Draw(t, "events") {
			e := one.drawHold(t)
			e.Kind, e.ID, e.LeaseMs, e.DecisionID, e.RequestID = events.Consumption, fmt.Sprint("u", i), 0, "", ""
			e.Time = start - rapid.Int64Range(0, 7_200_000).Draw(t, "ago")
			list = append(list, e)
		}
		other := newGuild(t)
		other.dims, other.accounts, other.members, other.reserve = one.dims, one.accounts, one.members, one.reserve
		other.configure()
		for i := range one.accounts {
			if one.accounts[i].until != 0 {
				other.read(&other.accounts[i])
			}
		}
		order := rapid.Permutation(list).Draw(t, "order")
		for i := range list {
			one.publish(list[i])
			other.publish(order[i])
		}
		at := start + rapid.Int64Range(0, 7_200_000).Draw(t, "later")
		if d := cmp.Diff(one.allAnswers(at), other.allAnswers(at)); d != "" {
			t.Fatalf("in another order:\n%s", d)
		}
	})
}

func (g *guild) allAnswers(at int64) (all [][]string) {
	var x quota.Amounts
	for _, d := range g.dims {
		x[d.unit] = quota.Amount(d.each / 20)
	}
	for j := range g.members {
		q := g.question(g.members[j].key(), 0, x)
		q.Explain = true
		asked := make([]projector.Asked, 1)
		g.s.Gather([]questions.Question{q}, at, asked)
		all = append(all, answerOf(&asked[0]))
	}
	return all
}
