package routing_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/routing"
)

func TestNoAllocations(t *testing.T) {
	list := pool(5, 3, 1, 1)
	choose := func() { routing.Choose(list).Pay(list) }
	if n := testing.AllocsPerRun(100, choose); n != 0 {
		t.Errorf("a choice allocates %.1f times", n)
	}
	for _, each := range []int{1, 4} {
		b := standing(t, 50, each)
		r := &rules{}
		turns := func() {
			for range 10_000 {
				oneGoes(t, b, r)
			}
		}
		// A map may tidy up now and then.
		if n := testing.AllocsPerRun(1, turns); n > 5 {
			t.Errorf("with %d waiting of each key, the backlog allocates %.0f times in 10,000 turns", each, n)
		}
		if keys, waiters := b.Places(); keys != 50 || waiters != 50*each {
			t.Errorf("with %d waiting of each of 50 keys there are places for %d, and for %d keys", each, waiters, keys)
		}
	}
}

// standing is a backlog of some keys with so many waiting each.
func standing(tb testing.TB, keys, each int) *routing.Backlog {
	tb.Helper()
	b := &routing.Backlog{}
	for i := range keys * each {
		w := routing.Waiter{Ticket: routing.Ticket(i + 1), Key: routing.Key(i % keys), Cost: 7, Deadline: int64(i * 7919 % 1000), Lease: 10}
		if err := b.Push(w); err != nil {
			tb.Fatal(err)
		}
	}
	return b
}

// oneGoes lets one go, and wait again.
func oneGoes(tb testing.TB, b *routing.Backlog, r *rules) {
	w, ok := b.Next(r)
	if !ok || b.Push(w) != nil {
		tb.Fatal("nobody goes")
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{2, 10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			list := pool(make([]int64, n)...)
			for i := range list {
				list[i].Weight = int64(1 + i%7)
			}
			b.ReportAllocs()
			for b.Loop() {
				c := routing.Choose(list)
				c.Pay(list)
				list[c.Winner].InFlight = (list[c.Winner].InFlight + 1) % 5
			}
		})
	}
}

func BenchmarkOrder(b *testing.B) {
	list := pool(5, 3, 1, 1, 2, 2, 2, 9, 9, 1)
	var order []int
	b.ReportAllocs()
	for b.Loop() {
		order = routing.Choose(list).Order(order[:0], list)
	}
}

func BenchmarkBacklog(b *testing.B) {
	for _, c := range []struct{ keys, each int }{{1, 10}, {64, 1}, {1000, 9}} {
		b.Run(fmt.Sprintf("next and push, %d keys with %d", c.keys, c.each), func(b *testing.B) {
			l, r := standing(b, c.keys, c.each), &rules{}
			b.ReportAllocs()
			for b.Loop() {
				oneGoes(b, l, r)
			}
		})
		b.Run(fmt.Sprintf("nobody goes, %d keys with %d", c.keys, c.each), func(b *testing.B) {
			l := standing(b, c.keys, c.each)
			b.ReportAllocs()
			for b.Loop() {
				l.Next(nobody{})
			}
		})
	}
	for _, first := range []int64{100, 1_000} {
		b.Run(fmt.Sprintf("free at, 1000 keys with 9 that wait up to 1000, first room at %d", first), func(b *testing.B) {
			l, r := standing(b, 1000, 9), &rules{}
			b.ReportAllocs()
			for b.Loop() {
				freeAt(l, 0, []int64{first, first + 100, first + 200}, r)
			}
		})
	}
}

// nobody are rules by which nobody may pass.
type nobody struct{ *rules }

func (nobody) Passes(*routing.Waiter) (bool, int64) { return false, 7 }
