package e2e

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/internal/certtest"
)

// smallest is examples/nats.mjs.
var smallest = example{"nats.mjs", true, "again in ", interpreted("node", "nats.mjs")}

// send publishes an event with it.
func send(t *testing.T, url string, more ...string) *execution {
	t.Helper()
	return smallest.begin(t, at(url, "", more...), "quota.consumption", `{"apiKeyId": "alice", "connectionId": "kimi-1", "cost": {"tokens": 1}}`)
}

// TestTheSmallestClientSpeaksTLS, whether it is told to or the server wants it, and says
// whom it does not trust.
func TestTheSmallestClientSpeaksTLS(t *testing.T) {
	users, made, another := t.TempDir(), certtest.Issue(t, "quota"), certtest.Issue(t, "another")
	run(t, "quotashare", "nats-config", "--out", users)
	p := start(t, "quotashare", "up", "--data-dir", t.TempDir(), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--sync", "100ms",
		"--nats-config", filepath.Join(users, "nats.conf"), "--nats-cert", made.Cert, "--nats-key", made.Key)
	p.awaitReady()
	_, host, _ := strings.Cut(p.nats, "://")
	as := userInfo(t, filepath.Join(users, "gateway.user")) + "@" + host
	send(t, "tls://"+as, "QUOTA_NATS_CA="+made.Cert).mustPrint(`{"stream":"QUOTA","seq":1}` + "\n")
	send(t, "nats://"+as, "QUOTA_NATS_CA="+made.Cert).mustPrint(`{"stream":"QUOTA","seq":2}` + "\n")
	send(t, "tls://"+as, "QUOTA_NATS_CA="+another.Cert).mustFail("(?i)nats: 127.*certificate|self.signed")
	send(t, "tls://"+as).mustFail("(?i)nats: 127.*certificate|self.signed")
	send(t, "tls://gateway:wrong@"+host, "QUOTA_NATS_CA="+made.Cert).mustFail("Authorization Violation")
}

// TestTheSmallestClientSaysWhatItDoesNotGet: without an answer it ends with an error.
func TestTheSmallestClientSaysWhatItDoesNotGet(t *testing.T) {
	p := up(t, t.TempDir())
	send(t, p.nats+",nats://127.0.0.1:1").mustPrint(`{"stream":"QUOTA","seq":1}` + "\n")
	send(t, strings.Replace(p.nats, "nats://", "tls://", 1)).mustFail("nats: 127.* speaks no TLS")
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer closing.Close()
	go func() {
		if conn, err := closing.Accept(); err == nil {
			conn.Close()
		}
	}()
	send(t, "nats://"+closing.Addr().String()).mustFail("nats: 127.* has closed the connection without an answer")
}

// TestExamplesSayWhichToolIsMissing: at once, and do not wait for one to be installed.
func TestExamplesSayWhichToolIsMissing(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for file, why := range map[string]string{"call-nats.sh": "call-nats: nats is not there", "call-http.sh": "call-http: curl is not there"} {
		e := example{file, false, "again in ", func(*testing.T) []string { return []string{bash, filepath.Join("..", "examples", file)} }}
		e.mustRefuse(e.begin(t, []string{"PATH=" + t.TempDir()}), why)
	}
}
