package routing_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// line is a backlog whose tickets are numbered as they come.
type line struct {
	*testing.T
	routing.Backlog
	last routing.Ticket
}

// wait lets requests of a key wait, one for each cost.
func (l *line) wait(k routing.Key, costs ...quota.Amount) {
	l.Helper()
	for _, cost := range costs {
		l.last++
		w := routing.Waiter{Ticket: l.last, Key: k, Cost: cost, Deadline: 1_000, Lease: 100}
		if err := l.Push(w); err != nil {
			l.Fatal(err)
		}
	}
}

// serve lets n go, and names their keys, and how often where it is more than once.
func (l *line) serve(n int, r routing.Rules) string {
	var keys []routing.Key
	for range n {
		w, ok := l.Next(r)
		if !ok {
			break
		}
		keys = append(keys, w.Key)
	}
	var out []string
	for len(keys) > 0 {
		i := 1
		for i < len(keys) && keys[i] == keys[0] {
			i++
		}
		out = append(out, fmt.Sprintf("%d×%d", i, keys[0]))
		keys = keys[i:]
	}
	return strings.Join(out, " ")
}

func (l *line) expect(got, want string) {
	l.Helper()
	if got != want {
		l.Errorf("%s, want %s", got, want)
	}
}

func TestRounds(t *testing.T) {
	l := &line{T: t}
	l.wait(1, 4, 4, 4, 4, 4, 4)
	l.wait(2, 15, 1, 1)
	l.wait(3, 10)
	// A round gives 10: 1 saves 2, 2 saves 10 of its 15, 3 goes and is gone; then 1 has
	// 12 and 2 has 20.
	l.expect(l.serve(10, everybody), "2×1 1×3 3×1 3×2 1×1")
	l.expect(l.serve(1, everybody), "")
}

func TestWeights(t *testing.T) {
	l := &line{T: t}
	for range 40 {
		l.wait(1, 1)
		l.wait(2, 1)
		l.wait(3, 1)
	}
	r := &rules{quanta: map[routing.Key]quota.Amount{1: 3, 2: 1, 3: 6}}
	l.expect(l.serve(20, r), "3×1 1×2 6×3 3×1 1×2 6×3")
}

// TestABillionRounds are counted, and give the others what they would have got.
func TestABillionRounds(t *testing.T) {
	l := &line{T: t}
	most := quota.Tokens.Max()
	l.wait(1, most)
	l.wait(2, most-1)
	l.wait(3, most)
	r := &rules{quanta: map[routing.Key]quota.Amount{1: 1, 2: 1, 3: 2}}
	l.expect(l.serve(1, r), "1×3")
	for turn := range l.Turns() {
		if turn.Deficit != most/2 && turn.Deficit != most/2-1 {
			t.Errorf("key %d has %d", turn.Key, turn.Deficit)
		}
	}
	l.expect(l.serve(3, r), "1×2 1×1")
}

// TestWhoMayNotPass is passed over, saves nothing, and keeps what it has.
func TestWhoMayNotPass(t *testing.T) {
	l := &line{T: t}
	l.wait(1, 4, 4, 4, 4)
	l.wait(2, 10, 10, 10)
	l.wait(3, 30)
	r := &rules{until: map[routing.Ticket]int64{2: 700, 8: 600}}
	l.expect(l.serve(1, r), "1×1")
	l.expect(l.serve(2, r), "2×2")
	l.expect(deficits(&l.Backlog), "2:0 3:0 1:6")
	delete(r.until, 2)
	l.expect(l.serve(1, r), "1×1")
	l.expect(deficits(&l.Backlog), "1:2 2:0 3:0") // what it had was enough, so no quantum yet
	l.expect(l.serve(1, r), "1×1")
	l.expect(deficits(&l.Backlog), "1:8 2:0 3:0")
	l.expect(l.serve(9, r), "1×1 1×2")
	if l.Due() != 600 {
		t.Errorf("due at %d, want 600", l.Due())
	}
}

func deficits(b *routing.Backlog) string {
	var out []string
	for t := range b.Turns() {
		out = append(out, fmt.Sprintf("%d:%d", t.Key, t.Deficit))
	}
	return strings.Join(out, " ")
}

// TestWhatIsSavedForOneThatLeaves is not for those behind it.
func TestWhatIsSavedForOneThatLeaves(t *testing.T) {
	l := &line{T: t}
	l.wait(1, 500, 1, 1, 1, 1, 1)
	l.wait(2, slices.Repeat([]quota.Amount{10}, 60)...)
	l.expect(l.serve(40, everybody), "40×2")
	l.Remove(1)
	l.expect(deficits(&l.Backlog), "2:0 1:1")
	r := &rules{quanta: map[routing.Key]quota.Amount{1: 2}}
	l.expect(l.serve(1, r), "1×1")
	l.expect(deficits(&l.Backlog), "1:0 2:0")
	l.expect(l.serve(7, r), "2×1 1×2 2×1 2×2")
}

func TestACallerThatLeaves(t *testing.T) {
	l := &line{T: t}
	l.wait(1, 1, 1, 1)
	l.wait(2, 1)
	if w, ok := l.Remove(2); !ok || w.Ticket != 2 || w.Key != 1 {
		t.Errorf("%+v left, %t", w, ok)
	}
	if _, ok := l.Remove(2); ok {
		t.Error("it left twice")
	}
	l.Remove(4)
	if l.Len() != 2 || l.LenOf(1) != 2 || l.LenOf(2) != 0 {
		t.Errorf("%d wait, %d and %d", l.Len(), l.LenOf(1), l.LenOf(2))
	}
	var left []routing.Ticket
	for w := range l.Waiting(1) {
		left = append(left, w.Ticket)
	}
	if d := cmp.Diff([]routing.Ticket{1, 3}, left); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	l.Remove(1)
	l.Remove(3)
	if l.Len() != 0 || l.Due() != routing.Never || l.Backlog.Deadline() != routing.Never {
		t.Errorf("%d wait, due at %d", l.Len(), l.Due())
	}
	l.wait(2, 1)
	l.expect(l.serve(2, everybody), "1×2")
}

// TestDeadlines: at the instant itself it is over, the first of a key first.
func TestDeadlines(t *testing.T) {
	var b routing.Backlog
	for i, deadline := range []int64{30, 10, 20, 20, 40} {
		must(t, b.Push(routing.Waiter{Ticket: routing.Ticket(i + 1), Key: 1, Cost: 1, Deadline: deadline}))
	}
	held := &rules{until: map[routing.Ticket]int64{1: 25}}
	if b.Deadline() != 10 {
		t.Errorf("the first deadline is %d, want 10", b.Deadline())
	}
	if _, ok := b.Next(held); ok || b.Due() != 10 {
		t.Errorf("due at %d, want 10", b.Due())
	}
	if w, ok := b.Expire(9); ok {
		t.Errorf("%d is over before its time", w.Ticket)
	}
	var gone []routing.Ticket
	for w, ok := b.Expire(20); ok; w, ok = b.Expire(20) {
		gone = append(gone, w.Ticket)
	}
	if d := cmp.Diff([]routing.Ticket{2, 3, 4}, gone); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if b.Due() != 25 {
		t.Errorf("due at %d, want 25: what the first was told still holds", b.Due())
	}
	b.Expire(30)
	if b.Due() != 0 {
		t.Errorf("due at %d, want 0: another one is the first", b.Due())
	}
}

// TestManyDeadlines come in their order, whoever leaves meanwhile.
func TestManyDeadlines(t *testing.T) {
	for seed := range uint64(50) {
		c := newCrowd(t, seed)
		left := map[routing.Ticket]int64{}
		for i := range routing.Ticket(200) {
			left[i] = c.Int64N(1_000)
			must(t, c.b.Push(routing.Waiter{Ticket: i, Key: 1, Cost: 1, Deadline: left[i]}))
		}
		for range 100 {
			i := routing.Ticket(c.IntN(200))
			c.b.Remove(i)
			delete(left, i)
		}
		last := int64(0)
		for w, ok := c.b.Expire(999); ok; w, ok = c.b.Expire(999) {
			if w.Deadline < last || w.Deadline != left[w.Ticket] {
				t.Fatalf("seed %d: %d comes after %d", seed, w.Deadline, last)
			}
			last = w.Deadline
			delete(left, w.Ticket)
		}
		if len(left) > 0 {
			t.Fatalf("seed %d: %v are left", seed, left)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDueAfterSomethingHappened: the backlog is to be asked again.
func TestDueAfterSomethingHappened(t *testing.T) {
	l := &line{T: t}
	held := &rules{until: map[routing.Ticket]int64{1: routing.Never, 3: 50}}
	l.wait(1, 1, 1)
	l.expect(l.serve(1, held), "")
	if l.Due() != 1_000 {
		t.Errorf("due at %d, want the deadline", l.Due())
	}
	l.wait(1, 1)
	if l.Due() != 1_000 {
		t.Errorf("due at %d when one more of the key waits behind it", l.Due())
	}
	l.Remove(2)
	if l.Due() != 1_000 {
		t.Errorf("due at %d when one behind the first left", l.Due())
	}
	l.wait(2, 1)
	if l.Due() != 0 {
		t.Errorf("due at %d when another key waits", l.Due())
	}
	l.expect(l.serve(1, held), "1×2")
	if l.Due() != 0 {
		t.Errorf("due at %d when one went", l.Due())
	}
	l.serve(1, held)
	l.Remove(1)
	if l.Due() != 0 {
		t.Errorf("due at %d when the first left", l.Due())
	}
	l.wait(1, 1)
	l.serve(1, held)
	if l.Due() != 50 {
		t.Errorf("due at %d, want 50", l.Due())
	}
	l.expect(l.serve(1, everybody), "1×1")
	if l.Due() != 0 {
		t.Errorf("due at %d when one went that was not let pass before", l.Due())
	}
}

// TestTheFirstOfEachWant may go, in their order; of those that want the same nobody goes
// before the first.
func TestTheFirstOfEachWant(t *testing.T) {
	l := &line{T: t}
	l.want(1, 7, 7, 8, 8, 9)
	l.wait(2, 1)
	r := &rules{until: map[routing.Ticket]int64{1: 50, 3: 40}}
	l.expect(tickets(l.Firsts(1)), "1 3 5")
	l.expect(l.serveTickets(r), "5 6")
	if l.Due() != 40 {
		t.Errorf("due at %d, want 40", l.Due())
	}
	delete(r.until, 3)
	l.expect(l.serveTickets(r), "3 4")
	delete(r.until, 1)
	l.expect(l.serveTickets(r), "1 2")
}

// want lets requests of a key wait that want these, at a cost of 1.
func (l *line) want(k routing.Key, wants ...uint32) {
	l.Helper()
	for _, want := range wants {
		l.last++
		must(l.T, l.Push(routing.Waiter{Ticket: l.last, Key: k, Want: want, Cost: 1, Deadline: 1_000}))
	}
}

// serveTickets lets go whoever may, and names them.
func (l *line) serveTickets(r routing.Rules) string {
	return tickets(func(yield func(routing.Waiter) bool) {
		for w, ok := l.Next(r); ok && yield(w); w, ok = l.Next(r) {
		}
	})
}

func tickets(all iter.Seq[routing.Waiter]) string {
	var out []string
	for w := range all {
		out = append(out, fmt.Sprint(w.Ticket))
	}
	return strings.Join(out, " ")
}

// TestSoManyAreLookedAt of a key, and the next one when one of them has left.
func TestSoManyAreLookedAt(t *testing.T) {
	l := &line{T: t}
	l.want(1, slices.Repeat([]uint32{7}, 64)...)
	held := &rules{until: map[routing.Ticket]int64{1: 500, 2: 500}}
	l.expect(l.serveTickets(held), "")
	l.want(1, 8)
	if l.expect(tickets(l.Firsts(1)), "1"); l.Due() != 500 {
		t.Errorf("due at %d: the 65th is looked at", l.Due())
	}
	l.Remove(65)
	if l.want(1, 8); l.Due() != 500 {
		t.Errorf("due at %d when one left that was not looked at", l.Due())
	}
	l.Remove(64)
	if l.expect(tickets(l.Firsts(1)), "1 66"); l.Due() != 0 {
		t.Errorf("due at %d when one came to be looked at", l.Due())
	}
	l.expect(l.serveTickets(held), "66")
	l.expect(l.serveTickets(held), "")
	l.Remove(63)
	if l.want(1, 7); l.Due() != 500 {
		t.Errorf("due at %d when one more waits behind what it wants", l.Due())
	}
	if l.want(1, 9); l.Due() != 0 {
		t.Errorf("due at %d when another thing is wanted", l.Due())
	}
}

// TestWhatIsSavedForOneWant pays for the others of the key, as it is of its visits; and
// when it leaves they keep what the dearest of them costs.
func TestWhatIsSavedForOneWant(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		l := &line{T: t}
		for i, cost := range []quota.Amount{500, 30, 3, 3, 3} {
			l.last++
			must(t, l.Push(routing.Waiter{Ticket: l.last, Key: 1, Want: uint32(min(i, 2)), Cost: cost, Deadline: 1_000}))
		}
		l.wait(2, slices.Repeat([]quota.Amount{10}, 60)...)
		l.expect(l.serve(40, everybody), "40×2")
		l.expect(deficits(&l.Backlog), "2:0 1:400")
		r := &rules{until: map[routing.Ticket]int64{1: 900, 2: 900}}
		if leaves {
			l.Remove(1)
			l.expect(deficits(&l.Backlog), "2:0 1:30")
		}
		l.expect(l.serve(4, r), "3×1 1×2")
	}
}

// TestFull: a key takes half of what is left, and who has nothing waiting finds a
// place as long as there is one.
func TestFull(t *testing.T) {
	var b routing.Backlog
	ticket := routing.Ticket(0)
	fill := func(k routing.Key) int {
		for {
			ticket++
			err := b.Push(routing.Waiter{Ticket: ticket, Key: k, Cost: 1})
			if errors.Is(err, routing.ErrFull) {
				return b.LenOf(k)
			}
			must(t, err)
		}
	}
	got := []int{fill(1), fill(2), fill(3), fill(1)}
	if d := cmp.Diff([]int{routing.MaxWaiting / 2, routing.MaxWaiting / 4, routing.MaxWaiting / 8, routing.MaxWaiting / 2}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for k := routing.Key(4); b.Len() < routing.MaxWaiting; k++ {
		if fill(k) == 0 {
			t.Fatalf("no place for %d with %d waiting", k, b.Len())
		}
	}
	if fill(1_000_000) != 0 || b.Len() != routing.MaxWaiting {
		t.Errorf("%d wait", b.Len())
	}
}

func TestWhatCannotWait(t *testing.T) {
	var b routing.Backlog
	w := routing.Waiter{Ticket: 1, Key: 1, Cost: quota.Tokens.Max()}
	must(t, b.Push(w))
	if err := b.Push(w); !errors.Is(err, routing.ErrWaiting) {
		t.Errorf("the same ticket again: %v", err)
	}
	for _, cost := range []quota.Amount{0, -1, quota.Tokens.Max() + 1} {
		if err := b.Push(routing.Waiter{Ticket: 2, Key: 1, Cost: cost}); !errors.Is(err, routing.ErrCost) {
			t.Errorf("cost %d: %v", cost, err)
		}
	}
}

// TestNoMoreIsAskedThanNeeded: while quanta pay, the first that may pass goes.
func TestNoMoreIsAskedThanNeeded(t *testing.T) {
	l := &line{T: t}
	for k := routing.Key(1); k <= 100; k++ {
		l.wait(k, 5, 5)
	}
	r := &rules{}
	l.expect(l.serve(3, r), "2×1 1×2")
	if r.asked != 3 {
		t.Errorf("%d were looked at for 3", r.asked)
	}
}
