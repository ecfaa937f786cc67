package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/quotashare/quotashare/config"
)

// trusting is how an engine is asked that has a certificate. The very one that the file
// has is taken whatever name the engine is asked by, since on its own machine that is not
// the name it is known by outside; any other must be for that name, and signed by whom
// the system trusts or by what the file has. "" = the system's alone.
func trusting(file string) (*http.Transport, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if file == "" {
		return &http.Transport{TLSClientConfig: t, Proxy: http.ProxyFromEnvironment}, nil
	}
	own, roots, err := certificates(file)
	if err != nil {
		return nil, err
	}
	t.InsecureSkipVerify = true // VerifyConnection does it
	t.VerifyConnection = func(c tls.ConnectionState) error {
		shown := c.PeerCertificates
		if shown[0].Equal(own) {
			return nil
		}
		between := x509.NewCertPool()
		for _, signer := range shown[1:] {
			between.AddCert(signer)
		}
		_, err := shown[0].Verify(x509.VerifyOptions{DNSName: c.ServerName, Roots: roots, Intermediates: between})
		return err
	}
	return &http.Transport{TLSClientConfig: t, Proxy: http.ProxyFromEnvironment}, nil
}

// certificates reads the first certificate of a file, and whom it makes one trust.
func certificates(file string) (*x509.Certificate, *x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--http-cert: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, nil, fmt.Errorf("--http-cert: %s has no certificate: it must be a PEM file", file)
	}
	own, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("--http-cert: %s: %w", file, err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	roots.AppendCertsFromPEM(text)
	return own, roots, nil
}

// untrusted reports whether an engine was not asked because of its certificate.
func untrusted(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) || errors.As(err, new(x509.CertificateInvalidError))
}

// trust is what to do about a certificate that is not trusted. One that is out of its time
// is trusted by nobody, whoever signed it.
func trust(err error, flag string) string {
	if invalid := (x509.CertificateInvalidError{}); errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return "renew it where the server runs, which reads it again without a restart; if it is new, look at the clocks"
	}
	return "name the one it was given, or that of who signed it, with --" + flag + " or " + config.Variable(flag)
}
