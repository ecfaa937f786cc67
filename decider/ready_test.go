package decider

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/plans"
)

// TestNobodyIsAskedBeforeItHasCaughtUp: while there is no log to follow, the
// broker knows nobody who answers, and says so at once.
func TestNobodyIsAskedBeforeItHasCaughtUp(t *testing.T) {
	nc := startBroker(t, t.TempDir())
	said := &lines{grew: make(chan struct{}, 1)}
	e, err := New(Options{
		Conn: nc, Dir: t.TempDir() + "/state", Version: "0.0.1", Settings: plans.DefaultSettings(), Log: slog.New(slog.NewTextHandler(said, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Engine: e, t: t}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	defer func() {
		cancel()
		r.must(await(t, done, "the end of the engine"))
	}()
	await(t, said.grew, "a word of the engine") // that the log does not answer: by then it would have subscribed
	question := []byte(`{"apiKeyId":"alice","connectionId":"c"}`)
	if m, err := nc.RequestWithContext(r.within(), "quota.decide", question); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("without a log: %v, %v; want no responders", m, err)
	}
	if e.Ready() {
		t.Error("ready without a log")
	}
	makeStreams(t, nc)
	r.must(e.AwaitReady(r.within()))
	if _, err := nc.RequestWithContext(r.within(), "quota.decide", question); err != nil {
		t.Errorf("with a log: %v", err)
	}
}
