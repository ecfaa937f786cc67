// Package certtest makes certificates for tests: of this machine, signed by themselves,
// good for an hour.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Issued is a certificate and its key, in files and at hand.
type Issued struct {
	Cert, Key string         // PEM files
	Roots     *x509.CertPool // of who trusts it, as Cert is for programs
	Pair      *tls.Certificate
}

// Issue makes one for 127.0.0.1 and localhost, with that common name, in a directory of
// its own.
func Issue(t testing.TB, name string) Issued {
	t.Helper()
	return In(t, t.TempDir(), name)
}

// In makes one in the files cert.pem and key.pem of a directory, in place of what is there.
func In(t testing.TB, dir, name string) Issued {
	t.Helper()
	return For(t, dir, name, time.Time{}, time.Now().Add(time.Hour))
}

// For is In for one that is good from one time until another.
func For(t testing.TB, dir, name string, from, until time.Time) Issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	made := Issued{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), Roots: x509.NewCertPool()}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	made.Roots.AppendCertsFromPEM(text)
	made.Pair = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	must(t, os.WriteFile(made.Cert, text, 0o600))
	must(t, os.WriteFile(made.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600))
	return made
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
