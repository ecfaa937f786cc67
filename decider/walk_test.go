package decider

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// startBroker starts an embedded broker without a stream and connects to it.
func startBroker(t *testing.T, dir string) *nats.Conn {
	t.Helper()
	srv, err := ingest.Start(ingest.Options{Dir: dir, Addr: "127.0.0.1:-1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { came(t, returned(func() { srv.Shutdown() }), "the end of the broker") })
	nc, err := nats.Connect(srv.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// startLog starts an embedded log and connects to it.
func startLog(t *testing.T, dir string) *nats.Conn {
	t.Helper()
	nc := startBroker(t, dir)
	makeStreams(t, nc)
	return nc
}

func makeStreams(t *testing.T, nc *nats.Conn) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ingest.EnsureStreams(t.Context(), js, ingest.Configs(14, 1)); err != nil {
		t.Fatal(err)
	}
}

// TestAPublishedEventChangesAnAnswer walks the whole way over the real broker.
func TestAPublishedEventChangesAnAnswer(t *testing.T) {
	nc := startLog(t, t.TempDir())
	e, err := New(Options{Conn: nc, Dir: t.TempDir() + "/state", Version: "0.0.1", Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	defer func() {
		cancel()
		if err, _ := came(t, done, "the end of the engine"); err != nil {
			t.Error(err)
		}
	}()
	if err := e.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = put(ctx, e, &plans.Pool{
		ID: "team", Name: "team", Provider: "kimi", Reserve: 100,
		Connections: []plans.Connection{{ConnectionID: "kimi-1", Weight: 100}},
		Allocations: []plans.Allocation{{APIKeyID: "alice", Weight: 50 * quota.RatioOne}, {APIKeyID: "bob", Weight: 50 * quota.RatioOne}},
	}, httpapi.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() string {
		m, err := nc.Request("quota.decide", []byte(`{"apiKeyId":"alice","connectionId":"kimi-1","explain":true}`), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return string(m.Data)
	}
	if got := ask(); !strings.Contains(got, `"decision":"allow"`) {
		t.Errorf("before: %s", got)
	}
	js, _ := jetstream.New(nc)
	ack, err := js.Publish(ctx, "quota.consumption", []byte(`{"id":"1","apiKeyId":"alice","connectionId":"kimi-1","cost":{"requests":800}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.State(ctx, ack.Sequence, true); err != nil {
		t.Fatal(err)
	}
	if got := ask(); !strings.Contains(got, `"reason":"fair-share"`) {
		t.Errorf("after: %s", got)
	}
}

// lastSeq is the last sequence of the log.
func (r *running) lastSeq(ctx context.Context) (uint64, error) {
	log, err := r.logState(ctx)
	return log.LastSeq, err
}
