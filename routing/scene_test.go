package routing_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// scene is the least that a fold does with choices and a backlog: requests of one
// pool come, hold a place until they end or their lease does, or wait for one.
type scene struct {
	names   []string
	list    []routing.Candidate
	flying  []flight
	backlog routing.Backlog
	keys    []string // by routing.Key
	weights map[string]quota.Ratio
	now     int64
	over    []routing.Ticket // their deadlines came
	usedUp  uint32           // what is wanted that may not pass, 0 = nothing
	out     strings.Builder
}

type flight struct {
	ticket routing.Ticket
	on     int
	end    int64
}

func (s *scene) say(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

func (s *scene) key(name string) routing.Key {
	if i := slices.Index(s.keys, name); i >= 0 {
		return routing.Key(i)
	}
	s.keys = append(s.keys, name)
	return routing.Key(len(s.keys) - 1)
}

// Quantum and Passes are the rules: there must be room, and what is wanted not used up.
func (s *scene) Quantum(k routing.Key) quota.Amount {
	return routing.Quantum(s.weights[s.keys[k]])
}

func (s *scene) Passes(w *routing.Waiter) (bool, int64) {
	if w.Want != 0 && w.Want == s.usedUp {
		return false, routing.Never
	}
	if routing.Choose(s.list).Winner >= 0 {
		return true, routing.Never
	}
	return false, slices.Min(append(s.rooms(), routing.Never))
}

// rooms are the instants at which leases make room.
func (s *scene) rooms() (all []int64) {
	for i, c := range s.list {
		var ends []int64
		for _, f := range s.flying {
			if f.on == i {
				ends = append(ends, f.end)
			}
		}
		slices.Sort(ends)
		all = append(all, ends[max(0, len(ends)-int(c.MaxConcurrent)):]...)
	}
	return all
}

// at lets time go by.
func (s *scene) at(now int64) {
	s.now = now
	over := slices.Clone(s.flying)
	slices.SortStableFunc(over, func(a, b flight) int { return cmp.Compare(a.end, b.end) })
	for _, f := range over {
		if f.end <= now {
			s.say("  the lease of %d is over", f.ticket)
			s.end(f.ticket)
		}
	}
	for w, ok := s.backlog.Expire(now); ok; w, ok = s.backlog.Expire(now) {
		s.over = append(s.over, w.Ticket)
	}
}

func (s *scene) freeAt() string {
	var p routing.Play
	p.Begin(s.now)
	for i, c := range s.list {
		var ends []int64
		for _, f := range s.flying {
			if f.on == i {
				ends = append(ends, f.end)
			}
		}
		c.Pool = 1
		p.Place(c, ends, c.Gate() != routing.Capacity)
	}
	p.Line(&s.backlog, 1, s.Quantum, anyOfPool)
	p.Run()
	at := routing.Never
	for i := range s.list {
		if s.list[i].Gate() == routing.Capacity {
			at = min(at, p.FreeAt(i))
		}
	}
	if at == routing.Never {
		return "no time"
	}
	return fmt.Sprint(at)
}

// end ends a request wherever it is.
func (s *scene) end(t routing.Ticket) {
	if _, ok := s.backlog.Remove(t); ok {
		s.say("  %d has left its place", t)
	}
	s.flying = slices.DeleteFunc(s.flying, func(f flight) bool {
		if f.ticket == t {
			s.list[f.on].InFlight--
		}
		return f.ticket == t
	})
}

// serve lets go whoever may, and then answers those whose time is over: what is free
// until then is not for them.
func (s *scene) serve() {
	for w, ok := s.backlog.Next(s); ok; w, ok = s.backlog.Next(s) {
		s.say("  %d of %s goes to %s", w.Ticket, s.keys[w.Key], s.names[s.hold(w)])
	}
	for _, t := range s.over {
		s.say("  %d has waited long enough: refused, free at %s", t, s.freeAt())
	}
	s.over = s.over[:0]
}

// hold gives a request its place, and returns the connection.
func (s *scene) hold(w routing.Waiter) int {
	c := routing.Choose(s.list)
	c.Pay(s.list)
	s.list[c.Winner].InFlight++
	s.flying = append(s.flying, flight{w.Ticket, c.Winner, s.now + w.Lease})
	return c.Winner
}

// ask is a request that comes. Nobody overtakes those of the same key.
func (s *scene) ask(w routing.Waiter) {
	ok, _ := s.Passes(&w)
	switch {
	case ok && s.backlog.LenOf(w.Key) == 0:
		s.say("  %d goes to %s", w.Ticket, s.names[s.hold(w)])
	case w.Deadline > s.now && s.backlog.Push(w) == nil:
		s.say("  %d waits", w.Ticket)
	default:
		s.say("  %d is refused, %s: free at %s", w.Ticket, routing.Choose(s.list).Gate, s.freeAt())
	}
}

// state shows what an operator sees.
func (s *scene) state() string {
	var parts []string
	for i, c := range s.list {
		part := fmt.Sprintf("%s %d", s.names[i], c.InFlight)
		if c.MaxConcurrent > 0 {
			part += fmt.Sprintf(" of %d", c.MaxConcurrent)
		}
		parts = append(parts, part)
	}
	out := "in flight: " + strings.Join(parts, ", ")
	for t := range s.backlog.Turns() {
		for w := range s.backlog.Waiting(t.Key) {
			out += fmt.Sprintf("; %s waits with %d, for %d s", s.keys[t.Key], t.Waiting, s.now-w.Arrived)
			break
		}
	}
	if due := s.backlog.Due(); due != routing.Never {
		out += fmt.Sprintf("; look again at %d", due)
	}
	return out + "\n"
}
