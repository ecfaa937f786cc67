package fairshare

import (
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// Modes as shown.
const (
	strictMode   = "strict"
	generousMode = "generous"
	promiseMode  = "guarantee"
)

// Explain appends how the dimensions of the plan look at instant now to the
// asker on the serving connection conn, in plan order. Caps of their own
// windows are not dimensions; where they limit a dimension's unit and window,
// they show in its Remaining. Who caused the points that the provider tells of
// is shown when the question said Explain.
func (f *Facts) Explain(conn int, now int64, dst []questions.Dimension) []questions.Dimension {
	f.measure(now)
	for i := range f.lines {
		if f.lines[i].kind == dimension {
			f.serve(i, conn, now)
			d := f.explain(i)
			if f.q.Explain {
				d.Attributed, d.Unattributed, d.HasSplit = f.readings[i*f.conns+conn].split(now)
				d.KeptFor = f.keptFor(i)
			}
			dst = append(dst, d)
		}
	}
	return dst
}

func (f *Facts) explain(i int) questions.Dimension {
	l, n := &f.lines[i], &f.numbers[i]
	d := questions.Dimension{
		Unit: l.unit, Window: l.window, Limit: n.limit,
		Consumed: n.consumed, Held: n.held, ConsumedTotal: n.total, HeldTotal: n.heldTotal,
		Mode: generousMode, ResetAt: n.resetAt, ObservedAt: n.observed,
	}
	if n.used != unknownUsed {
		d.ProviderUsed, d.HasProvider = n.used, true
	}
	strict := n.strict(f.q.Threshold)
	if strict {
		d.Mode = strictMode
	}
	if n.guaranteed {
		p := &n.promise
		d.Mode, d.Promised, d.Kept, d.Headroom, d.HasPromise = promiseMode, p.Promised, p.Kept, p.Headroom, true
	}
	if n.limit > 0 && n.shared {
		d.FairShare, d.HasFairShare = n.share, true
		d.Deficit = n.consumed - n.share
		d.Borrowing = d.Deficit > 0
	}
	if n.limit > 0 {
		d.Remaining, d.HasRemaining = f.remaining(i, strict), true
	}
	return d
}

// remaining is what the key may still use of a dimension with a known limit:
// the least of what its caps, the pool and, when strict holds it to that, its
// share leave it.
func (f *Facts) remaining(i int, strict bool) quota.Amount {
	l, n := &f.lines[i], &f.numbers[i]
	left := n.limit
	if !n.guaranteed { // else the rule knows what is used, in a cycle not as we count it
		left -= min(n.t(), n.limit)
	}
	for k := range f.lines {
		c := &f.lines[k]
		own := k == i || c.kind == capped && c.unit == l.unit && c.window == l.window
		if m := &f.numbers[k]; own && m.cap > 0 {
			left = min(left, m.cap-m.againstC)
		}
	}
	switch {
	case n.guaranteed:
		left = f.mostAllowed(i, max(left, 0))
	case strict && n.shared && f.policy() == plans.Hard:
		left = min(left, n.share-n.c())
	}
	return max(left, 0)
}

// mostAllowed is the most that the rule guarantee lets the asker use at once of line i,
// up to most.
func (f *Facts) mostAllowed(i int, most quota.Amount) quota.Amount {
	n := &f.numbers[i]
	return f.period(i, n, f.measured).Most(f.asker(n.estimate), most)
}
