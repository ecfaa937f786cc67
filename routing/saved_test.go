package routing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// sound is a backlog in the middle of a visit.
func sound() routing.Saved {
	return routing.Saved{
		Turns: []routing.Turn{{Key: 7, Deficit: 3, Waiting: 2}, {Key: 4, Waiting: 1}},
		Waiters: []routing.Waiter{
			{Ticket: 9, Key: 7, Cost: 5, Arrived: 100, Deadline: 200, Lease: 50},
			{Ticket: 2, Key: 7, Cost: 1, Arrived: 101, Deadline: 150, Lease: 60},
			{Ticket: 3, Key: 4, Cost: quota.Tokens.Max(), Arrived: 90, Deadline: 190, Lease: 70},
		},
		Given: true, Wake: 170,
	}
}

func TestRestore(t *testing.T) {
	b, err := routing.Restore(sound())
	must(t, err)
	if d := cmp.Diff(sound(), b.Save()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if b.Due() != 150 {
		t.Errorf("due at %d, want 150", b.Due())
	}
	b.Remove(2)
	if b.Due() != 170 {
		t.Errorf("due at %d, want 170", b.Due())
	}
	most := sound()
	most.Turns[1].Deficit = quota.Tokens.Max() + 100e6
	if _, err = routing.Restore(most); err != nil {
		t.Errorf("the most that can be saved: %v", err)
	}
	if b, err = routing.Restore(routing.Saved{}); err != nil || b.Len() != 0 || b.Due() != routing.Never {
		t.Errorf("of nothing: %v", err)
	}
}

// TestRestoredAgain: nothing is kept from one that was saved, and the places of those
// that are gone are used again.
func TestRestoredAgain(t *testing.T) {
	b, err := routing.Restore(sound())
	must(t, err)
	before := b.Save()
	c, err := routing.Restore(before)
	must(t, err)
	c.Remove(9)
	must(t, c.Push(routing.Waiter{Ticket: 5, Key: 4, Cost: 1}))
	if d := cmp.Diff(sound(), b.Save()); d != "" {
		t.Errorf("the other one changed (-want +got):\n%s", d)
	}
	var turns []routing.Turn
	for turn := range c.Turns() {
		turns = append(turns, turn)
	}
	if d := cmp.Diff([]routing.Turn{{Key: 7, Deficit: 1, Waiting: 1}, {Key: 4, Waiting: 2}}, turns); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestWhatIsNoBacklog(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(s *routing.Saved)
	}{
		{"turns: key 7 has 0 waiting of 3 that are left", func(s *routing.Saved) { s.Turns[0].Waiting = 0 }},
		{"turns: key 7 has -1 waiting of 3 that are left", func(s *routing.Saved) { s.Turns[0].Waiting = -1 }},
		{"turns: key 4 has 2 waiting of 1 that are left", func(s *routing.Saved) { s.Turns[1].Waiting = 2 }},
		{"turns: key 7 is there twice", func(s *routing.Saved) { s.Turns[1].Key = 7 }},
		{"waiters: 1 are of no turn", func(s *routing.Saved) { s.Turns = s.Turns[:1] }},
		{"waiters: ticket 2 is of key 4 in the turn of 7", func(s *routing.Saved) { s.Waiters[1].Key = 4 }},
		{"waiters: ticket 9: ticket: waits already: remove it first", func(s *routing.Saved) { s.Waiters[2].Ticket = 9 }},
		{"waiters: ticket 9: cost: is not within what one amount can be: take that of Cost", func(s *routing.Saved) { s.Waiters[0].Cost = 0 }},
		{"waiters: ticket 3: cost: is not within what one amount can be: take that of Cost", func(s *routing.Saved) { s.Waiters[2].Cost++ }},
		{"turns: key 7 has saved -1", func(s *routing.Saved) { s.Turns[0].Deficit = -1 }},
		{"turns: key 4 has saved 1000000100000001", func(s *routing.Saved) { s.Turns[1].Deficit = quota.Tokens.Max() + 100e6 + 1 }},
		{"wake: -1 is before 1970", func(s *routing.Saved) { s.Wake = -1 }},
		{"given: nobody waits", func(s *routing.Saved) { s.Turns, s.Waiters = nil, nil }},
	} {
		s := sound()
		c.spoil(&s)
		got := "none"
		if _, err := routing.Restore(s); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestTooManyToRestore(t *testing.T) {
	s := routing.Saved{Turns: []routing.Turn{{Key: 1}}}
	for i := range routing.MaxWaiting + 1 {
		s.Waiters = append(s.Waiters, routing.Waiter{Ticket: routing.Ticket(i), Key: 1, Cost: 1})
	}
	s.Turns[0].Waiting = routing.MaxWaiting
	kept := s.Waiters
	s.Waiters = kept[1:]
	_, err := routing.Restore(s)
	must(t, err)
	s.Waiters, s.Turns[0].Waiting = kept, routing.MaxWaiting+1
	if _, err = routing.Restore(s); err == nil || err.Error() != "waiters: 10001, more than 10000" {
		t.Error(err)
	}
}

// TestLookingMayStop: a list is not read to its end.
func TestLookingMayStop(t *testing.T) {
	b, err := routing.Restore(sound())
	must(t, err)
	for range b.Turns() {
		break
	}
	for range b.Waiting(7) {
		break
	}
	for w := range b.Waiting(8) {
		t.Errorf("%d waits of a key that has nothing", w.Ticket)
	}
}
