package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/internal/brokertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// grammar is a program with one flag of the configuration and one of its own.
type grammar struct {
	config.Text `embed:"" group:"Configuration"`
	MaxKeys     int `help:"How many."`
}

func parse(t *testing.T, env []string, args ...string) (grammar, string, error) {
	t.Helper()
	var out bytes.Buffer
	var g grammar
	p := Process{Name: "thing", Args: args, Env: env, Stdout: &out, Stderr: io.Discard}
	_, err := p.Parse(&g, "does things")
	return g, out.String(), err
}

func TestFlagsWinOverTheEnvironment(t *testing.T) {
	env := []string{"QUOTA_DATA_DIR=/first", "QUOTA_DATA_DIR=/env", "QUOTA_STORE_NATS_URL=nats://a", "QUOTA_SYNC=", "QUOTA_MAX_KEYS=7"}
	g, _, err := parse(t, env, "--data-dir", "/flag")
	if err != nil {
		t.Fatal(err)
	}
	if g.DataDir != "/flag" || g.StoreNatsURL != "nats://a" || g.Sync != "" {
		t.Errorf("got %+v", g.Text)
	}
	if g.MaxKeys != 0 {
		t.Error("a flag outside the configuration came from the environment")
	}
	if g, _, _ := parse(t, env); g.DataDir != "/env" {
		t.Errorf("without the flag: %s", g.DataDir)
	}
}

// Every field of config.Text must have the flag, and so the variable, that
// users rely on.
func TestVariablesHaveTheirNames(t *testing.T) {
	_, out, err := parse(t, nil, "--help")
	if !errors.Is(err, ErrHelp) {
		t.Fatalf("error is %v", err)
	}
	for _, name := range []string{
		"DATA_DIR", "STORE_DRIVER", "STORE_NATS_URL", "NATS_ADDR", "HTTP_ADDR", "HTTP_HOSTS", "SYNC",
		"SATURATION_THRESHOLD", "SOFT_DEPRIORITIZE_FACTOR", "CONSUMPTION_RETENTION_DAYS", "SIGNAL_TTL", "HOLD_TTL",
		"MAX_LAG", "SNAPSHOT_INTERVAL", "SNAPSHOT_KEEP", "API_TOKEN", "LOG_LEVEL",
	} {
		flag := "--" + strings.ToLower(strings.ReplaceAll(name, "_", "-")) + "="
		if !strings.Contains(out, "[QUOTA_"+name+"]") || !strings.Contains(out, flag) {
			t.Errorf("help lacks %s or QUOTA_%s:\n%s", flag, name, out)
		}
	}
}

func TestErrorsForPeople(t *testing.T) {
	_, _, misused := parse(t, nil, "--no-such-flag")
	_, faulty := config.Text{Sync: "x"}.Parse(config.Default())
	tests := []struct {
		err  error
		code int
		text string
	}{
		{nil, OK, ""},
		{ErrHelp, OK, ""},
		{errors.New("disk full"), Failure, "thing: disk full\n"},
		{fmt.Errorf("start: %w", Hint(errors.New("disk full"), "free %d bytes", 7)), Failure, "thing: start: disk full\nhint: free 7 bytes\n"},
		{misused, Usage, "thing: unknown flag --no-such-flag\nhint: thing --help lists what there is\n"},
		{
			faulty, Usage, "thing: the configuration has 1 fault(s):\n" +
				"  QUOTA_SYNC (--sync) \"x\" is neither always nor a duration such as 100ms\n" +
				"hint: a flag wins over the variable of the environment; thing --help lists both\n",
		},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		if code := Report(&out, "thing", tt.err); code != tt.code || out.String() != tt.text {
			t.Errorf("%v: exit %d\n%s\nwant exit %d\n%s", tt.err, code, out.String(), tt.code, tt.text)
		}
	}
}

// TestCodesOfTheirOwn: the one that is nearest to the fault counts, and a wrong command
// line is one whatever is made of it.
func TestCodesOfTheirOwn(t *testing.T) {
	lost := errors.New("lost")
	for _, tt := range []struct {
		err  error
		code int
	}{
		{WithCode(nil, Undone), OK},
		{lost, Failure},
		{WithCode(lost, Undone), Undone},
		{WithCode(Hint(WithCode(lost, Usage), "look"), Undone), Usage},
		{Hint(WithCode(lost, Undone), "look"), Undone},
		{WithCode(misuse{lost, "thing"}, Undone), Usage},
		{WithCode(ErrHelp, Undone), OK},
	} {
		var out strings.Builder
		if code := Report(&out, "thing", tt.err); code != tt.code || code != OK && !strings.HasPrefix(out.String(), "thing: lost\n") {
			t.Errorf("%v: code %d, want %d, %q", tt.err, code, tt.code, out.String())
		}
	}
}

func TestNoColoursInFiles(t *testing.T) {
	var out bytes.Buffer
	log := Logger(&out, slog.LevelWarn)
	log.Info("quiet")
	log.Warn("loud", "key", "value")
	if text := out.String(); strings.Contains(text, "\x1b") || strings.Contains(text, "quiet") || !strings.Contains(text, "WRN loud key=value") {
		t.Errorf("logged %q", text)
	}
}

// lines is a log that tests wait on.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// waitFor takes lines off the log until one has the text.
func (l lines) waitFor(t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("the log never said %q", text)
		}
	}
}

// The server comes up only after the first try has failed.
func TestDialWaitsForTheLog(t *testing.T) {
	addr := brokertest.FreeAddr(t)
	said := make(lines, 100)
	done := make(chan error, 1)
	go func() {
		nc, err := Dial(t.Context(), Broker{URL: "nats://" + addr}, "test", Logger(said, slog.LevelInfo))
		if err == nil {
			nc.Close()
		}
		done <- err
	}()
	said.waitFor(t, "the log does not answer; trying again")
	s, err := ingest.Start(ingest.Options{Dir: t.TempDir(), Addr: addr, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	said := make(lines, 100)
	done := make(chan error, 1)
	go func() {
		_, err := Dial(ctx, Broker{URL: "nats://127.0.0.1:1"}, "test", Logger(said, slog.LevelInfo))
		done <- err
	}()
	said.waitFor(t, "trying again")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestDialWithAWrongTokenIsRefused(t *testing.T) {
	s, err := ingest.Start(ingest.Options{Dir: t.TempDir(), Addr: "127.0.0.1:-1", Token: "right", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), Broker{URL: s.ClientURL(), More: []nats.Option{nats.Token("wrong")}}, "test", slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "the server refuses us") {
		t.Errorf("error is %v", err)
	}
	nc, err := Dial(t.Context(), Broker{URL: s.ClientURL(), More: s.ClientOptions()}, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	for text, want := range map[string]string{
		"nats://a:4222":                         "nats://a:4222",
		"nats://token@a:4222,nats://u:pw@b:422": "nats://xxxxx@a:4222,nats://xxxxx@b:422",
	} {
		if got := WithoutSecrets(text); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

func TestMistypedVariablesAreSaid(t *testing.T) {
	var out bytes.Buffer
	p := Process{Name: "p", Stderr: &out, Env: []string{"QUOTA_MAX_LAG=5s", "QUOTA_MAXLAG=5s", "QUOTASHARE=1", "HOME=/"}}
	p.Logger(slog.LevelInfo)
	if got := out.String(); strings.Count(got, "WRN") != 1 || !strings.Contains(got, "variable=QUOTA_MAXLAG") {
		t.Errorf("said %q, want one warning of QUOTA_MAXLAG", got)
	}
}
