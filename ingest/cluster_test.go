package ingest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/certtest"
)

// signed is a certificate for this machine, which signs itself, and who trusts it.
func signed(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	made := certtest.Issue(t, "node")
	return &tls.Config{
		MinVersion:           tls.VersionTLS12,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return made.Pair, nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return made.Pair, nil },
		RootCAs:              made.Roots, ClientCAs: made.Roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}, made.Roots
}

// free are addresses that nobody listens on just now, and that no other test takes until
// this one ends: it has their ports of UDP. They are below those that the system gives to
// who does not choose.
func free(t *testing.T, n int) (all []string) {
	t.Helper()
	for len(all) < n {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(20_000+rand.IntN(10_000)))
		mine, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		t.Cleanup(func() { mine.Close() })
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			all = append(all, addr)
		}
	}
	return all
}

// TestThreeNodes keep what was acknowledged when one of them goes, and go on; they know
// each other by certificates.
func TestThreeNodes(t *testing.T) {
	peers, _ := signed(t)
	at := free(t, 3)
	node := func(i int) Options {
		c := &Cluster{Name: "quota", Addr: at[i], TLS: peers}
		for _, addr := range at {
			c.Routes = append(c.Routes, "nats://"+addr)
		}
		return Options{Name: fmt.Sprint("node-", i), Dir: t.TempDir(), Cluster: c}
	}
	var nodes []*Server
	for i := range at {
		nodes = append(nodes, start(t, node(i)))
	}
	up := func(i int) (jetstream.JetStream, func()) {
		return connect(t, nodes[i].ClientURL(), append(nodes[i].ClientOptions(), nats.MaxReconnects(-1))...)
	}
	js, done := up(0)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for { // a question to a cluster without a leader is not answered, and each try has an end of its own
		_, err := EnsureStreams(t.Context(), js, Configs(14, 3))
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	publish := func(id string) {
		t.Helper()
		for {
			_, err := js.Publish(t.Context(), "quota.consumption", []byte("{}"), jetstream.WithMsgID(id))
			if err == nil {
				return
			}
			if ctx.Err() != nil {
				t.Fatal(err)
			}
		}
	}
	publish("first")
	done()
	stop(t, nodes[0])
	js, done = up(1)
	publish("second")
	publish("second") // stored once, whichever node leads by now
	// One that comes back with an empty disk is current when it has the log, and no sooner:
	// then the next may go.
	nodes[0] = start(t, node(0))
	becomesCurrent(t, nodes[0], js)
	done()
	stop(t, nodes[1])
	js, done = up(0)
	publish("second")
	stream, err := js.Stream(t.Context(), events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	info := stream.CachedInfo()
	if info.State.Msgs != 2 || info.Config.Replicas != 3 || info.Cluster.Name != "quota" {
		t.Errorf("the log is %+v of %+v", info.State, info.Cluster)
	}
	done()
	stop(t, nodes[0])
	stop(t, nodes[2])
}

// becomesCurrent waits until a node has what the others have, which nobody tells: the log
// is asked how it is meanwhile.
func becomesCurrent(t *testing.T, s *Server, js jetstream.JetStream) {
	t.Helper()
	if s.Current() {
		t.Error("it has all before it can have anything")
	}
	for end := time.Now().Add(time.Minute); !s.Current(); {
		if _, err := js.Stream(t.Context(), events.Stream); time.Now().After(end) {
			t.Fatalf("it never has the log, which answers %v", err)
		}
	}
}

// TestAClusterOfStrangers: a node that shows a certificate of nobody's is none.
func TestAClusterOfStrangers(t *testing.T) {
	ours, _ := signed(t)
	theirs, _ := signed(t)
	at := free(t, 2)
	refused := make(told, 1)
	first := start(t, Options{Name: "a", Logger: slog.New(slog.NewTextHandler(refused, nil)), Dir: t.TempDir(), Cluster: &Cluster{Name: "quota", Addr: at[0], Routes: []string{"nats://" + at[1]}, TLS: ours}})
	defer stop(t, first)
	stranger := start(t, Options{Name: "b", Dir: t.TempDir(), Cluster: &Cluster{Name: "quota", Addr: at[1], Routes: []string{"nats://" + at[0]}, TLS: theirs}})
	defer stop(t, stranger)
	select {
	case <-refused:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody is refused")
	}
	if first.nats.NumRoutes() > 0 || stranger.nats.NumRoutes() > 0 {
		t.Error("they are one cluster")
	}
}

// told is a log that says when it has a line of a failed handshake.
type told chan struct{}

func (c told) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("TLS route handshake error")) {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return len(line), nil
}

// TestClientsSpeakTLS: when the server has a certificate, and its own process knows it by
// that, whatever the address is called.
func TestClientsSpeakTLS(t *testing.T) {
	certificate, trust := signed(t)
	certificate.ClientAuth = tls.NoClientCert
	s := start(t, Options{Dir: t.TempDir(), TLS: certificate})
	defer stop(t, s)
	for name, tt := range map[string]struct {
		opts []nats.Option
		fine bool
	}{
		"the process itself":        {s.ClientOptions(), true},
		"who trusts it":             {[]nats.Option{nats.Secure(&tls.Config{RootCAs: trust})}, true},
		"who does not":              {nil, false},
		"who takes it for another":  {[]nats.Option{nats.Secure(itself(func() *tls.Config { c, _ := signed(t); return c }()))}, false},
		"who trusts only strangers": {[]nats.Option{nats.Secure(&tls.Config{RootCAs: x509.NewCertPool()})}, false},
	} {
		nc, err := nats.Connect(s.ClientURL(), tt.opts...)
		if (err == nil) != tt.fine {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			nc.Close()
		}
	}
}

// TestAddressesOfNodes: another listener there, and what is no address.
func TestAddressesOfNodes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := Options{Dir: t.TempDir(), Addr: "127.0.0.1:-1", Cluster: &Cluster{Name: "quota", Addr: l.Addr().String(), Routes: []string{"nats://127.0.0.1:1"}}}
	if _, err := Start(o); !errors.Is(err, ErrAddrInUse) || err.Error() != "cluster address "+l.Addr().String()+": address already in use" {
		t.Errorf("taken: %v", err)
	}
	o.Cluster.Addr = "here"
	if _, err := Start(o); err == nil {
		t.Error("no address is one")
	}
}

// TestTheNodesPortIsNotForEverybody who reaches it.
func TestTheNodesPortIsNotForEverybody(t *testing.T) {
	dir := t.TempDir()
	peers, _ := signed(t)
	write := func(text string) string {
		file := filepath.Join(dir, "nats.conf")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const user = `authorization { users = [{user: admin, password: a}] }`
	for name, tt := range map[string]struct {
		users string
		tls   *tls.Config
		at    string
		open  bool
	}{
		"users, and no password of the nodes": {user, nil, "0.0.0.0:-1", true},
		"any name":                            {user, nil, "quota.example:-1", true},
		"a password":                          {user + "\n" + `cluster { authorization { user: r, password: r } }`, nil, "0.0.0.0:-1", false},
		"certificates":                        {user, peers, "0.0.0.0:-1", false},
		"this machine alone":                  {user, nil, "[::1]:-1", false},
	} {
		o := Options{Dir: t.TempDir(), Addr: "127.0.0.1:-1", Users: write(tt.users), Cluster: &Cluster{Name: "q", Addr: tt.at, Routes: []string{"nats://127.0.0.1:1"}, TLS: tt.tls}}
		if _, _, err := natsOptions(o); errors.Is(err, ErrOpenCluster) != tt.open || err != nil && !tt.open {
			t.Errorf("%s: %v", name, err)
		}
	}
}
