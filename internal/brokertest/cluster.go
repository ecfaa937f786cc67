package brokertest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/ingest"
)

// Cluster is three servers that keep one log. Each can be stopped and started again.
type Cluster struct {
	t     testing.TB
	nodes [3]*server.Server // nil = stopped
	opts  [3]server.Options
}

// StartCluster runs three servers, which have yet to agree on who leads.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	var routes []*url.URL
	for i := range c.opts {
		routes = append(routes, &url.URL{Scheme: "nats", Host: FreeAddr(t)})
		port := portOf(t, FreeAddr(t))
		c.opts[i] = server.Options{
			ServerName: fmt.Sprint("node-", i+1), Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: filepath.Join(t.TempDir(), "nats"), JetStreamMaxStore: 1 << 40, SyncInterval: 100 * time.Millisecond,
		}
	}
	for i, at := range routes {
		c.opts[i].Cluster = server.ClusterOpts{Name: "quotashare", Host: "127.0.0.1", Port: portOf(t, at.Host)}
		c.opts[i].Routes = routes
	}
	c.StartAll()
	t.Cleanup(func() {
		for i := range c.nodes {
			c.Stop(i)
		}
	})
	return c
}

// StartAll starts the servers that do not run.
func (c *Cluster) StartAll() {
	c.t.Helper()
	for i, s := range c.nodes {
		if s == nil {
			c.start(i)
		}
	}
}

func (c *Cluster) start(i int) {
	c.t.Helper()
	opts := c.opts[i]
	s, err := server.NewServer(&opts)
	must(c.t, err)
	s.Start()
	c.nodes[i] = s
	if !s.ReadyForConnections(20 * time.Second) {
		c.t.Fatal("the server accepts no connections")
	}
}

// Stop stops a server, if it runs.
func (c *Cluster) Stop(i int) {
	if c.nodes[i] == nil {
		return
	}
	c.nodes[i].Shutdown()
	c.nodes[i].WaitForShutdown()
	c.nodes[i] = nil
}

// URLs are those of all servers, as clients take them.
func (c *Cluster) URLs() string {
	var all []string
	for _, o := range c.opts {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(all, ",")
}

// Streams makes the streams of the log, with a copy on each server.
func (c *Cluster) Streams(nc *nats.Conn) jetstream.JetStream {
	c.t.Helper()
	js, err := jetstream.New(nc)
	must(c.t, err)
	for end := time.Now().Add(time.Minute); ; {
		// Without a leader nobody answers. The client library waits 5 s then.
		_, err := ingest.EnsureStreams(context.Background(), js, ingest.Configs(14, len(c.nodes)))
		if err == nil {
			return js
		}
		if time.Now().After(end) {
			c.t.Fatalf("the streams are not made: %v", err)
		}
	}
}

// Dir is the data directory of a server, to be looked at when it is stopped.
func (c *Cluster) Dir(i int) string { return filepath.Dir(c.opts[i].StoreDir) }

// Leader returns which server leads a stream, as soon as one does: for a moment none may.
func (c *Cluster) Leader(stream string) int {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); runtime.Gosched() {
		for i, s := range c.nodes {
			if s != nil && s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
				return i
			}
		}
	}
	c.t.Fatalf("nobody leads the stream %s", stream)
	return 0
}

func portOf(t testing.TB, addr string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(addr)
	must(t, err)
	port, err := strconv.Atoi(text)
	must(t, err)
	return port
}
