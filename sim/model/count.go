package model

import (
	"math/big"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// widths are the windows in milliseconds.
var widths = [...]int64{
	quota.Hourly: 3_600_000, quota.FiveHour: 18_000_000, quota.Daily: 86_400_000,
	quota.Weekly: 604_800_000, quota.Monthly: 2_592_000_000, quota.Rate: 86_400_000,
}

// who says whose uses and holds are summed.
type who func(key, model string) bool

func everybody(string, string) bool { return true }

// count is the sliding value of the uses of one connection at an instant. at
// says whose; the newest bucket is that of all whose uses move the window on.
//
//	uses in the bucket of now + floor(those in the one before × what is left of now's / W)
func (m *Model) count(connection string, u quota.Unit, w quota.Window, at int64, mine, moves who) quota.Amount {
	now, before, left := m.buckets(connection, u, w, at, mine, moves)
	return slide(now, before, left, widths[w])
}

// buckets are what count has in the newest bucket and in the one before, and how much is
// left of the newest. An instant before the newest bucket reads it at its start: time
// never runs backwards in a counter.
func (m *Model) buckets(connection string, u quota.Unit, w quota.Window, at int64, mine, moves who) (now, before quota.Amount, left int64) {
	width := widths[w]
	bucket, elapsed := at/width, at%width
	for i := range m.uses[connection] {
		x := &m.uses[connection][i]
		if x.cost[u] != 0 && x.at/width > bucket && moves(x.key, x.model) {
			bucket, elapsed = x.at/width, 0
		}
	}
	for i := range m.uses[connection] {
		x := &m.uses[connection][i]
		if x.cost[u] == 0 || !mine(x.key, x.model) {
			continue
		}
		switch x.at / width {
		case bucket:
			now += x.cost[u]
		case bucket - 1:
			before += x.cost[u]
		}
	}
	return now, before, width - elapsed
}

// slide is the value of two buckets. All other keys together have none below 0:
// with theirs alone that is the same as for a single counter, whose sum is.
func slide(now, before quota.Amount, left, width int64) quota.Amount {
	if before > 0 {
		part := new(big.Int).Mul(big.NewInt(int64(before)), big.NewInt(left))
		now += quota.Amount(part.Quo(part, big.NewInt(width)).Int64())
	}
	return max(now, 0)
}

// unlisted are the buckets of all keys that have no allocation of their own, together:
// what the total has more than the listed keys, the newest not below 0.
func (m *Model) unlisted(p *plans.Pool, connection string, u quota.Unit, w quota.Window, at int64) (now, before quota.Amount, left int64) {
	theirs := func(key, _ string) bool { return !listed(p, key) }
	now, before, left = m.buckets(connection, u, w, at, theirs, everybody)
	return max(now, 0), before, left
}

// others is count for them.
func (m *Model) others(p *plans.Pool, connection string, u quota.Unit, w quota.Window, at int64) quota.Amount {
	now, before, left := m.unlisted(p, connection, u, w, at)
	return slide(now, before, left, widths[w])
}

// listed reports whether the key has an allocation of its own.
func listed(p *plans.Pool, key string) bool {
	for i := range p.Allocations {
		if p.Allocations[i].APIKeyID == key && key != "*" {
			return true
		}
	}
	return false
}

// held sums the holds on the pool's connections that are open at an instant, each
// with at most the given amount (0 = no bound), but for the one of the question.
func (m *Model) held(p *plans.Pool, q *Question, u quota.Unit, most quota.Amount, at int64, mine who) (sum quota.Amount) {
	for name, h := range m.holds {
		if at >= h.end || placeOf(p, h.connection) < 0 || !mine(h.key, h.model) {
			continue
		}
		if q.Request != "" && name == (requestName{q.Key, q.Request}) {
			continue
		}
		if most > 0 {
			sum += min(h.amounts[u], most)
		} else {
			sum += h.amounts[u]
		}
	}
	return sum
}

// share is floor(limit × weight / max(100, Σ weights)); of weights that are all
// 0, an equal part.
func share(limit quota.Amount, p *plans.Pool, allocation int) quota.Amount {
	var sum int64
	for i := range p.Allocations {
		sum += int64(p.Allocations[i].Weight)
	}
	if sum == 0 {
		return limit / quota.Amount(len(p.Allocations))
	}
	sum = max(sum, 100_000_000)
	x := new(big.Int).Mul(big.NewInt(int64(limit)), big.NewInt(int64(p.Allocations[allocation].Weight)))
	return quota.Amount(x.Quo(x, big.NewInt(sum)).Int64())
}
