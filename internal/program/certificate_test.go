package program

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/ingest/natsusers/login"
	"github.com/quotashare/quotashare/internal/certtest"
)

// issue writes a certificate and its key, which are as old as they say.
func issue(t *testing.T, dir, name string, old time.Duration) (cert, key string) {
	t.Helper()
	made := certtest.In(t, dir, name)
	at := time.Now().Add(-old)
	must(t, os.Chtimes(made.Cert, at, at))
	must(t, os.Chtimes(made.Key, at, at))
	return made.Cert, made.Key
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shown is the name in the certificate that a server shows.
func shown(t *testing.T, c *tls.Config) string {
	t.Helper()
	have, err := c.GetCertificate(&tls.ClientHelloInfo{})
	must(t, err)
	leaf, err := x509.ParseCertificate(have.Certificate[0])
	must(t, err)
	return leaf.Subject.CommonName
}

// TestACertificateIsRenewed without a restart; one that cannot be read is told of once,
// and the last good one stays.
func TestACertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	said := new(bytes.Buffer)
	cert, key := issue(t, dir, "first", time.Hour)
	c, err := OpenCertificate(cert, key, slog.New(slog.NewTextHandler(said, nil)))
	must(t, err)
	server := c.Server()
	if got := shown(t, server); got != "first" {
		t.Errorf("it shows %s", got)
	}
	must(t, os.WriteFile(cert, []byte("half a fi"), 0o600))
	for range 3 {
		if got := shown(t, server); got != "first" {
			t.Errorf("with a damaged file it shows %s", got)
		}
	}
	if got := said.String(); strings.Count(got, "level=ERROR") != 1 || !strings.Contains(got, cert) {
		t.Errorf("it said\n%s", got)
	}
	issue(t, dir, "second", 0)
	if got := shown(t, server); got != "second" {
		t.Errorf("renewed, it shows %s", got)
	}
	must(t, os.Remove(key))
	if got := shown(t, server); got != "second" {
		t.Errorf("without its key it shows %s", got)
	}
	if peer, err := c.Peer(nil).GetClientCertificate(&tls.CertificateRequestInfo{}); err != nil || len(peer.Certificate) != 1 {
		t.Errorf("to other nodes it shows %v, %v", peer, err)
	}
}

// TestWhatIsNoCertificateIsNamed at the start.
func TestWhatIsNoCertificateIsNamed(t *testing.T) {
	dir := t.TempDir()
	cert, key := issue(t, dir, "a", 0)
	_, other := issue(t, t.TempDir(), "b", 0)
	missing := filepath.Join(dir, "missing.pem")
	for _, pair := range [][2]string{{missing, key}, {cert, missing}, {cert, other}, {key, cert}} {
		if _, err := OpenCertificate(pair[0], pair[1], slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), pair[0]) || !strings.Contains(err.Error(), pair[1]) {
			t.Errorf("%v: %v", pair, err)
		}
	}
	for _, file := range []string{missing, key} {
		if _, err := Roots(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if pool, err := Roots(""); pool != nil || err != nil {
		t.Errorf("the system's are %v, %v", pool, err)
	}
}

// TestAPasswordThatIsChanged while a program runs: refused for a while, it comes back when
// the file has the new one, without a restart.
func TestAPasswordThatIsChanged(t *testing.T) {
	dir := t.TempDir()
	conf, user := filepath.Join(dir, "nats.conf"), filepath.Join(dir, "me.user")
	set := func(password string) {
		must(t, os.WriteFile(conf, []byte("authorization { users = [{user: me, password: "+password+"}] }"), 0o600))
	}
	login := func(password string) {
		must(t, os.WriteFile(user, login.Login{User: "me", Password: password}.Encode(), 0o600))
	}
	set("old")
	login("old")
	o := ingest.Options{Dir: t.TempDir(), Addr: "127.0.0.1:-1", Users: conf, Logger: slog.New(slog.DiscardHandler)}
	s, err := ingest.Start(o)
	must(t, err)
	o.Addr = strings.TrimPrefix(s.ClientURL(), "nats://")
	said := heard{refused: make(chan struct{}, 100), back: make(chan struct{}, 1)}
	nc, err := Dial(t.Context(), Broker{URL: s.ClientURL(), User: user}, "test", slog.New(slog.NewTextHandler(said, nil)))
	must(t, err)
	defer nc.Close()
	must(t, s.Shutdown())
	set("new")
	s, err = ingest.Start(o)
	must(t, err)
	defer func() { nc.Close(); must(t, s.Shutdown()) }()
	for range 3 { // by the library's default two would have ended it
		said.wait(t, said.refused)
	}
	login("new")
	said.wait(t, said.back)
}

// heard is a log that tells of two kinds of its lines.
type heard struct{ refused, back chan struct{} }

func (h heard) Write(line []byte) (int, error) {
	var to chan struct{}
	switch text := strings.ToLower(string(line)); {
	case strings.Contains(text, "the log answers again"):
		to = h.back
	case strings.Contains(text, "authorization"):
		to = h.refused
	}
	select {
	case to <- struct{}{}:
	default:
	}
	return len(line), nil
}

func (h heard) wait(t *testing.T, line chan struct{}) {
	t.Helper()
	select {
	case <-line:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing is said")
	}
}

// TestWhoWeAreToTheLog: a user of a file that is read at each connection, and a server
// that is known by certificates of another.
func TestWhoWeAreToTheLog(t *testing.T) {
	dir := t.TempDir()
	cert, key := issue(t, dir, "log", 0)
	c, err := OpenCertificate(cert, key, slog.New(slog.DiscardHandler))
	must(t, err)
	conf, user := filepath.Join(dir, "nats.conf"), filepath.Join(dir, "me.user")
	must(t, os.WriteFile(conf, []byte(`authorization { users = [{user: me, password: right}] }`), 0o600))
	must(t, os.WriteFile(user, login.Login{User: "me", Password: "right"}.Encode(), 0o600))
	s, err := ingest.Start(ingest.Options{Dir: t.TempDir(), Addr: "127.0.0.1:-1", Users: conf, TLS: c.Server(), Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer func() { must(t, s.Shutdown()) }()
	dial := func(b Broker) error {
		b.URL = s.ClientURL()
		opts, err := b.Options()
		if err != nil {
			return err
		}
		nc, err := nats.Connect(b.URL, opts...)
		if err == nil {
			nc.Close()
		}
		return err
	}
	for name, tt := range map[string]struct {
		as  Broker
		err string // "" = it is let in
	}{
		"the user":                   {Broker{User: user, CA: cert}, ""},
		"its own process":            {Broker{More: s.ClientOptions()}, ""},
		"nobody":                     {Broker{CA: cert}, "Authorization Violation"},
		"no trust":                   {Broker{User: user}, "certificate"},
		"a user who is no file":      {Broker{User: dir + "/x", CA: cert}, "user of the log: "},
		"certificates that are none": {Broker{User: user, CA: user}, "has none"},
	} {
		if err := dial(tt.as); (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	opts, err := (&Broker{User: user, CA: cert}).Options()
	must(t, err)
	must(t, os.WriteFile(user, login.Login{User: "me", Password: "wrong"}.Encode(), 0o600))
	if nc, err := nats.Connect(s.ClientURL(), opts...); err == nil {
		nc.Close()
		t.Error("the file was read once")
	}
	must(t, os.WriteFile(user, []byte("half"), 0o600)) // what was read last is tried
	if _, err := nats.Connect(s.ClientURL(), opts...); err == nil || !strings.Contains(err.Error(), "Authorization Violation") {
		t.Errorf("it is %v", err)
	}
}

// TestACertificateOutOfTime is used, and warned of once each time it is read, with the date.
func TestACertificateOutOfTime(t *testing.T) {
	dir, day := t.TempDir(), 24*time.Hour
	at := time.Date(2020, 5, 4, 3, 2, 1, 0, time.UTC)
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	made := certtest.For(t, dir, "old", at.Add(-day), at)
	c, err := OpenCertificate(made.Cert, made.Key, log)
	must(t, err)
	for range 3 {
		shown(t, c.Server())
	}
	if strings.Count(out.String(), "level=WARN") != 1 || !strings.Contains(out.String(), "has expired") || !strings.Contains(out.String(), "expired=2020-05-04T03:02:01Z") {
		t.Errorf("it says\n%s", &out)
	}
	out.Reset()
	from := at.AddDate(200, 0, 0)
	certtest.For(t, dir, "new", from, from.Add(day))
	must(t, os.Chtimes(made.Cert, at, at)) // read again, however fast the files were written
	shown(t, c.Server())
	if strings.Count(out.String(), "level=WARN") != 1 || !strings.Contains(out.String(), "is not valid yet") || !strings.Contains(out.String(), "from=2220-05-04T03:02:01Z") {
		t.Errorf("it says\n%s", &out)
	}
	out.Reset()
	certtest.In(t, dir, "good")
	if shown(t, c.Server()); strings.Contains(out.String(), "WARN") {
		t.Errorf("of a good one it says\n%s", &out)
	}
}
