package e2e

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// said is what the engine logs when it gives up a state.
const said = "rebuilding the state from the log"

// changed is a log that is another one than the engine folded.
type changed struct {
	name string
	// back keeps an older copy of the log's files and puts it back, so that the
	// stream's creation time stays as it was; otherwise the log begins anew.
	back bool
	// beyond has the new log go on past the end of the old one, so that its
	// length does not tell.
	beyond bool
	// connected leaves the engine running, to meet the new log at reconnect.
	connected bool
}

func TestALogThatChangedIsFoldedAnew(t *testing.T) {
	for _, c := range []changed{
		{name: "replaced/shorter/at start"},
		{name: "replaced/longer/at start", beyond: true},
		{name: "replaced/shorter/connected", connected: true},
		{name: "replaced/longer/connected", beyond: true, connected: true},
		{name: "rolled back/shorter/at start", back: true},
		{name: "rolled back/longer/at start", back: true, beyond: true},
		{name: "rolled back/shorter/connected", back: true, connected: true},
		{name: "rolled back/longer/connected", back: true, beyond: true, connected: true},
	} {
		t.Run(c.name, c.run)
	}
}

func (c *changed) run(t *testing.T) {
	t.Parallel() // they wait for reconnects most of the time
	d, b := dice(t), brokertest.StartAgain(t)
	nc := b.Connect()
	js := brokertest.Streams(t, nc)
	configure(t, js)
	first := traffic(d, "first-", 200)
	publish(t, js, first)
	older := filepath.Join(t.TempDir(), "older")
	b.Stop()
	copyDir(t, b.Dir, older)
	b.Start()

	// The engine folds more than the copy has, and commits it.
	store := filepath.Join(t.TempDir(), "state")
	e := startEngine(t, nc, store)
	e.awaitReady()
	end := publish(t, js, traffic(d, "lost-", 300))
	e.at(end)
	born := created(t, nc)
	if !c.connected {
		e.Stop()
	}

	kept := c.change(t, d, b, older, end)
	if !c.connected {
		e = startEngine(t, nc, store)
	}
	if c.back {
		kept = append(kept, first...)
		if now := created(t, nc); !now.Equal(born) {
			t.Fatalf("the copy was created at %s and the log at %s: this test needs them equal", now, born)
		}
	}
	e.said.await(deadline(t), t, said)
	e.awaitReady()
	after := traffic(d, "after-", 50)
	got := e.at(publish(t, js, after))
	mustEqualFreshFold(t, nc, got)
	mustCount(t, nc, append(kept, after...))
	if n := strings.Count(e.said.String(), said); n != 1 {
		t.Errorf("the state was rebuilt %d times:\n%s", n, e.said)
	}
}

// change puts the other log in the old one's place and returns the events that
// are new in it.
func (c *changed) change(t *testing.T, d *rand.Rand, b *brokertest.Broker, older string, end uint64) []usage {
	t.Helper()
	b.Stop()
	if err := os.RemoveAll(b.Dir); err != nil {
		t.Fatal(err)
	}
	if c.back {
		copyDir(t, older, b.Dir)
	}
	// Written on behind the engine's back, at another address.
	home := b.Addr
	b.Addr = "127.0.0.1:-1"
	b.Start()
	aside := b.Connect()
	js := brokertest.Streams(t, aside)
	if !c.back {
		configure(t, js)
	}
	events := traffic(d, "other-", 20)
	last := publish(t, js, events)
	for i := 0; c.beyond && last <= end; i++ {
		more := traffic(d, "other-"+string(rune('a'+i))+"-", 200)
		last = publish(t, js, more)
		events = append(events, more...)
	}
	if !c.beyond && last >= end {
		t.Fatalf("the new log ends at %d and the old one at %d: it should be shorter", last, end)
	}
	aside.Close()
	b.Stop()
	b.Addr = home
	b.Start()
	return events
}

func created(t *testing.T, nc *nats.Conn) time.Time {
	t.Helper()
	s, err := jetStream(t, nc).Stream(deadline(t), "QUOTA")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().Created
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
