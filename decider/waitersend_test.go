package decider

import (
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/plans"
)

// TestTheEndAnswersWhoeverWaits, also when the one who answers is woken just as the
// end begins. A lock that somebody waits for in vain for more than a millisecond is
// handed to who waits longest: so that one comes between any two steps of the end.
func TestTheEndAnswersWhoeverWaits(t *testing.T) {
	e, err := New(Options{Conn: new(nats.Conn), Settings: plans.DefaultSettings(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := e.waiters
	for range 20 {
		stop := w.start()
		answered := make(chan struct{})
		c := &waiting{until: time.Now().Add(time.Hour), done: func() { close(answered) }, place: -1}
		if !w.add(c) {
			t.Fatal("no room")
		}
		w.mu.Lock()
		stopped := returned(stop)
		spin()
		w.ring()
		spin()
		w.mu.Unlock()
		w.mu.Lock() // in front of them: from now on it goes from hand to hand
		spin()
		w.mu.Unlock()
		await(t, stopped, "the end")
		select {
		case <-answered: // by who answers, and has gone by now
		default:
			t.Fatal("one that waits has no answer, and nobody is left to give it")
		}
	}
}

// spin is long enough for others to come to where they wait.
func spin() {
	for began := time.Now(); time.Since(began) < 3*time.Millisecond; {
		runtime.Gosched()
	}
}
