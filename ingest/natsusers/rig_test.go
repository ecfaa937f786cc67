package natsusers_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/ingest/natsusers/login"
	"github.com/quotashare/quotashare/internal/brokertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, brokertest.LostChannel) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// broker is a server with users.
type broker struct {
	t   testing.TB
	dir string // of the configuration
	url string
	own login.Login
	log *brokerLog
}

// brokerLog keeps what a broker says of refusals.
type brokerLog struct {
	mu       sync.Mutex
	refusals []string
}

func (l *brokerLog) Noticef(string, ...any) {}
func (l *brokerLog) Debugf(string, ...any)  {}
func (l *brokerLog) Tracef(string, ...any)  {}
func (l *brokerLog) Warnf(format string, v ...any) {
	l.Errorf(format, v...)
}
func (l *brokerLog) Fatalf(format string, v ...any) { l.Errorf("fatal: "+format, v...) }
func (l *brokerLog) Errorf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals = append(l.refusals, fmt.Sprintf(format, v...))
}

// take returns what was said since it was last called.
func (l *brokerLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := l.refusals
	l.refusals = nil
	return said
}

// start runs a server with the users of a new configuration.
func start(t testing.TB, w natsusers.Want) *broker {
	t.Helper()
	b := &broker{t: t, dir: filepath.Join(t.TempDir(), "users"), log: new(brokerLog)}
	_, err := natsusers.Write(b.dir, w)
	must(t, err)
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, SyncInterval: 100 * time.Millisecond,
	}
	b.own, err = natsusers.Apply(filepath.Join(b.dir, natsusers.ConfigName), o)
	must(t, err)
	s, err := server.NewServer(o)
	must(t, err)
	s.SetLoggerV2(b.log, false, false, false)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server accepts no connections")
	}
	b.url = s.ClientURL()
	return b
}

// login is that of a user.
func (b *broker) login(user string) login.Login {
	b.t.Helper()
	if user == b.own.User {
		return b.own
	}
	l, err := login.Read(filepath.Join(b.dir, user+natsusers.LoginSuffix))
	must(b.t, err)
	return l
}

// as connects as a user, with more options.
func (b *broker) as(user string, more ...nats.Option) *nats.Conn {
	b.t.Helper()
	// What is refused the broker's log has, and here nobody need be told.
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	nc, err := nats.Connect(b.url, append(append(b.login(user).Options(), quiet), more...)...)
	must(b.t, err)
	b.t.Cleanup(nc.Close)
	return nc
}

// streams makes the streams of the log, as the user ingest.
func (b *broker) streams() {
	b.t.Helper()
	js, err := jetstream.New(b.as("ingest"))
	must(b.t, err)
	_, err = ingest.EnsureStreams(within(b.t), js, ingest.Configs(14, 1))
	must(b.t, err)
}

// refused returns what the broker refused while fn ran, of that connection.
func (b *broker) refused(nc *nats.Conn, fn func()) string {
	b.t.Helper()
	b.log.take()
	fn()
	must(b.t, nc.FlushTimeout(10*time.Second))
	return strings.Join(b.log.take(), "\n")
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
