package routing_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// pair is a backlog and its twin.
type pair struct {
	b     *routing.Backlog
	twin  slowBacklog
	rules rules
	now   int64
	last  routing.Ticket
	other bool // the rules are others since they were asked
}

func newPair() *pair {
	return &pair{
		b:     &routing.Backlog{},
		rules: rules{quanta: map[routing.Key]quota.Amount{1: 3, 2: 10, 3: 25, 4: 3}, until: map[routing.Ticket]int64{}},
		now:   1_000,
	}
}

func (p *pair) push(t *rapid.T) {
	p.wait(t, routing.Key(rapid.IntRange(1, 4).Draw(t, "key")), uint32(rapid.IntRange(0, 3).Draw(t, "want")))
}

// pushMany lets more of a key wait than are looked at.
func (p *pair) pushMany(t *rapid.T) {
	key, want := routing.Key(rapid.IntRange(1, 4).Draw(t, "key")), uint32(rapid.IntRange(0, 3).Draw(t, "want"))
	for range 61 {
		p.wait(t, key, want)
	}
}

func (p *pair) wait(t *rapid.T, key routing.Key, want uint32) {
	p.last++
	w := routing.Waiter{
		Ticket: p.last, Key: key, Want: want,
		Cost:    quota.Amount(rapid.SampledFrom([]int64{1, 2, 3, 7, 10, 11, 60, 500}).Draw(t, "cost")),
		Arrived: p.now, Deadline: p.now + rapid.Int64Range(0, 30).Draw(t, "wait"), Lease: rapid.Int64Range(1, 20).Draw(t, "lease"),
	}
	if rapid.IntRange(0, 3).Draw(t, "held back") == 3 {
		p.rules.until[w.Ticket] = p.now + rapid.Int64Range(0, 50).Draw(t, "until")
	}
	if err := p.b.Push(w); err != nil {
		t.Fatal(err)
	}
	p.twin.push(w)
}

func (p *pair) next(t *rapid.T) bool {
	got, ok := p.b.Next(&p.rules)
	want, wantOK := p.twin.next(&p.rules)
	if ok != wantOK || got != want {
		t.Fatalf("next is %+v, the twin says %+v", got, want)
	}
	if !ok {
		p.other = false
		p.compareDue(t)
	}
	return ok
}

func (p *pair) compareDue(t *rapid.T) {
	if due := p.b.Due(); due != p.twin.due(&p.rules) {
		t.Fatalf("due at %d, the twin says %d", due, p.twin.due(&p.rules))
	}
}

func (p *pair) leave(t *rapid.T) {
	ticket := routing.Ticket(rapid.IntRange(1, int(p.last)+1).Draw(t, "ticket"))
	if w, ok := p.b.Remove(ticket); ok != p.twin.leave(ticket) || ok != (w.Ticket == ticket) {
		t.Fatalf("%d waited: %t", ticket, ok)
	}
}

// expire lets time go by. Among keys the order at one instant is not the twin's.
func (p *pair) expire(t *rapid.T) {
	p.now += rapid.Int64Range(0, 12).Draw(t, "time")
	var gone []routing.Ticket
	for {
		w, ok := p.b.Expire(p.now)
		if !ok {
			break
		}
		gone = append(gone, w.Ticket)
	}
	want := p.twin.expire(p.now)
	slices.Sort(gone)
	slices.Sort(want)
	if d := cmp.Diff(want, gone); d != "" {
		t.Fatalf("expired (-twin +got):\n%s", d)
	}
}

// restore goes on with what was saved.
func (p *pair) restore(t *rapid.T) {
	due := p.b.Due()
	b, err := routing.Restore(p.b.Save())
	if err != nil {
		t.Fatal(err)
	}
	if p.b = b; b.Due() != due {
		t.Fatalf("due at %d, and restored at %d", due, b.Due())
	}
}

func (p *pair) letPass(t *rapid.T) {
	p.other = true
	ticket := routing.Ticket(rapid.IntRange(1, int(p.last)+1).Draw(t, "ticket"))
	if _, held := p.rules.until[ticket]; held {
		delete(p.rules.until, ticket)
	} else {
		p.rules.until[ticket] = p.now + 5
	}
}

func (p *pair) compare(t *rapid.T) {
	got, want := p.b.Save(), p.twin.save()
	if want.Wake = got.Wake; got.Wake != 0 && !p.other {
		p.compareDue(t) // it need not be asked
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("state (-twin +got):\n%s", d)
	}
	if p.b.Len() != p.twin.len() {
		t.Fatalf("%d wait, the twin says %d", p.b.Len(), p.twin.len())
	}
	for k := routing.Key(1); k <= 4; k++ {
		n := 0
		if x := p.twin.find(k); x != nil {
			n = len(x.waiters)
		}
		if p.b.LenOf(k) != n {
			t.Fatalf("%d wait of %d, the twin says %d", p.b.LenOf(k), k, n)
		}
	}
}

func TestBacklogAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair()
		t.Repeat(map[string]func(*rapid.T){
			"push":  p.push,
			"push2": p.push,
			"many":  p.pushMany,
			"next":  func(t *rapid.T) { p.next(t) },
			"drain": func(t *rapid.T) {
				for p.next(t) {
					p.compare(t)
				}
			},
			"leave": p.leave, "expire": p.expire, "restore": p.restore, "let pass": p.letPass,
			"": p.compare,
		})
	})
}

// TestFreeAtAgainstTwin: the instant is that of playing every millisecond, and
// looking for it changes nothing.
func TestFreeAtAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair()
		for range rapid.IntRange(0, 12).Draw(t, "waiters") {
			p.push(t)
			if rapid.IntRange(0, 5).Draw(t, "one goes") == 5 {
				p.next(t)
			}
		}
		clear(p.rules.until)
		p.now += rapid.Int64Range(0, 5).Draw(t, "time")
		ends := rapid.SliceOfN(rapid.Int64Range(p.now-3, p.now+30), 1, 4).Draw(t, "ends")
		before := p.b.Save()
		got := freeAt(p.b, p.now, ends, &p.rules)
		if d := cmp.Diff(before, p.b.Save()); d != "" {
			t.Fatalf("looking changed (-before +after):\n%s", d)
		}
		for _, w := range before.Waiters {
			if due := p.b.Due(); due > w.Deadline {
				t.Fatalf("due at %d, after %d", due, w.Deadline)
			}
			if _, ok := p.b.Remove(w.Ticket); !ok {
				t.Fatalf("%d is lost", w.Ticket)
			}
		}
		if want := p.twin.freeAt(p.now, ends, &p.rules); got != want {
			t.Fatalf("free at %d, the twin says %d", got, want)
		}
	})
}
