// Package brokertest runs brokers in the process of a test: ours, which can be stopped
// and started again, and those of others, which have limits and users of their own.
// What it starts ends with the test, and what fails, fails the test.
package brokertest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/ingest"
)

// Broker is a server of ours with a disk of its own.
type Broker struct {
	// Dir is where its files are, and Addr where it listens. Both may be changed while
	// it is stopped, and so may the files.
	Dir, Addr string

	t   testing.TB
	srv *ingest.Server // nil = stopped
}

// Start runs a broker at a port that the system chooses.
func Start(t testing.TB) *Broker {
	t.Helper()
	return startAt(t, "127.0.0.1:-1")
}

// StartAgain runs a broker that can be stopped and started again where it was.
func StartAgain(t testing.TB) *Broker {
	t.Helper()
	return startAt(t, FreeAddr(t))
}

func startAt(t testing.TB, addr string) *Broker {
	t.Helper()
	b := &Broker{Dir: filepath.Join(t.TempDir(), "nats"), Addr: addr, t: t}
	b.Start()
	t.Cleanup(b.Stop)
	return b
}

// Start starts it once more, after Stop.
func (b *Broker) Start() {
	b.t.Helper()
	// Nobody cuts the power here, and syncs that can be waited for save the machine
	// thousands of them.
	srv, err := ingest.Start(ingest.Options{Dir: b.Dir, Addr: b.Addr, Sync: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	must(b.t, err)
	b.srv = srv
}

// Stop stops it, if it runs; its files stay until the test ends.
func (b *Broker) Stop() {
	if b.srv == nil {
		return
	}
	if err := b.srv.Shutdown(); err != nil {
		b.t.Error(err)
	}
	b.srv = nil
}

// Running reports whether it is started.
func (b *Broker) Running() bool { return b.srv != nil }

// URL is where it is, or, while it is stopped, will be.
func (b *Broker) URL() string {
	if b.srv == nil {
		return "nats://" + b.Addr
	}
	return b.srv.ClientURL()
}

// Connect returns a connection that outlives restarts of the broker, and not the test.
func (b *Broker) Connect() *nats.Conn {
	b.t.Helper()
	return Connect(b.t, b.URL())
}

// Log connects to it and makes the streams of the log.
func (b *Broker) Log() (*nats.Conn, jetstream.JetStream) {
	b.t.Helper()
	nc := b.Connect()
	return nc, Streams(b.t, nc)
}

// Connect returns a connection that outlives restarts of a broker, and not the test.
func Connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	must(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// Streams makes the streams of the log where they are not there.
func Streams(t testing.TB, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err = ingest.EnsureStreams(ctx, js, ingest.Configs(14, 1))
	must(t, err)
	return js
}

// FreeAddr returns an address that a program can come back to. It is below the ports
// that the system gives to those who do not choose: one of them could take it
// meanwhile. Nor do the tests of other packages, which run at the same time, take it while
// nobody listens there: until this test ends, it has the same port of UDP.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(20_000+rand.IntN(10_000)))
		mine, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		t.Cleanup(func() { must(t, mine.Close()) })
		if l, err := net.Listen("tcp", addr); err == nil {
			must(t, l.Close())
			return addr
		}
	}
	t.Fatal("no free port between 20000 and 30000")
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
