package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/windows"
)

// ofPool names a dimension of a pool.
type ofPool struct {
	pool   string
	unit   quota.Unit
	window quota.Window
}

// bucket is the newest one in which somebody asked, and what is known of those before.
type bucket struct {
	whatif.Capacity
	index int64
	taken bool // it is over, and nobody asked since
	// blocked: the dimension stopped somebody in it; wanted is what of, as far as nobody
	// served it later.
	blocked bool
	wanted  quota.Amount
}

// watch looks at the buckets of a pool that have ended at that instant, since something
// is about to be counted in another one: at the first instant of the next bucket the
// total is exactly what was consumed in it. What comes later for it is not seen. asks
// says that somebody asks there, as an adjustment does not. look has a question to be
// explained gathered for an instant.
func (s *side) watch(pool *plans.Resolved, at int64, asks bool, look func(q *questions.Question, end int64)) {
	if pool == nil {
		return
	}
	for i := range pool.Dimensions {
		d := &pool.Dimensions[i]
		index, _ := windows.Bucket(at, d.Window.Millis())
		name := ofPool{pool.Pool.ID, d.Unit, d.Window}
		b := s.capacity[name]
		if b == nil && asks {
			s.capacity[name] = &bucket{index: index}
		}
		if b == nil || index <= b.index {
			continue
		}
		if !b.taken {
			end := (b.index + 1) * d.Window.Millis()
			look(&questions.Question{Explain: true}, end)
			b.take(&s.asked[0], name, end)
		}
		if b.taken = !asks; asks {
			b.index, b.blocked, b.wanted = index, false, 0
		}
	}
}

// take counts the bucket that ends at that instant.
func (b *bucket) take(a *projector.Asked, name ofPool, end int64) {
	for _, d := range a.Facts.Explain(0, end, nil) {
		if d.Unit != name.unit || d.Window != name.window || d.Limit == 0 {
			continue
		}
		b.Buckets++
		b.Limit = quota.AddSat(b.Limit, d.Limit)
		b.Used = quota.AddSat(b.Used, d.ConsumedTotal)
		unused := max(0, d.Limit-d.ConsumedTotal)
		b.Unused = quota.AddSat(b.Unused, unused)
		if b.blocked {
			b.Withheld = quota.AddSat(b.Withheld, unused)
			b.Wanted = quota.AddSat(b.Wanted, min(unused, b.wanted))
		}
	}
}

// capacities takes the buckets that are open, and puts both sides together.
func (w *whatIf) capacities() (list []whatif.Pool) {
	at := make(map[ofPool]int)
	for i, s := range w.sides {
		for name, b := range s.capacity {
			s.finish(name, b)
			k, known := at[name]
			if !known {
				k = len(list)
				at[name] = k
				list = append(list, whatif.Pool{PoolID: name.pool, Unit: name.unit, Window: name.window})
			}
			list[k].Sides[i] = b.Capacity
		}
	}
	// Of a dimension that was never looked at with a limit there is nothing to say: its
	// limit was not known, or it went before a bucket of it ended.
	list = slices.DeleteFunc(list, func(p whatif.Pool) bool {
		return p.Sides[whatif.Before].Buckets+p.Sides[whatif.After].Buckets == 0
	})
	slices.SortFunc(list, func(a, b whatif.Pool) int {
		return cmp.Or(strings.Compare(a.PoolID, b.PoolID), cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Window, b.Window))
	})
	return list
}

// finish takes the bucket that is open when the range ends, as it stands.
func (s *side) finish(name ofPool, b *bucket) {
	if _, there := s.p.State().Pool(name.pool); !there || b.taken {
		return
	}
	end := (b.index + 1) * name.window.Millis()
	s.look(&questions.Question{Pool: name.pool, Explain: true}, end)
	b.take(&s.asked[0], name, end)
}

// watchArrival is watch before an event is counted. Nobody asked for an adjustment, but
// one of the next bucket would be counted in the one before too, whose end is the first
// instant of the next.
func (s *side) watchArrival(x *projector.Arrival) {
	asks := x.Event.Kind == events.Consumption
	s.watch(x.Pool(), x.At, asks, func(q *questions.Question, end int64) {
		q.APIKeyID, q.ConnectionID = x.Event.APIKeyID, x.Event.ConnectionID
		x.Judge(q, &s.asked[0], end)
	})
}

// watchBetween is watch between two messages.
func (s *side) watchBetween(connectionID string, at int64) {
	s.watch(s.p.State().Resolved(connectionID), at, true, func(q *questions.Question, end int64) {
		q.ConnectionID = connectionID
		s.look(q, end)
	})
}

// look gathers a question between two messages.
func (s *side) look(q *questions.Question, at int64) {
	q.At = at
	s.p.State().Gather([]questions.Question{*q}, at, s.asked[:])
}
