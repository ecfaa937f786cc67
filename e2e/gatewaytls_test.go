package e2e

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/fakeprovider"
	"github.com/quotashare/quotashare/internal/certtest"
)

// Clients speak TLS to the gateway, the gateway to the log, where it is a user, and to a
// provider whose certificate is of a house's own.
func TestAGatewayWithTLSOnAllSides(t *testing.T) {
	c := certtest.Issue(t, "test")
	users := filepath.Join(t.TempDir(), "users")
	run(t, "quotashare", "nats-config", "--out", users)
	engine := operator{startWith(t, []string{"QUOTA_NATS_CA=" + c.Cert}, "quotashare", "up", "--data-dir", t.TempDir(), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0",
		"--sync", "100ms", "--nats-config", filepath.Join(users, "nats.conf"), "--nats-cert", c.Cert, "--nats-key", c.Key)}
	engine.awaitReady()
	engine.plan("c", "tokens/monthly 1000000000000", "requests/monthly 1000000000")
	engine.poolOf("c", []string{"c"}, "alice 100")

	provider := fakeprovider.New(fakeprovider.Options{Credentials: []string{ownCredential}})
	upstream := httptest.NewUnstartedServer(provider)
	upstream.TLS = &tls.Config{Certificates: []tls.Certificate{*c.Pair}, MinVersion: tls.VersionTLS12}
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	trusting := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(trusting.CloseIdleConnections)

	g := &onward{t: t, provider: provider, http: &http.Client{Transport: trusting}}
	g.equip(upstream.URL, strings.Replace(engine.nats, "nats://", "tls://", 1))
	g.args = append(g.args, "--store-nats-user", filepath.Join(users, "gateway.user"), "--nats-ca", c.Cert, "--http-cert", c.Cert, "--http-key", c.Key,
		"--decide-timeout", "20s", "--fail-closed", "--api-token", "is not for a broker with users")
	g.vars = append(g.vars, "SSL_CERT_FILE="+c.Cert)
	g.begin()
	if !strings.HasPrefix(g.p.http, "https://127.0.0.1:") {
		t.Errorf("it is at %s", g.p.http)
	}
	g.p.mustSay("connected to the quota engine")
	g.calls(3) // each of which the engine let pass, as without its word it is blocked
	g.p.stop()
	engine.at(engine.at(0).LastSeq)
	if got := countedOf(engine.process, "requests"); got != 3 {
		t.Errorf("%d calls are counted, want 3\n%s", got, g.p.stderr)
	}

	stranger := &onward{t: t, http: g.http, args: g.args, vars: g.vars}
	for i, arg := range stranger.args {
		switch arg {
		case "--store-nats-user":
			stranger.args[i+1] = filepath.Join(users, "viewer.user")
		case "--decide-timeout":
			stranger.args[i+1] = "250ms"
		}
	}
	stranger.begin()
	stranger.p.mustSay("connected to the quota engine")
	if status := stranger.status(g.token); status != http.StatusServiceUnavailable {
		t.Errorf("a viewer may ask: %d", status)
	}
}

// status makes one call.
func (o *onward) status(token string) int {
	o.t.Helper()
	req, err := http.NewRequestWithContext(deadline(o.t), "POST", o.p.http+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[]}`))
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	answer, err := o.http.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}
