package routing_test

import (
	"testing"

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
