package program

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// TestAClosedTerminalIsAnEnd, and for who began with nohup it is nothing.
func TestAClosedTerminalIsAnEnd(t *testing.T) {
	ends := func(want string, list ...syscall.Signal) {
		t.Helper()
		ctx, stop := Signals()
		defer stop()
		for _, s := range list {
			if err := syscall.Kill(syscall.Getpid(), s); err != nil {
				t.Fatal(err)
			}
		}
		<-ctx.Done()
		if got := context.Cause(ctx).Error(); !strings.Contains(got, want) {
			t.Errorf("it ended with %q, want %q", got, want)
		}
	}
	began := make(chan os.Signal, 1) // the tests may have begun with nohup, too
	signal.Notify(began, syscall.SIGHUP)
	signal.Stop(began)
	ends("hangup", syscall.SIGHUP)
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	ends("terminated", syscall.SIGHUP, syscall.SIGTERM)
}
