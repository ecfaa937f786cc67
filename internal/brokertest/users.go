package brokertest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// Users is a broker that has users with rights, as quotashare nats-config makes them.
type Users struct {
	Dir string // of the configuration and the logins
	URL string
	Own login.Login // of the process that runs it
	t   testing.TB
	log *usersLog
}

// StartUsers runs one with a new configuration.
func StartUsers(t testing.TB, w natsusers.Want) *Users {
	t.Helper()
	b := &Users{Dir: filepath.Join(t.TempDir(), "users"), t: t, log: &usersLog{did: map[string][]string{}}}
	_, err := natsusers.Write(b.Dir, w)
	must(t, err)
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: filepath.Join(t.TempDir(), "nats"),
		NoSigs: true, SyncInterval: 100 * time.Millisecond,
	}
	b.Own, err = natsusers.Apply(b.File(), o)
	must(t, err)
	s, err := server.NewServer(o)
	must(t, err)
	s.SetLoggerV2(b.log, false, true, false)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server accepts no connections")
	}
	b.URL = s.ClientURL()
	return b
}

// File is the configuration.
func (b *Users) File() string { return filepath.Join(b.Dir, natsusers.ConfigName) }

// Login is the file with the login of a user.
func (b *Users) Login(user string) string { return filepath.Join(b.Dir, user+natsusers.LoginSuffix) }

// As connects as a user.
func (b *Users) As(user string, more ...nats.Option) *nats.Conn {
	b.t.Helper()
	who := b.Own
	if user != b.Own.User {
		var err error
		who, err = login.Read(b.Login(user))
		must(b.t, err)
	}
	// What is refused the broker tells, and nobody else need.
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	nc, err := nats.Connect(b.URL, slices.Concat(who.Options(), []nats.Option{quiet, nats.Name(user)}, more)...)
	must(b.t, err)
	b.t.Cleanup(nc.Close)
	return nc
}

// Complaints are what the broker logged as errors and warnings since they were last asked
// for: whom it refused what is among them.
func (b *Users) Complaints() []string {
	b.log.mu.Lock()
	defer b.log.mu.Unlock()
	said := b.log.said
	b.log.said = nil
	return said
}

// Did are the subjects that a user has published and subscribed to, refused or not, each
// once and with the operation in front: "PUB quota.decide", "SUB _INBOX_a.>".
func (b *Users) Did(user string) []string {
	b.log.mu.Lock()
	defer b.log.mu.Unlock()
	return slices.Clone(b.log.did[user])
}

// usersLog is what a broker logs.
type usersLog struct {
	mu   sync.Mutex
	said []string
	did  map[string][]string // by user
}

// operation finds in a trace line who publishes or subscribes, and to what.
var operation = regexp.MustCompile(`/user:(\S+)" - <<- \[H?(PUB|SUB) (\S+)`)

// Tracef implements server.Logger.
func (l *usersLog) Tracef(format string, v ...any) {
	found := operation.FindStringSubmatch(fmt.Sprintf(format, v...))
	if found == nil {
		return
	}
	user, did := found[1], found[2]+" "+strings.TrimSuffix(found[3], "]")
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.did[user], did) {
		l.did[user] = append(l.did[user], did)
	}
}

// Errorf implements server.Logger, and so do the others.
func (l *usersLog) Errorf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, fmt.Sprintf(format, v...))
}
func (l *usersLog) Warnf(format string, v ...any)  { l.Errorf(format, v...) }
func (l *usersLog) Fatalf(format string, v ...any) { l.Errorf(format, v...) }
func (l *usersLog) Noticef(string, ...any)         {}
func (l *usersLog) Debugf(string, ...any)          {}
