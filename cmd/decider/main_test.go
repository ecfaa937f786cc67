package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/internal/program"
)

func start(ctx context.Context, out io.Writer, env []string, args ...string) (code int, errs string) {
	var log bytes.Buffer
	code = run(ctx, program.Process{Name: "decider", Args: args, Env: env, Stdout: out, Stderr: &log})
	return code, log.String()
}

func TestADeciderNeedsALog(t *testing.T) {
	code, errs := start(t.Context(), io.Discard, nil, "--data-dir", t.TempDir(), "--http-addr", "127.0.0.1:0")
	if code != program.Usage || !strings.Contains(errs, "QUOTA_STORE_NATS_URL (--store-nats-url) is needed: this program has no log of its own") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

func TestFaultsOfTheConfiguration(t *testing.T) {
	code, errs := start(t.Context(), io.Discard, []string{"QUOTA_MAX_LAG=soon"}, "--sync", "often")
	if code != program.Usage || !strings.Contains(errs, "has 3 fault(s)") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

func TestTheVersion(t *testing.T) {
	var out bytes.Buffer
	if code, errs := start(t.Context(), &out, nil, "--version"); code != program.OK || out.String() != "decider "+program.Version+"\n" {
		t.Errorf("exit %d\n%s%s", code, &out, errs)
	}
}

func TestHelpIsNoError(t *testing.T) {
	var out bytes.Buffer
	if code, errs := start(t.Context(), &out, nil, "--help"); code != program.OK || !strings.Contains(out.String(), "QUOTA_STORE_NATS_URL") {
		t.Errorf("exit %d\n%s%s", code, &out, errs)
	}
}
