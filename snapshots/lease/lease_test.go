package lease

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/internal/brokertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a broker and the time that passes for everybody. Each process counts it
// from an instant of its own.
type world struct {
	t    interface{ Fatal(...any) }
	conn *nats.Conn
	time time.Duration
	said bytes.Buffer
}

func newWorld(t *testing.T, url string) *world {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return &world{t: t, conn: conn}
}

func (w *world) join(name string) *Lease {
	l, err := New(Options{Conn: w.conn, Name: name, Log: slog.New(slog.NewTextHandler(&w.said, nil))})
	if err != nil {
		w.t.Fatal(err)
	}
	joined := w.time + time.Duration(len(name))*time.Hour
	l.now = func() time.Duration { return w.time - joined }
	return l
}

func (w *world) holders(all ...*Lease) string {
	var names []string
	for _, l := range all {
		if l.Held() {
			names = append(names, l.o.Name)
		}
	}
	return strings.Join(names, " ")
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestTheFirstHasItAndKeepsIt(t *testing.T) {
	w := newWorld(t, brokertest.Start(t).URL())
	a, b := w.join("a"), w.join("b")
	for range 10 {
		a.turn(within(t))
		b.turn(within(t))
		if got := w.holders(a, b); got != "a" {
			t.Fatalf("after %s it is held by %q, want a", w.time, got)
		}
		w.time += defaultTerm / 3
	}
	if a.Holder() != "a" || b.Holder() != "a" {
		t.Errorf("they see %q and %q as its holder", a.Holder(), b.Holder())
	}
	if err := b.Confirm(within(t)); !errors.Is(err, ErrNotHeld) {
		t.Errorf("the other one's confirmation: %v", err)
	}
	if err := a.Confirm(within(t)); err != nil {
		t.Errorf("the holder's confirmation: %v", err)
	}
}

// A holder that is silent believes for a term from when it asked; who saw its entry
// waits for a term from when it saw it, to the nanosecond.
func TestAHolderThatDiesIsReplaced(t *testing.T) {
	w := newWorld(t, brokertest.Start(t).URL())
	a, b := w.join("a"), w.join("b")
	a.turn(within(t))
	w.time += time.Second
	b.turn(within(t))
	w.time = defaultTerm - 1
	b.turn(within(t))
	if got := w.holders(a, b); got != "a" {
		t.Errorf("before its term ends it is held by %q, want a", got)
	}
	w.time = defaultTerm
	if got := w.holders(a, b); got != "" {
		t.Errorf("at its term's end it is held by %q, want nobody", got)
	}
	w.time = defaultTerm + time.Second - 1
	b.turn(within(t))
	if got := w.holders(a, b); got != "" {
		t.Errorf("before b has waited for a term it is held by %q", got)
	}
	w.time++
	b.turn(within(t))
	if got := w.holders(a, b); got != "b" {
		t.Errorf("when b has waited for a term it is held by %q, want b", got)
	}
	// The one that was dead lives on, and finds out.
	if err := a.Confirm(within(t)); !errors.Is(err, ErrNotHeld) {
		t.Errorf("the old holder's confirmation: %v", err)
	}
	a.turn(within(t))
	if got := w.holders(a, b); got != "b" {
		t.Errorf("after the old holder's turn it is held by %q, want b", got)
	}
}

// One word of the holder starts another's wait anew.
func TestAWordIsEnough(t *testing.T) {
	w := newWorld(t, brokertest.Start(t).URL())
	a, b := w.join("a"), w.join("b")
	a.turn(within(t))
	b.turn(within(t))
	w.time = defaultTerm - 1
	if err := a.Confirm(within(t)); err != nil {
		t.Fatal(err)
	}
	w.time = 2*defaultTerm - 2
	b.turn(within(t)) // sees the word only now
	if got := w.holders(a, b); got != "a" {
		t.Errorf("it is held by %q, want a", got)
	}
	w.time = 3*defaultTerm - 3
	b.turn(within(t))
	if b.Held() {
		t.Error("b took it before it had waited for a term")
	}
}

func TestGivenBackItIsFree(t *testing.T) {
	w := newWorld(t, brokertest.Start(t).URL())
	a, b := w.join("a"), w.join("b")
	a.turn(within(t))
	b.turn(within(t))
	a.giveBack(within(t))
	b.turn(within(t))
	if got := w.holders(a, b); got != "b" {
		t.Errorf("it is held by %q, want b", got)
	}
	a.giveBack(within(t)) // it has nothing to give
	a.turn(within(t))
	if got := w.holders(a, b); got != "b" {
		t.Errorf("it is held by %q, want b", got)
	}
	if strings.Contains(w.said.String(), "another process does the work") {
		t.Errorf("at its end it says\n%s", &w.said)
	}
}

// The answer to a write was lost: the entry is this process's own, and it goes on.
func TestAnAnswerThatIsLost(t *testing.T) {
	w := newWorld(t, brokertest.Start(t).URL())
	a, b := w.join("a"), w.join("b")
	a.turn(within(t))
	before := a.revision
	if err := a.Confirm(within(t)); err != nil {
		t.Fatal(err)
	}
	a.revision = before
	a.turn(within(t))
	if got := w.holders(a, b); got != "a" {
		t.Errorf("it is held by %q, want a", got)
	}
	again := w.join("a") // of the same name, and another process
	again.turn(within(t))
	if again.Held() {
		t.Error("a process took what another of its name holds")
	}
}

// Whatever happens to the bucket, somebody has the lease in the end.
func TestTheBucketIsChangedByOthers(t *testing.T) {
	url := brokertest.Start(t).URL()
	changes := map[string]func(context.Context, jetstream.JetStream) error{
		"deleted": func(ctx context.Context, js jetstream.JetStream) error { return js.DeleteKeyValue(ctx, Bucket) },
		"emptied": func(ctx context.Context, js jetstream.JetStream) error { return key(ctx, js).Purge(ctx, Key) },
		"no form": func(ctx context.Context, js jetstream.JetStream) error {
			_, err := key(ctx, js).PutString(ctx, Key, "{")
			return err
		},
		"a term for ever": func(ctx context.Context, js jetstream.JetStream) error {
			_, err := key(ctx, js).PutString(ctx, Key, `{"id":"x","name":"x","termMs":9000000000000000}`)
			return err
		},
		"a term below none": func(ctx context.Context, js jetstream.JetStream) error {
			_, err := key(ctx, js).PutString(ctx, Key, `{"id":"x","name":"x","termMs":-1}`)
			return err
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, url)
			a := w.join("a")
			for a.turn(within(t)); !a.Held(); a.turn(within(t)) {
				w.time += defaultTerm // what the case before left
			}
			if err := change(within(t), a.js); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				a.turn(within(t))
			}
			w.time += defaultTerm - 1
			a.turn(within(t))
			if owned := name == "deleted" || name == "emptied"; a.Held() != owned {
				t.Errorf("before a term: held is %t, want %t", a.Held(), owned)
			}
			w.time++
			a.turn(within(t))
			if !a.Held() {
				t.Errorf("nobody has it after a term:\n%s", w.said.String())
			}
			a.giveBack(within(t))
		})
	}
}

func key(ctx context.Context, js jetstream.JetStream) jetstream.KeyValue {
	kv, err := js.KeyValue(ctx, Bucket)
	if err != nil {
		panic(err)
	}
	return kv
}

// A term of another's own counts, not the reader's.
func TestEachKeepsItsOwnTerm(t *testing.T) {
	w := newWorld(t, brokertest.Start(t).URL())
	a, b := w.join("a"), w.join("b")
	a.o.Term = 2 * defaultTerm
	a.turn(within(t))
	b.turn(within(t))
	w.time = 2*defaultTerm - 1
	b.turn(within(t))
	if got := w.holders(a, b); got != "a" {
		t.Errorf("it is held by %q, want a", got)
	}
	w.time++
	b.turn(within(t))
	if got := w.holders(a, b); got != "b" {
		t.Errorf("it is held by %q, want b", got)
	}
}

// A broker that refuses is told of once, until it takes something again.
func TestABrokerThatRefuses(t *testing.T) {
	w := newWorld(t, brokertest.Foreign(t, &server.Options{JetStreamMaxStore: 1}))
	a := w.join("a")
	if _, err := a.js.CreateStream(within(t), jetstream.StreamConfig{Name: "FULL", Subjects: []string{"full"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.js.Publish(within(t), "full", []byte("all that it takes")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		a.turn(within(t))
	}
	if a.Held() {
		t.Error("it is held, and the broker has no room for it")
	}
	if n := strings.Count(w.said.String(), "no lease"); n != 1 {
		t.Errorf("said %d times:\n%s", n, w.said.String())
	}
	w.conn.Close()
	a.turn(within(t))
	if err := a.Confirm(within(t)); !errors.Is(err, ErrNotHeld) {
		t.Errorf("confirmation: %v", err)
	}
}

// Without an answer a holder believes to the end of its term and no longer.
func TestABrokerThatIsGone(t *testing.T) {
	w := newWorld(t, brokertest.Start(t).URL())
	a := w.join("a")
	a.turn(within(t))
	w.conn.Close()
	w.time = defaultTerm - 1
	a.turn(within(t))
	if !a.Held() {
		t.Error("its term has not ended")
	}
	if err := a.Confirm(within(t)); err == nil || errors.Is(err, ErrNotHeld) {
		t.Errorf("confirmation: %v, want that the broker did not answer", err)
	}
	w.time++
	if a.Held() {
		t.Error("its term has ended")
	}
	a.giveBack(within(t))
	if n := strings.Count(w.said.String(), "no lease"); n != 1 {
		t.Errorf("said %d times:\n%s", n, w.said.String())
	}
}

// Whatever order processes take turns in, and however long they are silent, no two
// believe at one instant that they hold it.
func TestNoTwoBelieve(t *testing.T) {
	url := brokertest.Start(t).URL()
	run := newWorld(t, url)
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{t: rt, conn: run.conn}
		if err := run.clear(t); err != nil {
			rt.Fatal(err)
		}
		all := []*Lease{w.join("a"), w.join("bb"), w.join("ccc")}
		for range rapid.IntRange(1, 30).Draw(rt, "turns") {
			w.time += time.Duration(rapid.IntRange(0, 20).Draw(rt, "seconds")) * time.Second
			l := all[rapid.IntRange(0, 2).Draw(rt, "who")]
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				l.giveBack(within(t))
			case 1:
				if err := l.Confirm(within(t)); err == nil && !l.Held() {
					rt.Fatal("confirmed, and not held")
				}
			default:
				l.turn(within(t))
			}
			if got := w.holders(all...); strings.Contains(got, " ") {
				rt.Fatalf("after %s it is held by %s", w.time, got)
			}
		}
	})
}

func (w *world) clear(t *testing.T) error {
	js, err := jetstream.New(w.conn)
	if err != nil {
		return err
	}
	err = js.DeleteKeyValue(within(t), Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	return err
}

// Processes that really run: one has it, and when it stops or dies another has it.
func TestRunning(t *testing.T) {
	url := brokertest.Start(t).URL()
	const term = 300 * time.Millisecond
	gained := make(chan int, 16)
	ctx, cancel := context.WithCancel(within(t))
	var g sync.WaitGroup
	defer g.Wait()
	defer cancel()
	end := make([]func(), 3)
	for i := range end {
		w := newWorld(t, url)
		l, err := New(Options{Conn: w.conn, Name: fmt.Sprint(i), Term: term, OnChange: func(held bool) {
			if held {
				gained <- i
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		mine, stop := context.WithCancel(ctx)
		defer stop()
		if end[i] = stop; i == 1 { // dies, for the others
			end[i] = w.conn.Close
		}
		g.Go(func() {
			if err := l.Run(mine); !errors.Is(err, context.Canceled) {
				t.Errorf("Run: %v", err)
			}
		})
	}
	seen := map[int]bool{}
	for range end {
		select {
		case i := <-gained:
			if seen[i] {
				t.Fatalf("%d has it again", i)
			}
			seen[i] = true
			end[i]()
		case <-within(t).Done():
			t.Fatalf("nobody has it after %v", seen)
		}
	}
}
