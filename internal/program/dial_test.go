package program

import (
	"log/slog"
	"testing"
	"time"

	"github.com/quotashare/quotashare/ingest"
)

// A server that stands still is given up as soon as it would give us up. By default the
// library waits for 6 minutes.
func TestAServerThatStandsStillIsGivenUp(t *testing.T) {
	s, err := ingest.Start(ingest.Options{Dir: t.TempDir(), Addr: "127.0.0.1:-1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := Dial(t.Context(), Broker{URL: s.ClientURL()}, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if after := nc.Opts.PingInterval * time.Duration(nc.Opts.MaxPingsOut+1); after > 10*time.Second {
		t.Errorf("it is waited for for %s", after)
	}
	nc.Close()
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
}
