package natsusers_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// options are those of a server with a directory, "" = a new one.
func options(t *testing.T, dir string) *server.Options {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	return &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true}
}

// run runs a server until the test ends, or end is called.
func run(t *testing.T, o *server.Options) (s *server.Server, end func()) {
	t.Helper()
	s, err := server.NewServer(o)
	must(t, err)
	s.Start()
	end = func() { s.Shutdown(); s.WaitForShutdown() }
	t.Cleanup(end)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server accepts no connections")
	}
	return s, end
}

// serve runs one of our servers with such a configuration, and returns its URL.
func serve(t *testing.T, dir, file string) string {
	t.Helper()
	o := options(t, dir)
	_, err := natsusers.Apply(file, o)
	must(t, err)
	s, _ := run(t, o)
	return s.ClientURL()
}

// configure makes a configuration, and returns its directory and file.
func configure(t *testing.T, w natsusers.Want) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	_, err := natsusers.Write(dir, w)
	must(t, err)
	return dir, filepath.Join(dir, natsusers.ConfigName)
}

// as connects as a user of a configuration.
func as(t *testing.T, url, dir, user string) *nats.Conn {
	t.Helper()
	l, err := login.Read(filepath.Join(dir, user+natsusers.LoginSuffix))
	must(t, err)
	nc, err := nats.Connect(url, l.Options()...)
	must(t, err)
	t.Cleanup(nc.Close)
	return nc
}

func makeStreams(t *testing.T, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	must(t, err)
	_, err = ingest.EnsureStreams(within(t), js, ingest.Configs(14, 1))
	must(t, err)
	return js
}

// TestAPlainServerIncludesIt: nothing of it is of our server alone.
func TestAPlainServerIncludesIt(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		dir, file := configure(t, natsusers.Want{Isolate: isolate})
		main := filepath.Join(dir, "main.conf")
		must(t, os.WriteFile(main, fmt.Appendf(nil, "listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q }\ninclude %s\n", t.TempDir(), natsusers.ConfigName), 0o600))
		o, err := server.ProcessConfigFile(main)
		must(t, err)
		o.NoSigs, o.NoLog = true, true
		s, _ := run(t, o)
		if nc, err := nats.Connect(s.ClientURL()); !errors.Is(err, nats.ErrAuthorization) {
			nc.Close()
			t.Errorf("isolated %t: nobody may connect: %v", isolate, err)
		}
		makeStreams(t, as(t, s.ClientURL(), dir, "ingest"))
		js, err := jetstream.New(as(t, s.ClientURL(), dir, "gateway"))
		must(t, err)
		ack, err := js.Publish(within(t), "quota.consumption", []byte("{}"))
		must(t, err)
		if ack.Sequence != 1 || ack.Stream != "QUOTA" {
			t.Errorf("isolated %t: stored as %+v", isolate, ack)
		}
		_, err = server.ProcessConfigFile(file)
		must(t, err)
	}
}

// TestNodesKnowEachOther by the password of the file, and nobody else.
func TestNodesKnowEachOther(t *testing.T) {
	_, file := configure(t, natsusers.Want{})
	_, other := configure(t, natsusers.Want{})
	node := func(name, file string, routes ...*url.URL) *server.Server {
		o := options(t, "")
		o.JetStream, o.ServerName, o.Routes = false, name, routes
		o.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: server.RANDOM_PORT}
		_, err := natsusers.Apply(file, o)
		must(t, err)
		for _, r := range routes { // else only who is connected to connects, a second later
			if r.User.Username() != "routes" || !strings.Contains(read(t, file), r.User.String()[len("routes:"):]) {
				t.Errorf("the route is %s", r)
			}
		}
		s, _ := run(t, o)
		return s
	}
	first := node("first", file)
	at := func() *url.URL { return &url.URL{Scheme: "nats", Host: first.ClusterAddr().String()} }
	stranger := node("stranger", other, at())
	second := node("second", file, at())
	for ctx := within(t); second.NumRoutes() == 0; {
		if ctx.Err() != nil {
			t.Fatal("the nodes do not find each other")
		}
		runtime.Gosched()
	}
	if n := stranger.NumRoutes(); n != 0 {
		t.Errorf("a stranger has %d routes", n)
	}
}

// TestApplySaysWhatIsWrong, and names the file.
func TestApplySaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "users: it has none",
		"authorization { token: x }": "users: it has none",
		"gateway:secret\n":           "is the login of gateway and no configuration: name nats.conf",
		"users [":                    "Parse error on line 1",
		"authorization { users: [ { user: a, password: b, permissions: { publish: 7 } } ] }": "Expected subject permissions",
		"authorization { users: [ { user: \"a b:c\", password: b } ] }":                      `users: "a b:c": the name`,
		"accounts { A { users: [ { user: a, password: b } ] } }":                             "accounts: there are some, and none is QUOTA",
	} {
		file := filepath.Join(t.TempDir(), "nats.conf")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := natsusers.Apply(file, options(t, ""))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", text, err)
		}
	}
	missing := filepath.Join(t.TempDir(), "none.conf")
	if _, err := natsusers.Apply(missing, options(t, "")); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("without a file: %v", err)
	}
}

// TestTheProcessItself has a user whose password is nowhere, and another one each time.
func TestTheProcessItself(t *testing.T) {
	dir, file := configure(t, natsusers.Want{})
	was := read(t, file)
	o := options(t, "")
	own, err := natsusers.Apply(file, o)
	must(t, err)
	again, err := natsusers.Apply(file, options(t, ""))
	must(t, err)
	if own.User != again.User || own.Password == again.Password || len(own.Password) < 26 {
		t.Errorf("it is %q, and then %q", own, again)
	}
	if list, _ := os.ReadDir(dir); len(list) != 7 || read(t, file) != was {
		t.Errorf("there are %v, and the configuration may be another one", list)
	}
	s, _ := run(t, o)
	nc, err := nats.Connect(s.ClientURL(), own.Options()...)
	must(t, err)
	defer nc.Close()
	makeStreams(t, nc)
	if nc, err := nats.Connect(s.ClientURL(), again.Options()...); !errors.Is(err, nats.ErrAuthorization) {
		nc.Close()
		t.Errorf("with the password of another process: %v", err)
	}
}

// TestALogElsewhere: isolated gateways need the log in another account, and a server that
// began a new one there would fork it. What the error says to do moves it, and back.
func TestALogElsewhere(t *testing.T) {
	store := t.TempDir()
	shared, sharedFile := configure(t, natsusers.Want{})
	isolated, isolatedFile := configure(t, natsusers.Want{Isolate: true})
	publish := func(dir, file string, want uint64) {
		t.Helper()
		o := options(t, store)
		_, err := natsusers.Apply(file, o)
		must(t, err)
		s, end := run(t, o)
		js := makeStreams(t, as(t, s.ClientURL(), dir, "ingest"))
		ack, err := js.Publish(within(t), "quota.consumption", []byte("{}"))
		must(t, err)
		if ack.Sequence != want {
			t.Errorf("stored as %d, want %d", ack.Sequence, want)
		}
		end()
	}
	move := func(file string) {
		t.Helper()
		_, err := natsusers.Apply(file, options(t, store))
		if !errors.Is(err, natsusers.ErrElsewhere) || !strings.Contains(err.Error(), file) {
			t.Fatalf("%v", err)
		}
		words := strings.Split(err.Error(), "'")
		if len(words) != 5 || !strings.HasSuffix(words[0], "mv ") {
			t.Fatalf("it does not say how to move it: %v", err)
		}
		must(t, os.Rename(words[1], words[3]))
	}
	publish(shared, sharedFile, 1)
	move(isolatedFile)
	publish(isolated, isolatedFile, 2)
	if err := natsusers.CheckDir(store, false); !errors.Is(err, natsusers.ErrElsewhere) {
		t.Errorf("without any users: %v", err)
	}
	move(sharedFile)
	publish(shared, sharedFile, 3)
	if err := natsusers.CheckDir(store, false); err != nil {
		t.Error(err)
	}
}
