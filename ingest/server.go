package ingest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
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

// Options says where and how the embedded server runs.
type Options struct {
	Dir    string        // its own directory; created when missing
	Addr   string        // host:port to listen on; port 0 or -1 picks a free one
	Alone  bool          // no listener, and no Addr: only Connect reaches it
	Sync   time.Duration // 0 = fsync before every acknowledgement
	Token  string        // "" = clients need none
	Logger *slog.Logger  // nil = the default logger
}

// Server is a running embedded NATS server.
type Server struct {
	nats *server.Server
	log  *serverLog
	lock io.Closer
}

// Start runs an embedded NATS server with JetStream and returns once it
// accepts connections. It installs no signal handler and never ends the
// process: what nats-server calls fatal comes back as an error, or later on
// Failed.
func Start(o Options) (*Server, error) {
	opts, err := natsOptions(o)
	if err != nil {
		return nil, err
	}
	if !o.Alone {
		if err := checkFree(o.Addr); err != nil {
			return nil, err
		}
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{log: newServerLog(o.Logger, o.Alone), lock: lock}
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

// Connect connects from within the process, which the server's address, if it has
// one, has no part in.
func (s *Server) Connect(name string) (*nats.Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(s.nats), nats.Name(name), nats.MaxReconnects(-1))
	if err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	return nc, nil
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

// A client that says nothing is given up after maxPings pings without an answer
// and one interval more, 9 s. Until then a decider whose machine is gone is sent
// its share of all questions, and each of those is a time-out at a gateway; by
// default that would go on for 6 minutes. A process that ends is noticed at once,
// because its system closes its connection.
const (
	pingInterval = 3 * time.Second
	maxPings     = 2
)

// unlimitedStore is more than any disk, and far from where sums overflow.
const unlimitedStore = 1 << 60

func natsOptions(o Options) (*server.Options, error) {
	var host string
	var port int
	if !o.Alone {
		var err error
		if host, port, err = splitAddr(o.Addr); err != nil {
			return nil, err
		}
	}
	return &server.Options{
		ServerName: "quotashare",
		Host:       host,
		Port:       port,
		DontListen: o.Alone,
		JetStream:  true,
		// The disk is the limit. By default the server takes three quarters of
		// what was free when it started, and after a restart may have less than
		// it holds already.
		JetStreamMaxStore:      unlimitedStore,
		StoreDir:               o.Dir,
		SyncAlways:             o.Sync == 0,
		SyncInterval:           o.Sync,
		Authorization:          o.Token,
		PingInterval:           pingInterval,
		MaxPingsOut:            maxPings,
		NoSigs:                 true,
		DisableJetStreamBanner: true,
	}, nil
}

// splitAddr turns host:port into what nats-server wants, where a free port is
// -1 and 0 would be its default port.
func splitAddr(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("nats address %q: %w", addr, err)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < -1 || port > 65535 {
		return "", 0, fmt.Errorf("nats address %q: the port is not 0..65535", addr)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// checkFree listens and closes again. nats-server would find out as well, but
// only after it has opened the store, and it tells in words and not in errors.
func checkFree(addr string) error {
	host, port, err := splitAddr(addr)
	if err != nil || port == server.RANDOM_PORT {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("nats address %s: %w", addr, ErrAddrInUse)
	case err != nil:
		return fmt.Errorf("nats address %s: %w", addr, err)
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
