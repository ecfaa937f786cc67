package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestALineIsRepeatedSeldom, whichever connection it is about, and what is left out is
// counted; another line is said at once.
func TestALineIsRepeatedSeldom(t *testing.T) {
	var out bytes.Buffer
	l := newServerLog(&Options{Name: "a", Logger: slog.New(slog.NewTextHandler(&out, nil))})
	at := time.Unix(1_000, 0)
	l.begun, l.now = at.Add(-young), func() time.Time { return at }
	says := func(want int) {
		t.Helper()
		if n := strings.Count(out.String(), "\n"); n != want {
			t.Fatalf("%d lines, want %d:\n%s", n, want, &out)
		}
	}
	for i := range 60 {
		l.Errorf("127.0.0.1:%d - rid:%d - Remote server has a duplicate name: %q", 40000+i, i, "a")
	}
	says(1)
	l.Warnf("something else")
	says(2)
	at = at.Add(sayEvery)
	l.Errorf("127.0.0.1:50000 - rid:61 - Remote server has a duplicate name: %q", "a")
	says(3)
	if !strings.Contains(out.String(), "count=60") {
		t.Errorf("nothing was counted:\n%s", &out)
	}
	at = at.Add(3 * sayEvery)
	l.Warnf("the next one")
	if len(l.said) != 1 {
		t.Errorf("%d lines are kept for ever", len(l.said))
	}
	select {
	case err := <-l.fatal:
		t.Errorf("a server that ran before ends: %v", err)
	default:
	}
}

// TestNobodyFillsTheLog with what the server says of each thing he may not do, or of each
// name that it does not know: what he chooses in it makes no other line of it.
func TestNobodyFillsTheLog(t *testing.T) {
	for line, want := range map[string]int{
		`"go:x%[1]d" - "$G/user:omni" - Publish Violation - Subject "quota.%[1]d"`: 1,
		`"$G/user:omni" - Publish Violation - Reply "quota.%[1]d"`:                 1,
		`"x\"%[1]d" - Publish Violation - Subject "quota.%[1]d"`:                   1,
		`"go" - "$G/user:omni" - Subscription Violation - Subject "a", SID %[1]d`:  1,
		`"go" - "$G/user:u%[1]d" - Publish Violation - Subject "quota.hold"`:       mostSaid + 1,
		`"$G/user:u%[1]d" - Publish Violation - Subject "quota.hold"`:              mostSaid + 1,
		`authentication error - User "%[1]d"`:                                      mostSaid + 1,
	} {
		var out bytes.Buffer
		l := newServerLog(&Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		at := time.Unix(1_000, 0)
		l.now = func() time.Time { return at }
		for i := range 500 {
			l.Errorf("127.0.0.1:%d - cid:%d - %s", 40000+i, i, fmt.Sprintf(line, i))
		}
		if n := strings.Count(out.String(), "\n"); n != want {
			t.Errorf("%s: %d lines, want %d", line, n, want)
		}
		at = at.Add(2 * sayEvery)
		l.Errorf("again")
		l.Errorf("and another one")
		if n := strings.Count(out.String(), "\n"); n != want+2 || len(l.said) != 2 {
			t.Errorf("%s: %d lines later, want %d, and %d are kept", line, n, want+2, len(l.said))
		}
	}
}

// TestTheSecondOfAName ends, and says which name it is.
func TestTheSecondOfAName(t *testing.T) {
	at := free(t, 2)
	node := func(i int) *Server {
		quiet := slog.New(slog.DiscardHandler)
		return start(t, Options{Name: "same", Logger: quiet, Dir: t.TempDir(), Cluster: &Cluster{Name: "quota", Addr: at[i], Routes: []string{"nats://" + at[1-i]}}})
	}
	first := node(0)
	defer stop(t, first)
	first.log.begun = first.log.begun.Add(-young)
	second := node(1)
	defer stop(t, second)
	select {
	case err := <-second.Failed():
		if !errors.Is(err, ErrSameName) || !strings.Contains(err.Error(), "server name same: ") {
			t.Error(err)
		}
	case err := <-first.Failed():
		t.Errorf("the one that ran ended: %v", err)
	case <-time.After(time.Minute):
		t.Error("nobody noticed")
	}
}
