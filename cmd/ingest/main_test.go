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
	code = run(ctx, program.Process{Name: "ingest", Args: args, Env: env, Stdout: out, Stderr: &log})
	return code, log.String()
}

// ends stops the program as soon as it has said where it listens.
type ends struct {
	bytes.Buffer
	stop context.CancelFunc
}

func (e *ends) Write(p []byte) (int, error) {
	defer func() {
		if strings.Contains(e.String(), "data ") {
			e.stop()
		}
	}()
	return e.Buffer.Write(p)
}

func TestIngestSaysWhereItListensAndStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out := &ends{stop: stop}
	code, errs := start(ctx, out, []string{"QUOTA_HTTP_ADDR=127.0.0.1:0"}, "--data-dir", t.TempDir(), "--nats-addr", "127.0.0.1:0")
	if code != program.OK || !strings.Contains(out.String(), "NATS   nats://127.0.0.1:") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

func TestFaultsOfTheConfiguration(t *testing.T) {
	code, errs := start(t.Context(), io.Discard, []string{"QUOTA_MAX_LAG=soon"}, "--sync", "often")
	if code != program.Usage || !strings.Contains(errs, "has 2 fault(s)") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
