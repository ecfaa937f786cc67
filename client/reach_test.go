package client

import (
	"log/slog"
	"testing"
	"time"

	"github.com/quotashare/quotashare/ingest"
)

// TestABrokerThatLetsNobodyIn: why there is no connection is in the log, because a token
// that is wrong looks like a broker that is away.
func TestABrokerThatLetsNobodyIn(t *testing.T) {
	b, err := ingest.Start(ingest.Options{Dir: t.TempDir(), Addr: "127.0.0.1:-1", Sync: time.Second, Token: "right", Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer func() { must(t, b.Shutdown()) }()
	said := newLines()
	c, err := New(Options{URL: b.ClientURL(), Token: "wrong", Logger: slog.New(slog.NewTextHandler(said, nil))})
	must(t, err)
	defer c.Close(t.Context())
	said.await(t, "the quota engine's broker does not let us in")
}
