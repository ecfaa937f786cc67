package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/events"
)

// childDir makes this test binary a server on that directory, for the test
// that kills one.
const childDir = "QUOTASHARE_TEST_SERVER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		serveUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	if o.Addr == "" {
		o.Addr = "127.0.0.1:-1"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
}

// connect returns JetStream on a connection that is closed before the server.
func connect(t *testing.T, url string, opts ...nats.Option) (jetstream.JetStream, func()) {
	t.Helper()
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js, nc.Close
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func ensure(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	diff, err := EnsureStreams(deadline(t), js, Configs(14, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diff {
		t.Errorf("a stream of our own differs: %s", d)
	}
}

func TestPublishedMessagesSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	for run := range 3 {
		s := start(t, Options{Dir: dir})
		js, done := connect(t, s.ClientURL())
		ensure(t, js)
		ack, err := js.Publish(deadline(t), "quota.consumption", []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if want := uint64(run + 1); ack.Sequence != want || ack.Stream != events.Stream {
			t.Errorf("run %d: stored as %s %d, want %s %d", run, ack.Stream, ack.Sequence, events.Stream, want)
		}
		done()
		stop(t, s)
	}
}

func TestAddressInUseIsSaid(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "nats")
	_, err = Start(Options{Dir: dir, Addr: l.Addr().String(), Logger: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, ErrAddrInUse) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("error is %v, want one that wraps %v and names %s", err, ErrAddrInUse, l.Addr())
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("a refused start left a data directory behind")
	}
}

func TestOneServerPerDirectory(t *testing.T) {
	dir := t.TempDir()
	first := start(t, Options{Dir: dir})
	_, err := Start(Options{Dir: dir, Addr: "127.0.0.1:-1", Logger: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, ErrDirInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error is %v, want one that wraps %v and names %s", err, ErrDirInUse, dir)
	}
	stop(t, first)
	stop(t, start(t, Options{Dir: dir}))
}

// A lock that cannot be opened is nobody else's server: the advice to stop that
// one would lead nowhere.
func TestALockThatCannotBeOpenedIsNotInUse(t *testing.T) {
	dir := t.TempDir()
	lock := filepath.Join(dir, "LOCK")
	if err := os.Mkdir(lock, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Start(Options{Dir: dir, Addr: "127.0.0.1:-1", Logger: slog.New(slog.DiscardHandler)})
	if err == nil || errors.Is(err, ErrDirInUse) || !strings.Contains(err.Error(), lock) {
		t.Errorf("error is %v, want one that names %s and does not wrap %v", err, lock, ErrDirInUse)
	}
}

func TestUnusableDirectoryIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Options{Dir: filepath.Join(file, "nats"), Addr: "127.0.0.1:-1"}); err == nil {
		t.Error("a server started in a directory that cannot exist")
	}
}

// The store refuses to start; nats-server calls that fatal and would go on
// without JetStream.
func TestFatalOfTheServerIsAnErrorOfStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jetstream"), []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(Options{Dir: dir, Addr: "127.0.0.1:-1", Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "JetStream") {
		t.Errorf("error is %v, want what the server said about JetStream", err)
	}
}

func TestBadAddresses(t *testing.T) {
	for _, addr := range []string{"", "4222", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-2"} {
		if _, err := Start(Options{Dir: t.TempDir(), Addr: addr}); err == nil || !strings.Contains(err.Error(), "nats address") {
			t.Errorf("address %q: error is %v", addr, err)
		}
	}
}

func TestTokenIsAskedFor(t *testing.T) {
	s := start(t, Options{Dir: t.TempDir(), Token: "secret"})
	defer stop(t, s)
	if nc, err := nats.Connect(s.ClientURL()); !errors.Is(err, nats.ErrAuthorization) {
		nc.Close()
		t.Errorf("without the token: %v, want %v", err, nats.ErrAuthorization)
	}
	js, done := connect(t, s.ClientURL(), nats.Token("secret"))
	defer done()
	ensure(t, js)
}

func TestServerLinesGoThroughSlog(t *testing.T) {
	var out bytes.Buffer
	log := newServerLog(&Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	log.Noticef("quiet %d", 1)
	log.Warnf(" warned %d ", 2)
	log.Errorf("wrong %d", 3)
	log.Fatalf("fatal %d", 4)
	log.Fatalf("fatal %d", 5)
	text := out.String()
	for _, want := range []string{`level=WARN msg="warned 2" from=nats-server`, `level=ERROR msg="wrong 3"`, `level=ERROR msg="fatal 4"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "quiet") {
		t.Error("a notice of the server is no debug line")
	}
	if err := <-log.fatal; err.Error() != "nats server: fatal 4" {
		t.Errorf("the first fatal error is %q", err)
	}
}

// Sync 0 must mean before every acknowledgement; nats-server's own default is
// two minutes later.
func TestSyncReachesTheServer(t *testing.T) {
	for _, sync := range []time.Duration{0, 100 * time.Millisecond} {
		o, _, err := natsOptions(Options{Addr: "127.0.0.1:0", Sync: sync})
		if err != nil {
			t.Fatal(err)
		}
		if o.SyncAlways != (sync == 0) || o.SyncInterval != sync {
			t.Errorf("sync %s: always %v, interval %s", sync, o.SyncAlways, o.SyncInterval)
		}
	}
}

// A decider that is gone without a word costs its share of all questions until
// it is noticed, so that must be a matter of seconds.
func TestSilentClientsAreGivenUpSoon(t *testing.T) {
	o, _, err := natsOptions(Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	// 0 would be the server's own default, which is minutes.
	if noticed := o.PingInterval * time.Duration(o.MaxPingsOut+1); o.PingInterval <= 0 || o.MaxPingsOut <= 0 || noticed > 10*time.Second {
		t.Errorf("a silent client is noticed after %s, want at most 10 s", noticed)
	}
}

// TestALogOfOneProcess: without a listener nobody reaches the server but who has it,
// and what is there is what was there.
func TestALogOfOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	open := start(t, Options{Dir: dir})
	js, leave := connect(t, open.ClientURL())
	_, err := EnsureStreams(deadline(t), js, Configs(14, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(deadline(t), "quota.consumption", []byte("x")); err != nil {
		t.Fatal(err)
	}
	leave()
	if _, err := Start(Options{Dir: dir, Alone: true, Logger: slog.New(slog.DiscardHandler)}); !errors.Is(err, ErrDirInUse) {
		t.Errorf("while it is served: %v", err)
	}
	stop(t, open)

	alone, err := Start(Options{Dir: dir, Alone: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, alone)
	nc, err := alone.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(deadline(t), events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.CachedInfo().State.LastSeq; got != 1 {
		t.Errorf("it ends at %d", got)
	}
	if alone.nats.Addr() != nil {
		t.Errorf("it listens on %s", alone.nats.Addr())
	}
}

// TestACopyThatWasTakenWhileItWasWritten is read without a word: all of it is there,
// and what the server has to make again frightens nobody.
func TestACopyThatWasTakenWhileItWasWritten(t *testing.T) {
	dir, copied := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "copy")
	served := start(t, Options{Dir: dir})
	js, leave := connect(t, served.ClientURL())
	ensure(t, js)
	if _, err := js.Publish(deadline(t), "quota.consumption", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	leave()
	stop(t, served)
	var said bytes.Buffer
	alone, err := Start(Options{Dir: copied, Alone: true, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := alone.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	if js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	if n := state(t, js).Msgs; n != 1 {
		t.Errorf("the copy has %d messages", n)
	}
	nc.Close()
	stop(t, alone)
	if said.Len() > 0 {
		t.Errorf("it says %s", said.String())
	}
}

// A stream that is being made when the server ends is closed with it.
func TestTheEndWaitsForWhatWasAsked(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := start(t, Options{Dir: t.TempDir()})
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		config := fmt.Sprintf(`{"name":"S%d","subjects":["s.%d"],"storage":"file"}`, i, i)
		if err := nc.PublishRequest(fmt.Sprintf("$JS.API.STREAM.CREATE.S%d", i), "nobody", []byte(config)); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.FlushTimeout(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	nc.Close()
	stop(t, s)
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
