package decider

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/plans"
)

// TestALoginOfAnotherRole is no decider's: one may not read the log, another one not
// answer. It says which it is, goes on, and is not ready.
func TestALoginOfAnotherRole(t *testing.T) {
	b := brokertest.StartUsers(t, natsusers.Want{})
	makeStreams(t, b.As("ingest"))
	for _, user := range []string{"gateway", "viewer", "decider"} {
		t.Run(user, func(t *testing.T) {
			e, err := New(Options{
				Conn: b.As(user), Dir: t.TempDir() + "/state", Version: "0.0.1", Settings: plans.DefaultSettings(), Login: user, Log: slog.New(slog.DiscardHandler),
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
			if user == "decider" {
				r.must(e.AwaitReady(r.within()))
				r.must(e.HeldUp())
				return
			}
			within := r.within()
			for err = e.HeldUp(); err == nil && within.Err() == nil; err = e.HeldUp() {
			}
			if err == nil || !strings.Contains(err.Error(), "let the login "+user+" read") || !strings.Contains(err.Error(), "of the role decider") {
				t.Errorf("it is held up by %v", err)
			}
			for user == "viewer" && !slices.Contains(b.Did(user), "SUB quota.route") && within.Err() == nil {
			}
			soon, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			if e.AwaitReady(soon) == nil {
				t.Error("it is ready")
			}
		})
	}
}

// TestADeciderThatNobodyMayAsk is told by a subscription to them, and not what else a login may not.
func TestADeciderThatNobodyMayAsk(t *testing.T) {
	b := brokertest.StartUsers(t, natsusers.Want{})
	nc := b.As("viewer")
	ask := func(subject string) error {
		t.Helper()
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		return nc.LastError()
	}
	if err := ask("quota.decide"); !refusesQuestions(err) {
		t.Errorf("it may be asked: %v", err)
	}
	if err := ask("other"); refusesQuestions(err) {
		t.Errorf("it may not be asked: %v", err)
	}
}
