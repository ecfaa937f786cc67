package natsapi

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// runServer runs a broker on a free port until the test ends.
func runServer(tb testing.TB, change func(*server.Options)) *server.Server {
	tb.Helper()
	opts := &server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true}
	if change != nil {
		change(opts)
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		tb.Fatal(err)
	}
	ns.Start()
	tb.Cleanup(func() {
		ns.Shutdown()
		ns.WaitForShutdown()
	})
	if !ns.ReadyForConnections(10 * time.Second) {
		tb.Fatal("the broker does not start")
	}
	return ns
}

func connect(tb testing.TB, ns *server.Server) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect(ns.ClientURL())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}
