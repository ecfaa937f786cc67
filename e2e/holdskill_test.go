package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// rush is requests that are sent until somebody answers, as gateways do: each
// under its id, however often.
type rush struct {
	t  *testing.T
	qs []object

	mu       sync.Mutex
	round    context.Context // ends when a decider was killed: what it was asked is lost
	lost     context.CancelFunc
	again    int // how often a question was asked again
	answers  []reply
	answered chan struct{} // has one value for each answer
	done     sync.WaitGroup
}

// startRush lets the clients take one question after the other.
func startRush(t *testing.T, clients []*nats.Conn, qs []object) *rush {
	t.Helper()
	r := &rush{t: t, qs: qs, answers: make([]reply, len(qs)), answered: make(chan struct{}, len(qs))}
	r.next()
	left := make(chan int, len(qs))
	for i := range qs {
		left <- i
	}
	close(left)
	for _, nc := range clients {
		r.done.Go(func() {
			for i := range left {
				r.answers[i] = r.untilAnswered(nc, qs[i])
				r.answered <- struct{}{}
			}
		})
	}
	return r
}

// next begins a round, and lets those ask again who wait for an answer.
func (r *rush) next() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil {
		r.lost()
	}
	r.round, r.lost = context.WithCancel(context.Background())
}

// gatewayWaits is how long an answer is waited for. The broker may give a question
// to a decider that is dead, until it sees that its connection is.
const gatewayWaits = time.Second

func (r *rush) untilAnswered(nc *nats.Conn, q object) reply {
	over := deadline(r.t)
	for over.Err() == nil {
		r.mu.Lock()
		ctx, cancel := context.WithTimeout(r.round, gatewayWaits)
		r.mu.Unlock()
		m, err := nc.RequestWithContext(ctx, "quota.decide", []byte(text(r.t, q)))
		cancel()
		if err == nil {
			return parseReply(r.t, m.Data)
		}
		r.mu.Lock()
		r.again++
		r.mu.Unlock()
		if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			r.t.Errorf("%v: %v", q, err)
			break
		}
	}
	r.t.Errorf("%v is not answered", q)
	return reply{}
}

func (r *rush) await(n int) {
	r.t.Helper()
	ctx := deadline(r.t)
	for range n {
		select {
		case <-r.answered:
		case <-ctx.Done():
			r.t.Fatal("the questions are not answered")
		}
	}
}

// finish returns the answers when all are there.
func (r *rush) finish() []reply {
	r.t.Helper()
	r.done.Wait()
	r.lost()
	for i, a := range r.answers {
		if len(a.Degraded) > 0 || a.RequestID != r.qs[i]["requestId"] {
			r.t.Errorf("%v is answered %+v", r.qs[i], a)
		}
	}
	return r.answers
}

// requests are questions for holds of requests whose ids begin with the prefix.
func requests(prefix, key, connection string, n int) []object {
	list := make([]object, n)
	for i := range list {
		list[i] = hold(key, connection, "requestId", fmt.Sprint(prefix, i))
	}
	return list
}

// Deciders are killed while holds are on their way, and come back over their
// stores; one more begins with nothing. All have the same holds, and no more pass
// than the limit allows.
func TestKilledDecidersHoldWhatTheyHeld(t *testing.T) {
	front := start(t, "ingest", "--data-dir", t.TempDir(), "--nats-addr", brokertest.FreeAddr(t), "--http-addr", "127.0.0.1:0", "--sync", "100ms")
	decider := func(dir string) *process {
		return start(t, "decider", "--data-dir", dir, "--store-nats-url", front.nats, "--http-addr", "127.0.0.1:0")
	}
	dirs := []string{t.TempDir(), t.TempDir()}
	running := []*process{decider(dirs[0]), decider(dirs[1])}
	for _, p := range running {
		p.awaitReady()
	}
	o := operator{running[0]}
	o.plan("c", "requests/monthly 300")
	o.poolOf("p", []string{"c"}, "alice 100 burst")

	clients := connections(t, front.nats, 32)
	var first []reply
	again := 0
	for i := range 6 {
		r := startRush(t, clients, requests(fmt.Sprintf("first-%d-", i), "alice", "c", 64))
		r.await(16)
		running[i%2].kill()
		r.next()
		running[i%2] = decider(dirs[i%2])
		first = append(first, admitted(r.finish())...)
		again += r.again
		running[i%2].awaitReady() // the other one is next
	}
	t.Logf("%d questions were asked again", again)
	if len(first) != 300 {
		t.Errorf("%d are admitted, want 300", len(first))
	}
	running = append(running, decider(t.TempDir()))
	running[2].awaitReady()
	// A stop in order leaves the store where the log ends: nothing is folded again.
	running[1].stop()
	running[1] = decider(dirs[1])
	running[1].awaitReady()
	mustAgree(t, running, "0+300 of 0+300")

	var uses []object
	for _, a := range first[:30] {
		uses = append(uses, settlement("alice", "c", a, object{"requests": 0}))
	}
	publishAll(t, jetStream(t, clients[0]), uses)
	second := admitted(startRush(t, clients, requests("second-", "alice", "c", 64)).finish())
	if len(second) != 30 {
		t.Errorf("%d are admitted when 30 requests are over, want 30", len(second))
	}
	mustAgree(t, running, "0+300 of 0+300")
}

// mustAgree compares the states of the deciders at the log's end, and what they
// say of it.
func mustAgree(t *testing.T, running []*process, want string) {
	t.Helper()
	last := lastSeq(t, running[0].nats)
	first := running[0].at(last)
	for _, p := range running {
		if s := p.at(last); s != first || s.AppliedSeq != last {
			t.Errorf("the deciders are at\n%+v, and\n%+v, after %d messages", first, s, last)
		}
		p.mustHold("alice", "c", want)
	}
}

// lastSeq returns the log's end.
func lastSeq(t *testing.T, url string) uint64 {
	t.Helper()
	s, err := jetStream(t, brokertest.Connect(t, url)).Stream(deadline(t), "QUOTA")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.LastSeq
}
