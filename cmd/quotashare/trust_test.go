package main

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/internal/certtest"
	"github.com/quotashare/quotashare/internal/program"
)

// secure serves an engine of which there is one thing to be known.
func secure(t *testing.T, c certtest.Issued) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"pools":[],"total":0}`))
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{*c.Pair}}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// TestCommandsSpeakHTTPS: to an engine that has the certificate which they were told of,
// or that somebody signed whom they trust for its name, and to no other.
func TestCommandsSpeakHTTPS(t *testing.T) {
	ours, theirs := certtest.Issue(t, "ours"), certtest.Issue(t, "theirs")
	s := secure(t, ours)
	addr := strings.TrimPrefix(s.URL, "https://")
	for name, tt := range map[string]struct {
		args []string
		said string // of the error, "" = it is answered
	}{
		"its certificate":   {[]string{"--http-addr", addr, "--http-cert", ours.Cert}, ""},
		"by its URL":        {[]string{"--http-addr", s.URL, "--http-cert", ours.Cert}, ""},
		"another's":         {[]string{"--http-addr", addr, "--http-cert", theirs.Cert}, "not trusted"},
		"the system's":      {[]string{"--http-addr", s.URL}, "not trusted"},
		"in the clear":      {[]string{"--http-addr", addr}, "speaks https"},
		"no file":           {[]string{"--http-addr", addr, "--http-cert", "missing.pem"}, "--http-cert: open missing.pem"},
		"no certificate":    {[]string{"--http-addr", addr, "--http-cert", "trust.go"}, "--http-cert: trust.go has no certificate"},
		"one that is a key": {[]string{"--http-addr", addr, "--http-cert", ours.Key}, "--http-cert: " + ours.Key},
	} {
		var out, said strings.Builder
		code := run(t.Context(), program.Process{Name: "quotashare", Args: append([]string{"pools"}, tt.args...), Stdout: &out, Stderr: &said})
		if (code == program.OK) != (tt.said == "") || !strings.Contains(said.String(), tt.said) {
			t.Errorf("%s: exit %d\n%s%s", name, code, out.String(), said.String())
		}
	}
}

// TestACertificateOutOfTime is to be renewed: to name it to a command would not help others.
func TestACertificateOutOfTime(t *testing.T) {
	now := time.Now()
	for hint, made := range map[string]certtest.Issued{
		"hint: renew it where the server runs": certtest.For(t, t.TempDir(), "old", now.Add(-time.Hour), now.Add(-time.Minute)),
		"hint: name the one it was given":      certtest.Issue(t, "strange"),
	} {
		var said strings.Builder
		args := []string{"pools", "--http-addr", secure(t, made).URL}
		code := run(t.Context(), program.Process{Name: "quotashare", Args: args, Stdout: new(strings.Builder), Stderr: &said})
		if code != program.Failure || !strings.Contains(said.String(), hint) {
			t.Errorf("exit %d, want %s:\n%s", code, hint, said.String())
		}
	}
}

// TestACertificateIsForAName unless it is the very one of the file.
func TestACertificateIsForAName(t *testing.T) {
	ours := certtest.Issue(t, "ours")
	s := secure(t, ours)
	transport, err := trusting(ours.Cert)
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	get := func(url string, name string) error {
		transport.TLSClientConfig.ServerName = name
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err == nil {
			transport.CloseIdleConnections()
			_ = res.Body.Close()
		}
		return err
	}
	if err := get(s.URL, "quota.example"); err != nil {
		t.Errorf("the very one, by another name: %v", err)
	}
	between := secure(t, certtest.Issue(t, "between"))
	if err := get(between.URL, "127.0.0.1"); err == nil {
		t.Error("any certificate is taken")
	}
}

// TestCommandsHaveAUser at the broker, and are told when they are not let in.
func TestCommandsHaveAUser(t *testing.T) {
	dir := t.TempDir()
	if code := run(t.Context(), program.Process{Name: "quotashare", Args: []string{"nats-config", "--out", dir}, Stdout: new(strings.Builder), Stderr: new(strings.Builder)}); code != program.OK {
		t.Fatalf("nats-config: exit %d", code)
	}
	cert := certtest.Issue(t, "log")
	s, err := ingest.Start(ingest.Options{
		Dir: t.TempDir(), Addr: "127.0.0.1:-1", Users: filepath.Join(dir, "nats.conf"), TLS: served(cert), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Shutdown() }()
	addr := strings.TrimPrefix(s.ClientURL(), "tls://")
	viewer := filepath.Join(dir, "viewer.user")
	for name, tt := range map[string]struct {
		b    broker
		said string
	}{
		"a user":    {broker{NatsAddr: addr, User: viewer, NatsCA: cert.Cert}, ""},
		"nobody":    {broker{NatsAddr: addr, NatsCA: cert.Cert}, "does not let us in"},
		"no trust":  {broker{NatsAddr: addr, User: viewer}, "shows a certificate that is not trusted"},
		"no file":   {broker{NatsAddr: addr, User: dir + "/nobody.user"}, "nobody.user"},
		"elsewhere": {broker{NatsAddr: "127.0.0.1:1"}, "nobody answers at nats://127.0.0.1:1"},
	} {
		nc, err := tt.b.connect("test", "")
		if (err == nil) != (tt.said == "") || err != nil && !strings.Contains(err.Error(), tt.said) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			nc.Close()
		}
	}
}

// served is for a server that shows that certificate.
func served(c certtest.Issued) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.Pair, nil }}
}
