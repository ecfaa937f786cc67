package program

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestWhoWeAre is a user, and never a token.
func TestWhoWeAre(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.user")
	if err := os.WriteFile(file, []byte("decider:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		to   Broker
		want string
	}{
		{Broker{URL: "nats://a:4222"}, ""},
		{Broker{URL: "nats://token@a:4222"}, ""},
		{Broker{URL: "nats://alice:pw@a:4222,nats://b:4222"}, "alice"},
		{Broker{URL: "nats://alice:pw@a:4222", User: file}, "decider"},
	} {
		if got := test.to.Login(); got != test.want {
			t.Errorf("%+v is %q", test.to, got)
		}
	}
}

// TestARightThatIsMissingIsSaidOnce for each connection, with the role that is needed.
func TestARightThatIsMissingIsSaidOnce(t *testing.T) {
	var out bytes.Buffer
	b := Broker{URL: "nats://alice:pw@a:4222", Role: "decider"}
	handle, anew := b.refused(slog.New(slog.NewTextHandler(&out, nil)))
	says := func(want int) {
		t.Helper()
		if n := strings.Count(out.String(), "login=alice role=decider"); n != want {
			t.Errorf("%d lines, want %d:\n%s", n, want, &out)
		}
	}
	for range 3 {
		handle(nil, nil, nats.ErrPermissionViolation)
	}
	says(1)
	anew()
	handle(nil, nil, nats.ErrPermissionViolation)
	says(2)
	if handle(nil, nil, errors.New("slow")); !strings.Contains(out.String(), "has trouble\" err=slow") {
		t.Errorf("it says\n%s", &out)
	}
}
