package program

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Certificate is a certificate and its key, two PEM files, of a server that goes on when
// they are renewed: they are read again when one of the files has changed. What cannot be
// read then is said once, and the last good one stays in use.
type Certificate struct {
	cert, key string
	log       *slog.Logger

	mu   sync.Mutex
	have *tls.Certificate
	of   [2]time.Time // when the files that were read last had been written
}

// OpenCertificate reads both files. An error names the file, or what does not fit.
func OpenCertificate(cert, key string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, log: log}
	c.of = c.written()
	have, err := c.read()
	c.have = have
	return c, err
}

func (c *Certificate) read() (*tls.Certificate, error) {
	have, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", c.cert, c.key, err)
	}
	c.dated(have.Leaf)
	return &have, nil
}

// dated warns of a certificate that nobody will trust: clients alone would tell of it.
func (c *Certificate) dated(leaf *x509.Certificate) {
	switch now := time.Now(); {
	case now.After(leaf.NotAfter):
		c.log.Warn("a certificate has expired, and clients do not trust it: renew it; the file is read again without a restart",
			"file", c.cert, "expired", leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		c.log.Warn("a certificate is not valid yet, and clients do not trust it: look at the clock of this machine, or make another one",
			"file", c.cert, "from", leaf.NotBefore.UTC().Format(time.RFC3339))
	}
}

// written is when the files were written; the zero time for one that is away.
func (c *Certificate) written() (at [2]time.Time) {
	for i, file := range []string{c.cert, c.key} {
		if info, err := os.Stat(file); err == nil {
			at[i] = info.ModTime()
		}
	}
	return at
}

// now is the certificate as the files have it now. A handshake costs a thousand times
// what looking at them does.
func (c *Certificate) now() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.written()
	if at == c.of {
		return c.have
	}
	c.of = at
	have, err := c.read()
	if err != nil {
		c.log.Error("a certificate cannot be read again; the last good one stays in use", "err", err)
		return c.have
	}
	c.log.Info("a certificate was read again", "file", c.cert)
	c.have = have
	return have
}

// Server is for who listens.
func (c *Certificate) Server() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now(), nil },
	}
}

// Peer is for servers that know each other by certificates, of which each both listens
// and calls. roots signed them all; nil = the system's.
func (c *Certificate) Peer(roots *x509.CertPool) *tls.Config {
	t := c.Server()
	t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.now(), nil }
	t.RootCAs, t.ClientCAs, t.ClientAuth = roots, roots, tls.RequireAndVerifyClientCert
	return t
}

// Roots reads the certificates that others' are checked with; nil = the system's, when
// no file is named.
func Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("certificates: %s has none: it must be a PEM file", file)
	}
	return pool, nil
}
