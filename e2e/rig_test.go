package e2e

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
)

// broker is an embedded log that can be stopped, have its files changed, and
// be started again at the same address.
type broker struct {
	t    *testing.T
	dir  string
	addr string
	srv  *ingest.Server // nil = stopped
}

func startBroker(t *testing.T) *broker {
	t.Helper()
	b := &broker{t: t, dir: filepath.Join(t.TempDir(), "nats"), addr: freeAddr(t)}
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *broker) start() {
	b.t.Helper()
	srv, err := ingest.Start(ingest.Options{
		// Nobody cuts the power here, and 100 ms instead of always saves the
		// machine thousands of syncs.
		Dir: b.dir, Addr: b.addr, Sync: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.srv = srv
}

func (b *broker) stop() {
	if b.srv == nil {
		return
	}
	if err := b.srv.Shutdown(); err != nil {
		b.t.Error(err)
	}
	b.srv = nil
}

func (b *broker) url() string { return b.srv.ClientURL() }

// connect returns a connection that outlives restarts of the broker.
func (b *broker) connect() *nats.Conn {
	b.t.Helper()
	return connect(b.t, b.url())
}

func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func jetStream(t *testing.T, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// streams creates the streams of the log.
func (b *broker) streams(nc *nats.Conn) jetstream.JetStream {
	b.t.Helper()
	js := jetStream(b.t, nc)
	if _, err := ingest.EnsureStreams(deadline(b.t), js, ingest.Configs(14, 1)); err != nil {
		b.t.Fatal(err)
	}
	return js
}

// engine is a decider in this process.
type engine struct {
	*decider.Engine
	t      *testing.T
	said   *transcript
	cancel context.CancelFunc
	done   chan error
}

// startEngine runs an engine over the store in dir.
func startEngine(t *testing.T, nc *nats.Conn, dir string) *engine {
	t.Helper()
	e := &engine{t: t, said: newTranscript(), done: make(chan error, 1)}
	var err error
	e.Engine, err = decider.New(decider.Options{
		Conn: nc, Dir: dir, Version: "0.0.1", Log: slog.New(slog.NewTextHandler(e.said, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, e.cancel = context.WithCancel(context.Background())
	go func() { e.done <- e.Run(ctx) }()
	t.Cleanup(e.stop)
	return e
}

// stop ends the engine and leaves its store closed.
func (e *engine) stop() {
	if e.cancel == nil {
		return
	}
	e.cancel()
	if err := <-e.done; err != nil {
		e.t.Errorf("the engine ended with: %v", err)
	}
	e.cancel = nil
}

func (e *engine) awaitReady() {
	e.t.Helper()
	if err := e.AwaitReady(deadline(e.t)); err != nil {
		e.t.Fatalf("the engine does not get ready: %v\n%s", err, e.said)
	}
}

// at returns the state, with digest, once the sequence is folded.
func (e *engine) at(seq uint64) httpapi.State {
	e.t.Helper()
	s, err := e.State(deadline(e.t), seq, true)
	if err != nil {
		e.t.Fatalf("sequence %d: %v\n%s", seq, err, e.said)
	}
	s.Retention = nil // its plan has a time of its own
	return s
}

// freshFold folds the log once more, into an empty store.
func freshFold(t *testing.T, nc *nats.Conn, seq uint64) httpapi.State {
	t.Helper()
	e := startEngine(t, nc, filepath.Join(t.TempDir(), "fresh"))
	defer e.stop()
	e.awaitReady()
	return e.at(seq)
}

// mustEqualFreshFold compares a state with what the log gives from scratch:
// the digest, and the counts, which are not in the digest.
func mustEqualFreshFold(t *testing.T, nc *nats.Conn, got httpapi.State) {
	t.Helper()
	want := freshFold(t, nc, got.AppliedSeq)
	if got.AppliedSeq != want.AppliedSeq || got.Digest != want.Digest {
		t.Errorf("the state at %d has digest %s; folded from scratch it is %s at %d", got.AppliedSeq, got.Digest, want.Digest, want.AppliedSeq)
	}
	if got.Counts != want.Counts {
		t.Errorf("the state counts %+v; folded from scratch they are %+v", got.Counts, want.Counts)
	}
}
