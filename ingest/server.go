package ingest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest/natsusers"
)

// readyTimeout bounds the wait for the first connection to be accepted. The
// recovery of the streams happens before the listener opens and is not in it.
const readyTimeout = 10 * time.Second

// Errors of Start that a program can tell apart; the error returned wraps them
// and names the address or the directory.
var (
	ErrAddrInUse = errors.New("address already in use")
	ErrDirInUse  = errors.New("data directory already in use")
)

// Server is a running embedded NATS server.
type Server struct {
	nats *server.Server
	log  *serverLog
	lock io.Closer
	own  []nats.Option
	node bool   // of a cluster
	in   string // the account that has the log
}

// Start runs an embedded NATS server with JetStream and returns once it
// accepts connections. It installs no signal handler and never ends the
// process: what nats-server calls fatal comes back as an error, or later on
// Failed.
func Start(o Options) (*Server, error) {
	opts, own, err := natsOptions(o)
	if err != nil {
		return nil, err
	}
	if err := o.free(); err != nil {
		return nil, err
	}
	if err := o.joins(); err != nil {
		return nil, err
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{log: newServerLog(&o), lock: lock, own: own, node: o.Cluster != nil, in: natsusers.LogAccount(opts)}
	if s.nats, err = server.NewServer(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("nats server: %w", err), lock.Close())
	}
	s.nats.SetLoggerV2(s.log, false, false, false)
	s.nats.Start()
	if err := s.ready(); err != nil {
		return nil, errors.Join(err, s.Shutdown())
	}
	return s, nil
}

// ready waits until the server accepts connections, or has said why it cannot.
func (s *Server) ready() error {
	select {
	case err := <-s.log.fatal:
		return err
	default:
	}
	if !s.nats.ReadyForConnections(readyTimeout) {
		return fmt.Errorf("nats server accepts no connections after %s", readyTimeout)
	}
	return nil
}

// ClientURL returns the URL that clients connect to, without the token.
func (s *Server) ClientURL() string { return s.nats.ClientURL() }

// ClientOptions says who the process is that runs the server, for connecting to it at
// ClientURL. Such a connection goes to no other node of a cluster: it ends with the
// process, and so does the server.
func (s *Server) ClientOptions() []nats.Option { return s.own }

// Connect connects from within the process, which the server's address, if it has
// one, has no part in.
func (s *Server) Connect(name string) (*nats.Conn, error) {
	nc, err := nats.Connect("", append(slices.Clone(s.own), nats.InProcessServer(s.nats), nats.Name(name), nats.MaxReconnects(-1))...)
	if err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	return nc, nil
}

// Current reports whether a node has caught up with the others: the cluster has a leader,
// and this node's copies of the streams have what was acknowledged while it was away.
// Until then another node must not be stopped, as it may have the last whole copy. A
// server that is alone is always current, and so is a node without a copy of a stream.
func (s *Server) Current() bool {
	if !s.node {
		return true
	}
	if !s.nats.JetStreamIsCurrent() {
		return false
	}
	for _, stream := range []string{events.Stream, events.RejectedStream, DecisionsStream} {
		if s.nats.JetStreamIsStreamAssigned(s.in, stream) && !s.nats.JetStreamIsStreamCurrent(s.in, stream) {
			return false
		}
	}
	return true
}

// Failed delivers what the server calls fatal while it runs. A program that
// reads from it should stop: the log takes no more events.
func (s *Server) Failed() <-chan error { return s.log.fatal }

// Shutdown stops the server and waits until its files are closed. It may be
// called once; the error is that of giving back the directory.
func (s *Server) Shutdown() error {
	s.settle()
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	return s.lock.Close()
}

// settle waits for requests that the server has begun to serve: it knows nothing of a
// stream that is still being made when it shuts down, and would leave its files open.
// It counts them and tells nobody, so they are asked for; settleWithin bounds the wait
// for one that is stuck.
func (s *Server) settle() {
	for end := time.Now().Add(settleWithin); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if info, err := s.nats.Jsz(nil); err != nil || info.API.Inflight == 0 {
			return
		}
	}
}

const settleWithin = 2 * time.Second

// free reports an address that somebody else listens on.
func (o *Options) free() error {
	if o.Alone {
		return nil
	}
	err := checkFree("nats", o.Addr)
	if o.Cluster != nil {
		err = errors.Join(err, checkFree("cluster", o.Cluster.Addr))
	}
	return err
}

// checkFree listens and closes again. nats-server would find out as well, but
// only after it has opened the store, and it tells in words and not in errors.
func checkFree(of, addr string) error {
	host, port, err := splitAddr(of, addr)
	if err != nil || port == server.RANDOM_PORT {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s address %s: %w", of, addr, ErrAddrInUse)
	case err != nil:
		return fmt.Errorf("%s address %s: %w", of, addr, err)
	}
	return l.Close()
}

// lockDir takes the directory for this process. nats-server does not, and two
// servers on one directory would overwrite each other's blocks. The lock is
// Pebble's because it works on every system we build for and a killed process
// leaves none behind.
func lockDir(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := vfs.Default.Lock(filepath.Join(dir, "LOCK"))
	var unopened *fs.PathError
	if errors.As(err, &unopened) { // not locked by others: without permission, say
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", dir, ErrDirInUse, err)
	}
	return lock, nil
}
