// Package enginetest runs engines in the process of a test. They end with the test, and
// what fails, fails the test.
package enginetest

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/ingest/intake"
)

// Engine is a decider in this process.
type Engine struct {
	*decider.Engine
	// Stop ends it and leaves its store closed, and all that it recorded stored. It
	// may be called again.
	Stop func()
	t    testing.TB
}

// Begin runs an engine over the log of o.Conn, whose streams are there. What else o
// leaves out is a new directory for the state, a version, and silence.
func Begin(t testing.TB, o decider.Options) *Engine {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "state")
	}
	if o.Version == "" {
		o.Version = "0.0.1"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d, err := decider.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the engine ended with: %v", err)
		}
	})
	t.Cleanup(stop)
	return &Engine{d, stop, t}
}

// Start runs an engine, as Begin does, that is ready to answer.
func Start(t testing.TB, o decider.Options) *Engine {
	t.Helper()
	e := Begin(t, o)
	e.Await()
	return e
}

// Await waits until the engine is ready to answer.
func (e *Engine) Await() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.AwaitReady(ctx); err != nil {
		e.t.Fatalf("the engine does not get ready: %v", err)
	}
}

// Intake takes events for the log of a connection.
func Intake(t testing.TB, conn *nats.Conn) *intake.Intake {
	t.Helper()
	i, err := intake.Open(intake.Options{Conn: conn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}
