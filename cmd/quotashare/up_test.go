package main

import (
	"strings"
	"testing"

	"github.com/quotashare/quotashare/internal/assembly"
)

// TestCommandsOfTheGreetingWorkWithCertificates: flags get a host and a port, never a URL,
// and the certificate to trust.
func TestCommandsOfTheGreetingWorkWithCertificates(t *testing.T) {
	var b strings.Builder
	greet(&b, assembly.Listening{
		NATS: "tls://127.0.0.1:4222", NATSCert: "nats.pem", Own: true, HTTP: "https://127.0.0.1:8480", HTTPCert: "http.pem", Decides: true,
	})
	for _, want := range []string{
		"curl https://127.0.0.1:8480/api/quota/events -H 'content-type: application/json' --cacert http.pem \\\n",
		"bin/quotashare decide alice --connection demo --http-addr 127.0.0.1:8480 --http-cert http.pem\n",
		"bin/quotashare demo --http-addr 127.0.0.1:8480 --http-cert http.pem --nats-addr 127.0.0.1:4222 --nats-ca nats.pem\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it does not say %s:\n%s", want, &b)
		}
	}
}
