package fairshare

import (
	"sort"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// Reach is how far one key of a pool could come in one dimension if nobody else used it,
// by requests of the smallest amount.
type Reach struct {
	AtOnce quota.Amount // in the first instant of a window in which nothing was used
	ByEnd  quota.Amount // by the last one
}

// Reacher finds out what the keys of a pool could use. It asks the rules themselves, with
// what was used so far written down, and has no formula of its own. It belongs to one
// goroutine at a time.
type Reacher struct {
	Pool      *plans.Resolved
	Rule      plans.Rule  // that the pool is taken to have
	Threshold quota.Ratio // of the rule threshold

	facts Facts
	known map[reachable]Reach
}

// reachable is what two keys have in common that reach as far as each other.
type reachable struct {
	dimension int
	weight    quota.Ratio
	policy    plans.Policy
	suspended bool
	capUnit   quota.Unit
	capValue  quota.Amount
}

// Of returns how far an allocation reaches in dimension i; ok is false when its limit is
// unknown. Caps count: those of a shorter window than the dimension's only for what can be
// used at once, for by the end they have let pass more than once what they do. The mode of
// the pool and the bounds on what is in flight do not, and in percent the provider is taken
// to speak of a cycle that begins.
func (r *Reacher) Of(i, allocation int) (reach Reach, ok bool) {
	d, a := &r.Pool.Dimensions[i], &r.Pool.Pool.Allocations[allocation]
	if d.Limit == 0 {
		return reach, false
	}
	same := reachable{i, a.Weight, a.Policy, a.Suspended, a.CapUnit, a.CapValue}
	if reach, ok = r.known[same]; ok && len(a.Caps) == 0 {
		return reach, true
	}
	pool := *r.Pool.Pool
	pool.Rule, pool.Mode = r.Rule, plans.Enforce
	one := *r.Pool
	one.Pool, one.Dimensions = &pool, r.Pool.Dimensions[i:i+1]
	blank := blank{PoolDimension: d, as: allocation, who: allocation}
	reach.AtOnce = r.most(&one, blank, 0)
	blank.late = true
	reach.ByEnd = max(reach.AtOnce, r.most(&one, blank, d.Window.Millis()-1))
	if len(a.Caps) == 0 {
		if r.known == nil {
			r.known = map[reachable]Reach{}
		}
		r.known[same] = reach
	}
	return reach, true
}

// most returns after how much the smallest request is blocked, so long after the window
// began. Whoever may not pass after so much may not after more, so halving finds it; and
// as a window is rarely too short for all of it, the end is looked at first.
func (r *Reacher) most(pool *plans.Resolved, b blank, elapsed int64) quota.Amount {
	allows := func(used quota.Amount) bool {
		b.used = used
		q := Question{
			Pool: pool, Allocation: b.who, Connection: b.serving(), Threshold: r.Threshold,
			SoftFactor: quota.RatioOne, NoRetry: true, Brief: true,
		}
		q.Estimate[b.Unit] = 1
		now := b.began() + elapsed
		r.facts.Gather(&q, b, now)
		return !r.facts.Judge(now).Reason.Blocks()
	}
	if allows(b.Limit - 1) {
		return b.Limit
	}
	return quota.Amount(sort.Search(int(b.Limit-1), func(used int) bool { return !allows(quota.Amount(used)) }))
}

// blank is a state in which one allocation used so much of one dimension, and nobody
// anything else.
type blank struct {
	*plans.PoolDimension
	as, who int // the allocation that reads, and the one that used
	used    quota.Amount
	late    bool // it did so by and by
}

// began is when the window did: some bucket.
func (b blank) began() int64 { return 1000 * b.Window.Millis() }

// on is what was used of a connection: it is used up before the next one is used.
func (b blank) on(conn int) quota.Amount {
	rest := b.used
	for _, limit := range b.PerConnection[:conn] {
		rest -= min(rest, limit)
	}
	return min(rest, b.PerConnection[conn])
}

// serving is the connection that is used next.
func (b blank) serving() int {
	for conn, limit := range b.PerConnection {
		if b.on(conn) < limit {
			return conn
		}
	}
	return len(b.PerConnection) - 1
}

// has reports whether what was used counts for a cap of that window.
func (b blank) has(u quota.Unit, w quota.Window) bool {
	return u == b.Unit && b.as == b.who && (!b.late || w.Millis() >= b.Window.Millis())
}

func (b blank) counter(conn int, w quota.Window) windows.Counter {
	index, _ := windows.Bucket(b.began(), w.Millis())
	if b.late {
		index, _ = windows.Bucket(b.began()+b.Window.Millis()-1, w.Millis())
	}
	return windows.Counter{Index: index, Curr: b.on(conn)}
}

func (b blank) As(allocation int) Counters { b.as = allocation; return b }

func (b blank) Key(conn int, u quota.Unit, w quota.Window) windows.Counter {
	if u == quota.Percent || !b.has(u, w) {
		return windows.Counter{}
	}
	return b.counter(conn, w)
}

func (b blank) Total(conn int, u quota.Unit, w quota.Window) windows.Counter {
	if u == quota.Percent || u != b.Unit || w != b.Window {
		return windows.Counter{}
	}
	return b.counter(conn, w)
}

func (b blank) Model(int, quota.Unit) windows.Counter { return windows.Counter{} }

func (b blank) Reading(conn int, w quota.Window) (r Reading) {
	if b.Unit != quota.Percent {
		return r
	}
	end := b.began() + max(w.Millis(), b.Window.Millis())
	r.Current, r.PartUntil = Level{Until: end, ResetAt: end, Observed: b.began()}, end
	if w == b.Window {
		r.Current.Used = b.on(conn)
	}
	if b.has(b.Unit, w) {
		r.Part = b.on(conn)
	}
	return r
}

func (b blank) Scoped(_ int, _ quota.Window, dst []Level) []Level { return dst }

func (b blank) Held(quota.Unit, quota.Amount, Whose, int64) quota.Amount { return 0 }

func (b blank) Holds(dst []Hold) []Hold { return dst }
