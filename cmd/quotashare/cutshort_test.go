package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/projector/jetsource"
)

// killed leaves what an audit that was killed an hour ago has.
func killed(t *testing.T, temp string) {
	t.Helper()
	dir := filepath.Join(temp, "quotashare-audit-1")
	lock := filepath.Join(dir, "LOCK")
	err := os.MkdirAll(dir, 0o700)
	if err = errors.Join(err, os.WriteFile(lock, nil, 0o600), os.Chtimes(lock, time.Time{}, time.Now().Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
}

// TestAnAuditThatIsInterruptedSaysSo, and not how it noticed; it leaves nothing, of
// itself or of one that was killed before.
func TestAnAuditThatIsInterruptedSaysSo(t *testing.T) {
	broker := brokertest.Start(t)
	_, js := broker.Log()
	if _, err := js.Publish(t.Context(), "quota.due", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(t.TempDir(), "temp")
	for _, args := range []string{"replay --offline", "verify", "whatif --without-pool team", "export"} {
		killed(t, temp)
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		var said bytes.Buffer
		code := run(ctx, program.Process{
			Name: "quotashare", Stdout: &said, Stderr: &said,
			Args: append(strings.Fields(args), "--store-nats-url", broker.URL(), "--temp", temp),
		})
		if code != program.Undone || said.String() != "quotashare: interrupted\n" {
			t.Errorf("%s: exit %d, %s", args, code, &said)
		}
		if left, _ := os.ReadDir(temp); len(left) > 0 {
			t.Errorf("%s leaves %v", args, left)
		}
	}
}

// TestWhatEndsAnAuditIsSaid, with the code that there is no answer.
func TestWhatEndsAnAuditIsSaid(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	away := fmt.Errorf("replay: %w for 20s: %w", jetsource.ErrAway, context.DeadlineExceeded)
	late := fmt.Errorf("replay: %w", context.DeadlineExceeded)
	for _, tt := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{stopped, fmt.Errorf("replay: %w", context.Canceled), "quotashare: interrupted\n"},
		{t.Context(), context.Canceled, "quotashare: context canceled\n"},
		{stopped, errors.New("the disk is full"), "quotashare: the disk is full\n"},
		{t.Context(), away, "quotashare: replay: the log has not answered for 20s: context deadline exceeded\n" +
			"hint: it went away meanwhile: run this again when it is back; nothing is left of what was folded\n"},
		{t.Context(), late, "quotashare: replay: context deadline exceeded\n"},
	} {
		var said bytes.Buffer
		if code := program.Report(&said, "quotashare", cutShort(tt.ctx, audited(tt.err))); code != program.Undone || said.String() != tt.want {
			t.Errorf("%v: exit %d, %q, want %q", tt.err, code, &said, tt.want)
		}
	}
}

// TestABrokerThatIsAwayIsNotAsked how large its log is: the client library would wait
// five seconds for the answer, before each run that is folded.
func TestABrokerThatIsAwayIsNotAsked(t *testing.T) {
	broker := brokertest.StartAgain(t)
	conn, _ := broker.Log()
	o := opened{conn: conn}
	if size, err := o.size(t.Context()); err != nil {
		t.Fatal(size, err)
	}
	noticed := conn.StatusChanged(nats.RECONNECTING)
	broker.Stop()
	if conn.IsConnected() {
		<-noticed
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := o.size(ctx); !errors.Is(err, errAway) {
		t.Errorf("it was asked: %v", err)
	}
}
