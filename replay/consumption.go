package replay

import (
	"cmp"
	"context"
	"slices"

	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
)

// consumption finds the events that made up what the asker consumed, line by line.
// They are read from the log once more, from where the oldest bucket of a line
// begins: the state has sums. Of an event that the log has twice, the state knows
// which one it counted.
func (x *explainer) consumption(ctx context.Context, p *Player) error {
	s, err := x.find(ctx, p)
	if err != nil {
		return err
	}
	x.keys(p.State(), s)
	for _, l := range s.lines {
		l.finish()
		x.made.Lines = append(x.made.Lines, l.Line)
	}
	if s.missing > 0 {
		x.note("%d messages of the time that consumption is looked for in, or of right before it, are not in the log any more; what is not found is of them, or older than what the fold remembers ids for", s.missing)
	}
	x.gaps(s.missing > 0)
	return nil
}

// find looks for the events of all lines. Where in the log a provider's cycle began, and
// what came for it before, is seen only from a reading of the cycle before: so it looks
// from further and further back, until it ends in the cycle that the state is in.
func (x *explainer) find(ctx context.Context, p *Player) (*search, error) {
	for back := firstBack; ; back *= 24 {
		s := x.newSearch(p, back)
		if len(s.lines) == 0 {
			return s, nil
		}
		if err := s.read(ctx); err != nil || s.whole || s.sure() {
			return s, err
		}
	}
}

// firstBack is how long before a cycle the search for it begins: providers are heard
// more often, as a rule.
const firstBack int64 = 3_600_000 // ms

// gaps says of each line whether what was found is what was consumed. What each event, or
// each key, loses by rounding is less than the smallest amount.
func (x *explainer) gaps(missing bool) {
	rounded := false
	for i := range x.made.Lines {
		l := &x.made.Lines[i]
		gap := l.Found - l.Consumed
		switch {
		case !l.HasConsumed || gap == 0:
		case abs(gap) <= quota.Amount(l.Events):
			rounded = true
		case gap > 0:
			x.note("the events found for %s/%s weigh %s more than what was consumed, and nothing explains that", l.Unit, l.Window, gap.Format(l.Unit))
		case !missing:
			x.note("the events found for %s/%s weigh %s less than what was consumed, and nothing explains that", l.Unit, l.Window, (-gap).Format(l.Unit))
		}
	}
	if rounded {
		x.note("the events found do not weigh exactly what was consumed: shares of the older bucket and of a provider's points are rounded down for each event, and for all together")
	}
}

// linesOf returns the dimensions and the caps that the answer was judged by.
func (s *search) linesOf() (list []*line) {
	add := func(l explanation.Line) {
		for _, have := range list {
			if have.Unit == l.Unit && have.Window == l.Window && have.Model == l.Model {
				return
			}
		}
		list = append(list, s.newLine(l))
	}
	q := &s.made.Question
	for i := range s.made.Reply.Dimensions {
		d := &s.made.Reply.Dimensions[i]
		add(explanation.Line{Unit: d.Unit, Window: d.Window, Consumed: d.Consumed, HasConsumed: true})
	}
	pool := s.asked[0].Pool
	if pool == nil {
		return list
	}
	for _, c := range capsOf(pool, q.APIKeyID) {
		add(explanation.Line{Unit: c.Unit, Window: c.Window})
	}
	for _, c := range pool.ModelCaps {
		if c.APIKeyID == q.APIKeyID && q.Model != "" && c.Model == q.Model {
			add(explanation.Line{Unit: c.CapUnit, Window: quota.Hourly, Model: c.Model})
		}
	}
	return list
}

// capsOf are the caps of a key's allocation, which may be that of all others.
func capsOf(pool *plans.Pool, key string) []plans.Cap {
	for _, id := range []string{key, quota.AllOthers} {
		if at := slices.IndexFunc(pool.Allocations, func(a plans.Allocation) bool { return a.APIKeyID == id }); at >= 0 {
			return pool.Allocations[at].Caps
		}
	}
	return nil
}

// keys adds who consumed most of each dimension. The row of all keys without an
// allocation of their own is left out: it is the sum of others that are there.
func (x *explainer) keys(state *projector.State, s *search) {
	pool := x.asked[0].Pool
	if pool == nil {
		return
	}
	u, ok := state.Usage(pool.ID, x.at)
	if !ok {
		return
	}
	for i := range u.Dimensions {
		d := &u.Dimensions[i]
		for _, l := range s.lines {
			if d.Unit == l.Unit && d.Window == l.Window && l.Model == "" {
				l.Keys = largest(u.Keys, d.Uses, x.ask.Top)
			}
		}
	}
}

// largest returns who used most, the most first, and nobody who used nothing.
func largest(keys []usage.Key, uses []usage.Use, most int) (list []explanation.KeyUse) {
	for i, k := range keys {
		if uses[i].Consumed > 0 && !(k.Own && k.ID == quota.AllOthers) {
			list = append(list, explanation.KeyUse{APIKeyID: k.ID, Consumed: uses[i].Consumed})
		}
	}
	slices.SortStableFunc(list, func(a, b explanation.KeyUse) int { return cmp.Compare(b.Consumed, a.Consumed) })
	return list[:min(len(list), most)]
}
