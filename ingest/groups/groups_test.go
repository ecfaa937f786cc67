package groups

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gated is a log whose messages wait until they are let through.
type gated struct {
	begun chan *Message // each message, as it is published
	let   chan error    // what becomes of it
	mu    sync.Mutex
	seq   uint64
}

func newGated() *gated { return &gated{begun: make(chan *Message, 100), let: make(chan error, 100)} }

func (g *gated) Publish(ctx context.Context, m *Message) (Receipt, error) {
	kept := *m
	kept.Data = bytes.Clone(m.Data)
	g.begun <- &kept
	select {
	case err := <-g.let:
		if err != nil {
			return Receipt{}, err
		}
	case <-ctx.Done():
		return Receipt{}, ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seq++
	return Receipt{Seq: g.seq}, nil
}

// answer is what a caller was told.
type answer struct {
	receipt Receipt
	err     error
}

// publish publishes in a goroutine of its own, and returns once the part waits, or at
// once when nothing is under way that it would wait for.
func publish(ctx context.Context, t *testing.T, g *Groups, subject, array string, n int) chan answer {
	t.Helper()
	waits, before := busy(g, subject), g.Waiting()
	took := make(chan answer, 1)
	go func() {
		r, err := g.Publish(ctx, subject, []byte(array), n)
		took <- answer{r, err}
	}()
	for waits && g.Waiting() == before {
		runtime.Gosched()
	}
	return took
}

func busy(g *Groups, subject string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lanes[subject] != nil && g.lanes[subject].busy
}

// What comes while a message is under way is the next one, in its order; each caller is
// told of its own.
func TestWhatComesMeanwhileIsOneMessage(t *testing.T) {
	log := newGated()
	g := New(Options{Log: log})
	defer g.Close()
	first := publish(t.Context(), t, g, "s", `[1]`, 1)
	if m := <-log.begun; string(m.Data) != `[1]` || m.Events != 1 || m.Subject != "s" {
		t.Errorf("first %+v", m)
	}
	var others []chan answer
	for _, array := range []string{`[2,3]`, `[4]`, `[5]`} {
		others = append(others, publish(t.Context(), t, g, "s", array, len(array)/2))
	}
	if n := g.Waiting(); n != 11 {
		t.Errorf("%d bytes wait", n)
	}
	log.let <- nil
	if a := <-first; a.err != nil || a.receipt.Seq != 1 {
		t.Errorf("%+v", a)
	}
	if m := <-log.begun; string(m.Data) != `[2,3,4,5]` || m.Events != 4 {
		t.Errorf("then %s of %d", m.Data, m.Events)
	}
	if n := g.Waiting(); n != 0 {
		t.Errorf("%d bytes wait", n)
	}
	log.let <- nil
	for i, other := range others {
		if a := <-other; a.err != nil || a.receipt.Seq != 2 {
			t.Errorf("%d: %+v", i, a)
		}
	}
}

func TestSubjectsDoNotWaitForEachOther(t *testing.T) {
	log := newGated()
	g := New(Options{Log: log})
	defer g.Close()
	one := publish(t.Context(), t, g, "s", `[1]`, 1)
	<-log.begun
	other := publish(t.Context(), t, g, "t", `[2]`, 1)
	if m := <-log.begun; m.Subject != "t" {
		t.Errorf("%+v", m)
	}
	log.let <- nil
	log.let <- nil
	<-one
	<-other
}

// A message's error is that of all who share it, and nobody else's.
func TestAnErrorIsToldToThoseOfTheMessage(t *testing.T) {
	fault := errors.New("no")
	log := newGated()
	g := New(Options{Log: log})
	defer g.Close()
	first := publish(t.Context(), t, g, "s", `[1]`, 1)
	<-log.begun
	second := publish(t.Context(), t, g, "s", `[2]`, 1)
	log.let <- fault
	if a := <-first; !errors.Is(a.err, fault) {
		t.Errorf("%+v", a)
	}
	<-log.begun
	log.let <- nil
	if a := <-second; a.err != nil {
		t.Errorf("%+v", a)
	}
}

// Who leaves before the message is under way takes its events along; who leaves later
// is told what became of them.
func TestLeaving(t *testing.T) {
	log := newGated()
	g := New(Options{Log: log})
	defer g.Close()
	ctx, leave := context.WithCancel(t.Context())
	under := publish(ctx, t, g, "s", `[1]`, 1)
	<-log.begun
	waits := publish(ctx, t, g, "s", `[2]`, 1)
	stays := publish(t.Context(), t, g, "s", `[3]`, 1)
	leave()
	if a := <-waits; !errors.Is(a.err, context.Canceled) {
		t.Errorf("%+v", a)
	}
	if n := g.Waiting(); n != 3 {
		t.Errorf("%d bytes wait", n)
	}
	log.let <- nil
	if a := <-under; a.err != nil || a.receipt.Seq != 1 {
		t.Errorf("%+v", a)
	}
	if m := <-log.begun; string(m.Data) != `[3]` {
		t.Errorf("then %s", m.Data)
	}
	log.let <- nil
	<-stays
}

// Memory is bounded; one part is taken whatever its size, else it would never be.
func TestTooMuchWaits(t *testing.T) {
	log := newGated()
	g := New(Options{Log: log, Waiting: 6})
	defer g.Close()
	first := publish(t.Context(), t, g, "s", `[1111111]`, 1)
	<-log.begun
	second := publish(t.Context(), t, g, "s", `[2]`, 1)
	third := publish(t.Context(), t, g, "s", `[3]`, 1)
	if _, err := g.Publish(t.Context(), "s", []byte(`[4]`), 1); !errors.Is(err, ErrFull) {
		t.Errorf("a fourth: %v", err)
	}
	log.let <- nil
	log.let <- nil
	<-first
	<-log.begun
	<-second
	<-third
}

// A log that does not answer holds nobody up for ever.
func TestAMessageHasItsTime(t *testing.T) {
	g := New(Options{Log: newGated(), Within: 1})
	defer g.Close()
	if _, err := g.Publish(t.Context(), "s", []byte(`[1]`), 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// The bounds of a message, and that nothing is lost, doubled or brought out of order.
func TestMessagesHaveAllInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := New(Options{Log: newGated(), Waiting: 1 << 40})
		l := &lane{subject: "s"}
		pad := rapid.SampledFrom([]int{0, 1000, 100_000}).Draw(rt, "pad")
		next := 0
		for range rapid.IntRange(1, 30).Draw(rt, "parts") {
			var list []string
			for range rapid.IntRange(1, 400).Draw(rt, "events") {
				list = append(list, fmt.Sprintf("%d%*s", next, pad/400, ""))
				next++
			}
			data := []byte("[" + strings.Join(list, ",") + "]")
			l.parts = append(l.parts, &part{data: data, events: len(list)})
			g.waiting += len(data)
		}
		var all []int
		for parts := g.take(l); len(parts) > 0; parts = g.take(l) {
			m := messageOf("s", parts)
			var list []int
			if err := json.Unmarshal(m.Data, &list); err != nil {
				rt.Fatal(err)
			}
			if len(list) != m.Events || m.Events > events.MaxEvents || len(parts) > 1 && len(m.Data) > MaxMessage {
				rt.Fatalf("a message of %d events, %d bytes, says %d", len(list), len(m.Data), m.Events)
			}
			if len(l.parts) > 0 && Fits(MaxMessage, len(m.Data)+1, m.Events, l.parts[0].data, l.parts[0].events) {
				rt.Fatal("the next part had room")
			}
			all = append(all, list...)
		}
		want := make([]int, next)
		for i := range want {
			want[i] = i
		}
		if diff := cmp.Diff(want, all); diff != "" {
			rt.Fatal(diff)
		}
		if g.waiting != 0 || l.busy {
			rt.Fatalf("%d bytes wait, busy %t", g.waiting, l.busy)
		}
	})
}

// The id of a message is that of all it holds: a body sent twice has it twice, so the
// broker stores it once; another order or another subject has another.
func TestMessageIDs(t *testing.T) {
	same := NewMessage("s", []byte(`[1,2]`), 2).ID
	if same != NewMessage("s", []byte(`[1,2]`), 2).ID || same == "" {
		t.Error("the same array has two ids")
	}
	if same == NewMessage("s", []byte(`[2,1]`), 2).ID || same == NewMessage("t", []byte(`[1,2]`), 2).ID {
		t.Error("two messages have one id: the broker would drop the second")
	}
}

// The bounds are those of the log and of a message, to the byte and the event.
func TestBounds(t *testing.T) {
	const item = 100
	data := make([]byte, item)
	for _, c := range []struct {
		bytes, n, more int
		want           bool
	}{
		{MaxMessage - item, 1, 1, true},
		{MaxMessage - item + 1, 1, 1, false},
		{1, events.MaxEvents - 3, 3, true},
		{1, events.MaxEvents - 2, 3, false},
	} {
		if is := Fits(1<<40, c.bytes, c.n, data, c.more); is != c.want {
			t.Errorf("%+v: %t", c, is)
		}
	}
}

// A part that is larger than a message may be goes alone, at once.
func TestALargePartGoesAlone(t *testing.T) {
	g := New(Options{Log: newGated(), Waiting: 1 << 40})
	large := make([]byte, MaxMessage+1)
	l := &lane{subject: "s", parts: []*part{{data: large, events: 1}, {data: large, events: 1}}}
	for range 2 {
		if parts := g.take(l); len(parts) != 1 {
			t.Fatalf("%d parts", len(parts))
		}
	}
}
