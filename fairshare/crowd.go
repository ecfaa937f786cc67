package fairshare

import (
	"slices"

	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/windows"
)

// Crowd is how all allocations of a pool stand, for a view that asks as each of them: what
// one question gathers of all keys, and puts in order, the next ones find there. Without
// it what the view costs would be the square of the keys. It is for questions at one
// instant that are put to one state, which does not change meanwhile, and that leave no
// hold out; one of another pool or instant finds it empty, and begins anew. It belongs to
// one goroutine at a time. The zero Crowd is ready.
type Crowd struct{ peers peers }

// crowd is where the peers of the question are.
func (f *Facts) crowd() *peers {
	if f.q.Crowd != nil {
		return &f.q.Crowd.peers
	}
	return &f.peers
}

// stand is how all allocations stand in a line from an instant to before another.
type stand struct {
	from, to int64
	listed   bool // holds end; else they count as they do at first
	keys     []guarantee.Key
	groups   *guarantee.Groups
	again    bool // it was asked for more than once
}

// mostStands is how many stands a crowd remembers of each line: enough for the periods
// that the search for the end of a block goes through, unless holds end in all of them.
const mostStands = 8

// stand is how all stand in line i at instant now. They are put in groups when they are
// looked at again, for that takes longer than one look.
func (f *Facts) stand(i int, now int64) *stand {
	p := f.crowd()
	for len(p.stands) <= i {
		p.stands = append(p.stands, nil)
	}
	at := slices.IndexFunc(p.stands[i], func(s stand) bool {
		return s.listed == f.listed && s.from <= now && now < s.to
	})
	if at < 0 {
		s := stand{listed: f.listed, keys: slices.Clone(f.rows(i, now))}
		s.from, s.to = f.standing(i, now)
		if len(p.stands[i]) == mostStands {
			p.stands[i] = slices.Delete(p.stands[i], 1, 2) // the first is that of the view's instant
		}
		p.stands[i] = append(p.stands[i], s)
		return &p.stands[i][len(p.stands[i])-1]
	}
	s := &p.stands[i][at]
	if !s.again {
		s.again, s.groups = true, guarantee.Group(s.keys)
	}
	return s
}

// standing is from when on and until before when all stand in line i as at instant now: in
// that bucket, while the same readings stand and nobody's hold ends.
func (f *Facts) standing(i int, now int64) (from, to int64) {
	width := f.lines[i].window.Millis()
	bucket, _ := windows.Bucket(now, width)
	from, to = bucket*width, (bucket+1)*width
	near := func(at int64) {
		if at <= now {
			from = max(from, at)
		} else {
			to = min(to, at)
		}
	}
	for k := i * f.conns; k < (i+1)*f.conns; k++ {
		r := &f.readings[k]
		near(r.Current.Until)
		near(r.Other.Until)
		near(r.PartUntil)
	}
	if f.listed {
		for j := range f.holds {
			near(f.holds[j].End)
		}
	}
	return from, to
}
