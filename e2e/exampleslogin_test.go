package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/ingest/natsusers/login"
	"github.com/quotashare/quotashare/internal/certtest"
)

// free is what an example prints where no pool limits anything.
func free(name string) string {
	return strings.ReplaceAll(printed(name, "alice on kimi-1: nothing limits it (no-pool)"), "(ok)", "(no-pool)")
}

// TestExamplesWithAToken: over HTTP, and over NATS where it is asked for, beyond loopback.
func TestExamplesWithAToken(t *testing.T) {
	const token = "a-token-of-many-letters"
	p := startWith(t, []string{"QUOTA_API_TOKEN=" + token}, "quotashare", "up", "--data-dir", t.TempDir(),
		"--nats-addr", "0.0.0.0:0", "--http-addr", "127.0.0.1:0", "--sync", "100ms")
	p.awaitReady()
	_, port, _ := strings.Cut(strings.TrimPrefix(p.nats, "nats://"), ":")
	natsURL := "nats://127.0.0.1:" + port
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			e.begin(t, at(natsURL, p.http, "QUOTA_API_TOKEN="+token), "c-"+e.name).mustPrint(free("c-" + e.name))
			for _, wrong := range []string{"", "QUOTA_API_TOKEN=another"} {
				r := e.begin(t, at(natsURL, p.http, "QUOTA_PATIENCE=1", wrong), "wrong")
				e.mustRefuse(r, map[bool]string{true: "(?i)authorization", false: "401: .*token"}[e.nats])
			}
		})
	}
}

// TestExamplesWithARoleThatMayNotAsk: an example over HTTP says so at once.
func TestExamplesWithARoleThatMayNotAsk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.json")
	token := strings.TrimSpace(run(t, "quotashare", "tokens", "add", "--tokens-file", file, "--name", "reports", "--role", "ingest"))
	p := start(t, "quotashare", "up", "--data-dir", t.TempDir(), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--tokens-file", file)
	p.awaitReady()
	for _, e := range examples {
		if e.nats {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			e.mustRefuse(e.begin(t, at("", p.http, "QUOTA_API_TOKEN="+token)), "403: .*role")
		})
	}
}

// TestExamplesAsUsers: over NATS each is a user with rights of its own, by TLS.
func TestExamplesAsUsers(t *testing.T) {
	for _, isolated := range []bool{false, true} {
		t.Run(map[bool]string{true: "isolated", false: "together"}[isolated], func(t *testing.T) { asUsers(t, isolated) })
	}
}

func asUsers(t *testing.T, isolated bool) {
	users, made, another := t.TempDir(), certtest.Issue(t, "quota"), certtest.Issue(t, "another")
	args := []string{"nats-config", "--out", users, "--gateway", "edge"}
	if isolated {
		args = append(args, "--isolate")
	}
	run(t, "quotashare", args...)
	p := start(t, "quotashare", "up", "--data-dir", t.TempDir(), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--sync", "100ms",
		"--nats-config", filepath.Join(users, "nats.conf"), "--nats-cert", made.Cert, "--nats-key", made.Key)
	p.awaitReady()
	for _, e := range examples {
		if !e.nats {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			as := func(file string, more ...string) *execution {
				more = append([]string{"QUOTA_NATS_CA=" + made.Cert, "QUOTA_STORE_NATS_USER=" + file, "QUOTA_PATIENCE=2"}, more...)
				return e.begin(t, at(p.nats, "", more...), "c-"+e.name)
			}
			right, wrong := filepath.Join(users, "edge.user"), filepath.Join(t.TempDir(), "wrong.user")
			as(right).mustPrint(free("c-" + e.name))
			inURL := strings.Replace(p.nats, "://", "://"+userInfo(t, right)+"@", 1)
			e.begin(t, at(inURL, "", "QUOTA_NATS_CA="+made.Cert), "c-"+e.name).mustPrint(free("c-" + e.name))
			if isolated {
				return
			}
			if err := os.WriteFile(wrong, []byte("edge:wrong\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			e.mustRefuse(as(wrong), "(?i)authorization violation")
			e.mustRefuse(as(filepath.Join(users, "viewer.user")), `(?i)permissions violation for publish to .{0,2}quota\.consumption`)
			as(right, "QUOTA_NATS_CA="+another.Cert).mustFail("(?i)certificate|self.signed|unknown authority")
			as("nowhere.user").mustFail("nowhere.user")
		})
	}
}

// userInfo is the user of a file as URLs have it.
func userInfo(t *testing.T, file string) string {
	t.Helper()
	l, err := login.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return url.UserPassword(l.User, l.Password).String()
}

// TestExamplesWithSeveralServers: one that does not answer is passed over.
func TestExamplesWithSeveralServers(t *testing.T) {
	p := up(t, t.TempDir())
	for _, e := range examples {
		if e.nats {
			t.Run(e.name, func(t *testing.T) {
				e.begin(t, at("nats://127.0.0.1:1,"+p.nats, ""), "c-"+e.name).mustPrint(free("c-" + e.name))
			})
		}
	}
}

// TestExamplesOverHTTPS: whom to trust is told in the way of each language.
func TestExamplesOverHTTPS(t *testing.T) {
	made := certtest.Issue(t, "quota")
	p := start(t, "quotashare", "up", "--data-dir", t.TempDir(), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--sync", "100ms",
		"--http-cert", made.Cert, "--http-key", made.Key)
	p.awaitReady()
	for _, e := range examples {
		if e.nats {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			trust := []string{"NODE_EXTRA_CA_CERTS=" + made.Cert, "SSL_CERT_FILE=" + made.Cert, "CURL_CA_BUNDLE=" + made.Cert}
			e.begin(t, at("", p.http, trust...), "c-"+e.name).mustPrint(free("c-" + e.name))
			e.begin(t, at("", p.http, "QUOTA_PATIENCE=1"), "c-"+e.name).mustFail("(?i)certificate")
		})
	}
}
