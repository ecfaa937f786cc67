package routing_test

import (
	"testing"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

func TestFreeAt(t *testing.T) {
	for _, c := range []struct {
		what    string
		rooms   []int64
		waiters []routing.Waiter
		want    int64
	}{
		{"nobody waits", []int64{70, 50}, nil, 50},
		{"a place is free already", []int64{20}, nil, 40},
		{"one goes before", []int64{50}, []routing.Waiter{{Deadline: 60, Lease: 100}}, 150},
		{"one goes before, and there are two places", []int64{50, 55}, []routing.Waiter{{Deadline: 60, Lease: 100}}, 55},
		{"one has left until then", []int64{50}, []routing.Waiter{{Deadline: 50, Lease: 100}}, 50},
		{"the second has left until the first is done", []int64{50}, []routing.Waiter{{Deadline: 60, Lease: 5}, {Deadline: 55, Lease: 5}}, 55},
		{"the second has not", []int64{50}, []routing.Waiter{{Deadline: 60, Lease: 5}, {Deadline: 56, Lease: 5}}, 60},
		{"a short lease goes first", []int64{50, 100}, []routing.Waiter{{Deadline: 99, Lease: 1}, {Deadline: 99, Lease: 100}}, 100},
	} {
		var b routing.Backlog
		for i, w := range c.waiters {
			w.Ticket, w.Key, w.Cost = routing.Ticket(i+1), 1, 1
			must(t, b.Push(w))
		}
		if got := freeAt(&b, 40, c.rooms, everybody); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}

// freeAt plays a backlog of a connection that takes as many as are held, which end then.
func freeAt(b *routing.Backlog, now int64, ends []int64, r routing.Rules) int64 {
	var p routing.Play
	p.Begin(now)
	at := p.Place(routing.Candidate{Pool: 1, Weight: 1, MaxConcurrent: int64(len(ends))}, ends, false)
	p.Line(b, 1, r.Quantum, anyOfPool)
	p.Run()
	return p.FreeAt(at)
}

func anyOfPool(routing.Ticket) ([]int, bool) { return nil, false }

// TestTooManyToPlay: who comes is told of the end of all, rather than keep everybody
// waiting.
func TestTooManyToPlay(t *testing.T) {
	var b routing.Backlog
	for i := range 9_000 {
		must(t, b.Push(routing.Waiter{Ticket: routing.Ticket(i + 1), Key: routing.Key(i % 1_000), Cost: 10 * quota.Amount(i+1), Deadline: 50_000 + int64(i), Lease: 10}))
	}
	r := &rules{}
	if at := freeAt(&b, 0, []int64{100}, r); at != 50_000+8_999+10 {
		t.Errorf("free at %d", at)
	}
	if at := freeAt(&b, 0, []int64{90_000}, r); at != 90_000 {
		t.Errorf("free at %d when all have left before", at)
	}
}

// TestWhoIsKeptFromAPlace does not take it, now or later; and one that has chosen places
// takes no other.
func TestWhoIsKeptFromAPlace(t *testing.T) {
	var b routing.Backlog
	for i := range 2 {
		must(t, b.Push(routing.Waiter{Ticket: routing.Ticket(i + 1), Key: 1, Want: uint32(i), Cost: 1, Deadline: 1_000, Lease: 100}))
	}
	var p routing.Play
	for _, c := range []struct {
		chosen [2][]int
		want   [4]int64
	}{
		{[2][]int{nil, nil}, [4]int64{0, 120, 130, 40}},
		{[2][]int{{2}, {2}}, [4]int64{0, 20, 230, 40}},
		{[2][]int{{0}, {3}}, [4]int64{0, 20, 30, 140}},
		{[2][]int{{2, 1}, nil}, [4]int64{0, 120, 130, 40}},
	} {
		p.Begin(0)
		for i, end := range []int64{10, 20, 30, 40} {
			pool := 1 + i/3
			ends := []int64{end}
			if i == 0 {
				ends = nil
			}
			p.Place(routing.Candidate{Pool: pool, Weight: 1, MaxConcurrent: 1}, ends, i == 0)
		}
		p.Line(&b, 1, everybody.Quantum, func(t routing.Ticket) ([]int, bool) { return c.chosen[t-1], c.chosen[t-1] != nil })
		p.Run()
		for i, want := range c.want {
			if got := p.FreeAt(i); got != want {
				t.Errorf("%v: place %d is free at %d, want %d", c.chosen, i, got, want)
			}
		}
	}
}
