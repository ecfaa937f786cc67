package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/program"
)

// TestABrokerWithoutALogIsSaid in words of ours, and with the code of what is wrong: a
// copy that has none is the wrong directory.
func TestABrokerWithoutALogIsSaid(t *testing.T) {
	data := t.TempDir()
	empty := ingest.Options{Dir: filepath.Join(data, "nats"), Addr: "127.0.0.1:-1", Sync: time.Minute, Logger: slog.New(slog.DiscardHandler)}
	srv, err := ingest.Start(empty)
	if err != nil {
		t.Fatal(err)
	}
	for _, audit := range []string{"replay --offline", "verify", "whatif --without-pool p", "export"} {
		says(t, audit+" --temp "+t.TempDir()+" --store-nats-url "+srv.ClientURL(), program.Undone, "quotashare: the broker has no log: there is no stream QUOTA\nhint: ")
	}
	if err := srv.Shutdown(); err != nil {
		t.Fatal(err)
	}
	for _, audit := range []string{"replay", "verify", "whatif --without-pool p", "explain --key a -c c --seq 1", "export"} {
		says(t, audit+" --data-dir "+data, program.Usage, "quotashare: --data-dir: there is no log in "+data+"\nhint: name a copy")
		says(t, audit+" --data-dir nowhere", program.Usage, "quotashare: --data-dir: there is no log in nowhere\nhint: name a copy")
	}
}

// TestACopyOfANodeIsSaidToBeOne: it has a log, and is not told that it has none.
func TestACopyOfANodeIsSaidToBeOne(t *testing.T) {
	c := brokertest.StartCluster(t)
	c.Streams(brokertest.Connect(t, c.URLs()))
	for i := range 3 {
		c.Stop(i)
	}
	says(t, "replay --data-dir "+c.Dir(0), program.Usage, "quotashare: --data-dir: "+c.Dir(0)+" is of a node of a cluster, whose log no node reads alone\nhint: ask the running cluster")
}

// says runs a command that ends with this code, and begins so with what is wrong.
func says(t *testing.T, args string, code int, want string) {
	t.Helper()
	var said bytes.Buffer
	p := program.Process{Name: "quotashare", Stdout: io.Discard, Stderr: &said, Args: strings.Fields(args)}
	if got := run(context.Background(), p); got != code || !strings.HasPrefix(said.String(), want) {
		t.Errorf("%s: exit %d, %s", args, got, &said)
	}
}
