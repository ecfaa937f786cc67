package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/fakeprovider"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/keyfile"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lines is a log. The client's connection may still say something when the client is
// closed.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func start(ctx context.Context, out io.Writer, env []string, args ...string) (code int, errs string) {
	var log lines
	code = run(ctx, program.Process{Name: "gateway", Args: args, Env: env, Stdout: out, Stderr: &log})
	return code, log.String()
}

// startLog runs a broker with the streams of the log, and no engine.
func startLog(t *testing.T) (url string, events jetstream.Stream) {
	t.Helper()
	b := brokertest.Start(t)
	_, js := b.Log()
	events, err := js.Stream(t.Context(), "QUOTA")
	must(t, err)
	return b.URL(), events
}

// TestAGatewayFromItsFiles: the key file of quotashare keys, the connections of a file
// with a credential of the environment, a call, and an end that loses nothing.
func TestAGatewayFromItsFiles(t *testing.T) {
	broker, events := startLog(t)
	provider := httptest.NewServer(fakeprovider.New(fakeprovider.Options{Credentials: []string{"sk-account"}}))
	t.Cleanup(provider.Close)
	dir := t.TempDir()
	token, err := keyfile.Issue(filepath.Join(dir, "keys.json"), "alice", time.Now())
	must(t, err)
	file := filepath.Join(dir, "gateway.json")
	must(t, os.WriteFile(file, []byte(`{"connections": [{"id": "c", "provider": "openai", "url": "`+provider.URL+`/v1", "credential": "${OPENAI_API_KEY}"}]}`), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	type end struct {
		code int
		said string
	}
	ended := make(chan end, 1)
	go func() {
		code, said := start(ctx, in, []string{
			"QUOTA_STORE_NATS_URL=" + broker, "QUOTA_HTTP_ADDR=127.0.0.1:0", "QUOTA_GATEWAY_CONFIG=" + file,
			"QUOTA_DATA_DIR=" + dir, "OPENAI_API_KEY=sk-account", "QUOTA_DECIDE_TIMEOUT=5s", "QUOTA_API_TOKEN=t",
		})
		ended <- end{code, said}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	url := regexp.MustCompile(`http://\S+`).FindString(line)
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"gpt-5","messages":[]}`))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	must(t, resp.Body.Close())
	if resp.StatusCode != 200 || !bytes.Contains(body, []byte(`"usage"`)) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	stop()
	e := <-ended
	if e.code != program.OK || strings.Contains(e.said, token) || strings.Contains(e.said, "sk-account") || strings.Contains(e.said, "sets nothing") {
		t.Errorf("exit %d\n%s", e.code, e.said)
	}
	last, err := events.GetLastMsgForSubject(t.Context(), "quota.consumption")
	must(t, err)
	if !bytes.Contains(last.Data, []byte(`"apiKeyId":"alice"`)) {
		t.Errorf("the log has %s", last.Data)
	}
}

func TestFaultsOfTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.json")
	must(t, os.WriteFile(file, []byte(`{"connections": [{"id": "c", "url": "x", "credential": "${NONE}"}]}`), 0o600))
	code, errs := start(t.Context(), io.Discard, []string{"QUOTA_DECIDE_TIMEOUT=soon", "QUOTA_FAIL_CLOSED=perhaps", "QUOTA_MAX_WAIT=11m"},
		"--gateway-config", file, "--store-nats-url", "http://secret@x", "--http-addr", "8482")
	want := `gateway: the configuration has 8 fault(s):
  QUOTA_DECIDE_TIMEOUT (--decide-timeout) "soon" is no duration; use 500ms, 30s, 10m or alike
  QUOTA_FAIL_CLOSED (--fail-closed) "perhaps" is neither true nor false
  QUOTA_STORE_NATS_URL (--store-nats-url) is no NATS URL; use nats://host:4222
  QUOTA_HTTP_ADDR (--http-addr) is "8482"; use host:port
  QUOTA_MAX_WAIT (--max-wait) "11m" is not within 1ms..10m0s in whole milliseconds
  QUOTA_GATEWAY_CONFIG (--gateway-config) connections[0].credential is ${NONE}, which the environment does not have: set it
  QUOTA_GATEWAY_CONFIG (--gateway-config) connections[0].provider is missing: name it as pools and plans do
  QUOTA_GATEWAY_CONFIG (--gateway-config) connections[0].url is no http or https URL: use one such as https://api.openai.com/v1
hint: a flag wins over the variable of the environment; gateway --help lists both
`
	if code != program.Usage || errs != want {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

func TestConnectionsThatAreMissingOrTwice(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "gateway.json")
	must(t, os.WriteFile(broken, []byte("{\n  \"connections\": [,]\n}"), 0o600))
	for want, args := range map[string][]string{
		"QUOTA_GATEWAY_CONFIG (--gateway-config) is missing":                                   {},
		"QUOTA_GATEWAY_CONNECTIONS (--gateway-connections) is set beside QUOTA_GATEWAY_CONFIG": {"--gateway-config", os.DevNull, "--gateway-connections", "[]"},
		"QUOTA_GATEWAY_CONFIG (--gateway-config) cannot be read: open /no/such/file":           {"--gateway-config", "/no/such/file"},
		"QUOTA_GATEWAY_CONNECTIONS (--gateway-connections) connections has none":               {"--gateway-connections", "[]"},
		"QUOTA_GATEWAY_CONNECTIONS (--gateway-connections) connections has none: name":         {"--gateway-connections", " "},
		"QUOTA_GATEWAY_CONFIG (--gateway-config) connections has none: name at least one":      {"--gateway-config", os.DevNull},
		"QUOTA_GATEWAY_CONNECTIONS (--gateway-connections) line 1, column 1: not well formed":  {"--gateway-connections", "x"},
		`QUOTA_GATEWAY_CONFIG (--gateway-config) "` + broken + `" line 2, column 19: not well`: {"--gateway-config", broken},
	} {
		if code, errs := start(t.Context(), io.Discard, nil, args...); code != program.Usage || !strings.Contains(errs, want) || !strings.Contains(errs, "\nhint: ") {
			t.Errorf("%v: exit %d\n%s", args, code, errs)
		}
	}
}

// TestAPortThatIsTaken, most likely by the engine: one environment serves both often,
// and QUOTA_HTTP_ADDR then means two servers.
func TestAPortThatIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	code, errs := start(t.Context(), io.Discard, []string{"QUOTA_HTTP_ADDR=" + l.Addr().String()},
		"--gateway-connections", `[{"id": "c", "provider": "kimi", "url": "http://127.0.0.1:1", "credential": "sk"}]`)
	const want = "hint: another server listens there, maybe the engine, whose address QUOTA_HTTP_ADDR is too; stop it, or name another address with --http-addr\n"
	if code != program.Failure || !strings.HasSuffix(errs, want) {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestFailClosedMayStandAlone: it reads as a flag that turns something on, which must
// not take the next flag for its value.
func TestFailClosedMayStandAlone(t *testing.T) {
	for _, tt := range []struct {
		env  string
		args []string
		want string // of the flag
	}{
		{"", nil, ""},
		{"", []string{"--fail-closed"}, "true"},
		{"", []string{"--fail-closed", "--http-addr", "127.0.0.1:1"}, "true"},
		{"", []string{"--fail-closed=false", "--http-addr", "127.0.0.1:1"}, "false"},
		{"", []string{"--fail-closed", "false", "--http-addr", "127.0.0.1:1"}, "false"},
		{"", []string{"--fail-closed", "true"}, "true"},
		{"", []string{"--fail-closed=perhaps"}, "perhaps"}, // a fault, with the others
		{"false", nil, "false"},
		{"false", []string{"--fail-closed"}, "true"},
		{"true", []string{"--fail-closed=false"}, "false"},
	} {
		var c cli
		p := program.Process{Name: "gateway", Args: tt.args, Env: []string{"QUOTA_FAIL_CLOSED=" + tt.env}, Stdout: io.Discard, Stderr: io.Discard}
		if _, err := p.Parse(&c, ""); err != nil || c.FailClosed != tt.want || len(tt.args) > 2 && c.HTTPAddr != "127.0.0.1:1" {
			t.Errorf("%s %v: %q, address %q, %v", tt.env, tt.args, c.FailClosed, c.HTTPAddr, err)
		}
	}
	if code, errs := start(t.Context(), io.Discard, nil, "--fail-closed", "perhaps"); code != program.Usage || !strings.Contains(errs, "unexpected argument perhaps") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

func TestTheVersion(t *testing.T) {
	var out bytes.Buffer
	if code, errs := start(t.Context(), &out, nil, "--version"); code != program.OK || out.String() != "gateway "+program.Version+"\n" {
		t.Errorf("exit %d\n%s%s", code, &out, errs)
	}
}

// The page lists what --help does, and both say the defaults that there are.
func TestThePageHasEveryVariable(t *testing.T) {
	page, err := os.ReadFile("../../docs/GATEWAY.md")
	must(t, err)
	var out bytes.Buffer
	start(t.Context(), &out, nil, "--help")
	all := regexp.MustCompile(`QUOTA_[A-Z_]+`).FindAllString(out.String(), -1)
	defaults := config.DefaultGateway(client.DefaultTimeout)
	for _, value := range []string{defaults.StoreNATSURL, defaults.HTTPAddr, defaults.Timeout.String(), config.Default().DataDir} {
		if !strings.Contains(out.String(), "("+value+")") || !bytes.Contains(page, []byte("(`"+value+"`")) {
			t.Errorf("help and page do not both have the default %s", value)
		}
	}
	if len(all) < 10 {
		t.Errorf("only %d variables: %v", len(all), all)
	}
	for _, name := range all {
		flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "QUOTA_"), "_", "-"))
		if row := "| `" + name + "` | `--" + flag + "` | "; !bytes.Contains(page, []byte(row)) {
			t.Errorf("the page has no %s", row)
		}
	}
}

func TestHelpIsNoError(t *testing.T) {
	var out bytes.Buffer
	if code, errs := start(t.Context(), &out, nil, "--help"); code != program.OK || !strings.Contains(out.String(), "QUOTA_GATEWAY_CONFIG") || strings.Contains(out.String(), "--fail-closed=") {
		t.Errorf("exit %d\n%s%s", code, &out, errs)
	}
}
