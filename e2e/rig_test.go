package e2e

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/enginetest"
)

func jetStream(t *testing.T, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// engine is a decider in this process.
type engine struct {
	*enginetest.Engine
	t    *testing.T
	said *transcript
}

// startEngine runs an engine over the store in dir.
func startEngine(t *testing.T, nc *nats.Conn, dir string) *engine {
	t.Helper()
	said := newTranscript()
	return &engine{enginetest.Begin(t, decider.Options{Conn: nc, Dir: dir, Log: slog.New(slog.NewTextHandler(said, nil))}), t, said}
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
	defer e.Stop()
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
