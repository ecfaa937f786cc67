package projector_test

import (
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// TestAFloodOfThoseWhoLeaveNoHeadroom shows how far the promise of a sliding window goes.
// Two keys share 1,000 tokens an hour, the one used all of them in the last hour, and both
// ask whenever a token comes free: the one for 1, the other for 2. A hard key leaves a
// sixteenth of the gap free, in which the other comes in. A burst or soft key leaves none,
// and a key without an allocation neither: each token is taken before there are two. What
// is promised remains free of this bucket's use, and the room of it goes to the flood.
func TestAFloodOfThoseWhoLeaveNoHeadroom(t *testing.T) {
	for _, c := range []struct {
		flood, policy string
		size          int64
		least, most   int64
	}{
		{"a", "hard", 2, 464, 1_000},
		{"a", "burst", 2, 0, 0},
		{"a", "soft", 2, 0, 0},
		{"nobody", "hard", 2, 0, 0},
		{"a", "hard", 1, 464, 1_000},
		{"a", "burst", 1, 0, 0}, // it asks first each time
	} {
		promised, got := flooded(t, c.flood, c.policy, c.size)
		if promised != 499 || got < c.least || got > c.most {
			t.Errorf("against %s (%s), by %d: promised %d and got %d, want %d to %d of 499", c.flood, c.policy, c.size, promised, got, c.least, c.most)
		}
	}
}

// flooded has b ask for requests of a size, each time after the flood had its turn, and
// tells what it was promised at the beginning of the bucket and what it had at the end.
func flooded(t *testing.T, by, policy string, size int64) (promised, got int64) {
	g := newGuild(t)
	g.dims = []guildDim{{quota.Tokens, quota.Hourly, 1_000}}
	g.accounts = []account{{id: "c0"}}
	g.members = []member{{id: "a", weight: 50e6, policy: policy}, {id: "b", weight: 50e6, policy: "hard"}}
	g.now = (start/hour+1)*hour - 1
	g.configure()
	take := func(key string, x int64) bool {
		h := g.holdOf(key, 0, quota.Amounts{quota.Tokens: quota.Amount(x)})
		if !g.hold(h) {
			return false
		}
		g.publish(events.Event{Kind: events.Consumption, APIKeyID: key, ConnectionID: "c0", RequestID: h.RequestID, Cost: h.Cost, Given: h.Given})
		return true
	}
	take(by, 1_000)
	end := g.now + hour
	g.now++
	promised = g.stand(g.now)[0].owed(1)
	for ; g.now <= end; g.now += 1_800 {
		for more := true; more; {
			more = take(by, 1)
			more = take("b", size) || more
		}
	}
	return promised, g.stand(end)[0].used[1]
}
