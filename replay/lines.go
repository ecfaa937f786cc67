package replay

import (
	"cmp"
	"slices"

	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// line is a line that is being found.
type line struct {
	explanation.Line
	now  int64
	most int // events that are shown
	// shared says that it is of all keys without an allocation of their own together.
	shared bool
	// Consumption is summed by connection: each one's is floored by itself.
	sums map[string]*sums
}

// sums are what was found on one connection.
type sums struct {
	counter windows.Counter
	buckets map[int64][]explanation.Event // the largest of each, the largest first
	events  map[int64]int
	// cycle, when its provider gives the parts, is whose points they are.
	cycle *cycle
}

// newLine makes a line over connections at an instant.
func (s *search) newLine(l explanation.Line) *line {
	made := &line{Line: l, now: s.at, most: s.ask.Top, shared: s.shared(), sums: make(map[string]*sums)}
	width := l.Window.Millis()
	bucket, _ := windows.Bucket(s.at, width)
	made.From = s.at
	for _, id := range s.conns {
		x := &sums{buckets: make(map[int64][]explanation.Event), events: make(map[int64]int)}
		from := (bucket - 1) * width
		if c, ok := s.state.Cycle(id, l.Window); ok && l.Unit == quota.Percent && s.at < c.Until {
			x.cycle, from = newCycle(&c, l.Window), c.Start
		}
		made.From = min(made.From, from)
		made.sums[id] = x
	}
	return made
}

// add adds an event to the bucket that it stands in.
func (l *line) add(e *explanation.Event) {
	if e.Cost == 0 {
		return
	}
	x := l.sums[e.ConnectionID]
	index, _ := windows.Bucket(e.Time, l.Window.Millis())
	if x.counter.Add(index, e.Cost) == windows.Added {
		x.events[index]++
		x.buckets[index] = top(x.buckets[index], e, l.most)
	}
}

// top keeps the heaviest of a list, by weight or else by cost, the first of equals
// first.
func top(list []explanation.Event, e *explanation.Event, most int) []explanation.Event {
	at, _ := slices.BinarySearchFunc(list, e, func(have explanation.Event, e *explanation.Event) int {
		if heavier(&have, e) <= 0 {
			return -1
		}
		return 1
	})
	if at >= most {
		return list
	}
	return slices.Insert(list[:min(len(list), most-1)], at, *e)
}

// heavier compares so that the heavier one is first.
func heavier(a, b *explanation.Event) int {
	return cmp.Or(cmp.Compare(abs(b.Weight), abs(a.Weight)), cmp.Compare(abs(b.Cost), abs(a.Cost)), cmp.Compare(b.Split, a.Split))
}

func abs(a quota.Amount) quota.Amount { return max(a, -a) }

// finish weighs what was found.
func (l *line) finish() {
	for _, x := range l.sums {
		if x.cycle != nil {
			l.Found = quota.AddSat(l.Found, x.cycle.Part(&x.cycle.open.used))
			l.Events += x.cycle.open.events
			l.Top = append(l.Top, x.cycle.open.top...)
			continue
		}
		width := l.Window.Millis()
		counter := x.counter
		if l.shared {
			counter = windows.Others(counter)
		}
		l.Found = quota.AddSat(l.Found, counter.Effective(l.now, width))
		index, _ := windows.Bucket(l.now, width)
		index = max(index, x.counter.Index)
		for at := index - 1; at <= index; at++ {
			l.Events += x.events[at]
			for _, e := range x.buckets[at] {
				e.Weight = weigh(e.Cost, at, index, l.now, width)
				l.Top = append(l.Top, e)
			}
		}
	}
	slices.SortFunc(l.Top, func(a, b explanation.Event) int {
		return cmp.Or(heavier(&a, &b), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Index, b.Index))
	})
	l.Top = l.Top[:min(len(l.Top), l.most)]
}

// weigh returns what of an amount in a bucket counts at instant now, when the newest
// bucket of its counter is that of the index: all of it, or its share of the older
// bucket, as a counter has it that has nothing else.
func weigh(cost quota.Amount, bucket, newest, now, width int64) quota.Amount {
	c := windows.Counter{Index: bucket, Curr: abs(cost)}.Rotate(newest)
	return c.Effective(now, width) * sign(cost)
}

func sign(a quota.Amount) quota.Amount {
	if a < 0 {
		return -1
	}
	return 1
}
