package assembly

import (
	"bufio"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/certtest"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEverythingBehindCertificatesAndUsers: the engine takes events, answers over HTTPS,
// by either version of HTTP, streams what happens, and lets only users in over NATS, by
// TLS. Its own connection is one of them.
func TestEverythingBehindCertificatesAndUsers(t *testing.T) {
	made := certtest.Issue(t, "quota")
	pair := config.KeyPair{Cert: made.Cert, Key: made.Key}
	cfg := onFreePorts(t)
	cfg.HTTPTLS, cfg.NATSTLS, cfg.NATSConfig = pair, pair, filepath.Join(t.TempDir(), "nats.conf")
	write(t, cfg.NATSConfig, `authorization { users = [{user: alice, password: in}] }`)
	p := start(t, Parts{Name: "quotashare", OwnsLog: true, Decides: true}, cfg)
	defer p.end(t)
	if !strings.HasPrefix(p.HTTP, "https://127.0.0.1:") || !strings.HasPrefix(p.NATS, "tls://127.0.0.1:") {
		t.Errorf("it says it is at %s and %s", p.HTTP, p.NATS)
	}
	secure := &tls.Config{RootCAs: made.Roots, MinVersion: tls.VersionTLS12}
	for proto, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		transport := &http.Transport{TLSClientConfig: secure.Clone(), ForceAttemptHTTP2: h2}
		client := &http.Client{Transport: transport}
		counts(t, client, p.HTTP, proto)
		transport.CloseIdleConnections()
	}
	if res, err := http.Get(strings.Replace(p.HTTP, "https", "http", 1) + "/healthz"); err == nil {
		if res.Body.Close(); res.StatusCode != http.StatusBadRequest {
			t.Errorf("in the clear it answers %s", res.Status)
		}
	}
	for user, fine := range map[string]bool{"alice": true, "bob": false} {
		nc, err := nats.Connect(p.NATS, nats.UserInfo(user, "in"), nats.Secure(secure.Clone()))
		if (err == nil) != fine {
			t.Errorf("%s: %v", user, err)
		}
		if err == nil {
			nc.Close()
		}
	}
}

// counts publishes an event while it watches what happens.
func counts(t *testing.T, client *http.Client, base, proto string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		res, err := client.Get(base + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it is never ready")
		}
	}
	stream, err := client.Get(base + "/api/quota/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if line, err := bufio.NewReader(stream.Body).ReadString('\n'); err != nil || stream.Proto != proto {
		t.Errorf("the stream begins with %q over %s, want %s: %v", line, stream.Proto, proto, err)
	}
	lines := strings.Repeat(`{"apiKeyId":"alice","connectionId":"demo"}`+"\n", 3)
	res, err := client.Post(base+"/api/quota/events", "application/x-ndjson", strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answers := bufio.NewScanner(res.Body)
	n := 0
	for answers.Scan() {
		n += strings.Count(answers.Text(), `"seq":`)
	}
	if n != 3 {
		t.Errorf("of 3 events %d were taken over %s", n, proto)
	}
}

// TestWhatIsNoCertificateEndsTheStart, and leaves nothing behind.
func TestWhatIsNoCertificateEndsTheStart(t *testing.T) {
	made := certtest.Issue(t, "quota")
	pair, wrong := config.KeyPair{Cert: made.Cert, Key: made.Key}, config.KeyPair{Cert: made.Key, Key: made.Key}
	for name, change := range map[string]func(c *config.Config){
		"of HTTP":         func(c *config.Config) { c.HTTPTLS = wrong },
		"of NATS":         func(c *config.Config) { c.NATSTLS = wrong },
		"no users":        func(c *config.Config) { c.NATSConfig = pair.Key },
		"no certificates": func(c *config.Config) { c.NATSTLS, c.ClusterName, c.NATSCA = pair, "quota", pair.Key },
	} {
		cfg := onFreePorts(t)
		cfg.ClusterAddr = "127.0.0.1:0"
		change(&cfg)
		p, _ := begin(t, Parts{Name: "quotashare", OwnsLog: true, Decides: true}, cfg)
		if err := <-p.done; err == nil || !strings.Contains(err.Error(), filepath.Base(pair.Key)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
