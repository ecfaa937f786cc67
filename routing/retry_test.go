package routing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/routing"
)

func TestRooms(t *testing.T) {
	ends := []int64{10, 20, 30, 40, 50}
	for _, c := range []struct {
		max  int64
		want []int64
	}{
		{1, []int64{50}},
		{3, []int64{30, 40, 50}}, // five are open of three: two must end before there is room
		{5, ends},
		{9, ends},
	} {
		if d := cmp.Diff(c.want, routing.Rooms(ends, c.max)); d != "" {
			t.Errorf("of %d (-want +got):\n%s", c.max, d)
		}
	}
}

func TestFreeAt(t *testing.T) {
	for _, c := range []struct {
		what    string
		rooms   []int64
		waiters []routing.Waiter
		want    int64
	}{
		{"nobody waits", []int64{70, 50}, nil, 50},
		{"a place is free already", []int64{20}, nil, 40},
		{"no place becomes free", nil, nil, routing.Never},
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
		if got := b.FreeAt(40, c.rooms, everybody); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
