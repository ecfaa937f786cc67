package client

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

func TestOptionsAreCheckedTogether(t *testing.T) {
	_, err := New(Options{Timeout: -1, MaxEvents: -1, MaxBytes: -1})
	for _, field := range []string{"URL", "Timeout", "MaxEvents", "MaxBytes"} {
		if err == nil || !strings.Contains(err.Error(), "options."+field) {
			t.Errorf("%v: nothing about %s", err, field)
		}
	}
	_, err = New(Options{URL: "nats://x", Conn: new(nats.Conn), Token: "t"})
	if err == nil || !strings.Contains(err.Error(), "options.URL") || !strings.Contains(err.Error(), "options.Conn") {
		t.Errorf("both ways to the broker: %v", err)
	}
	_, err = New(Options{URL: "nats://x", Token: "t", User: "f"})
	if err == nil || !strings.Contains(err.Error(), "options.User") {
		t.Errorf("a token beside a user: %v", err)
	}
	for _, o := range []Options{{URL: "nats://x", User: "no/such"}, {URL: "nats://x", CA: "no/such"}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "no/such") {
			t.Errorf("a file that is not there: %v", err)
		}
	}
	for url, ok := range map[string]bool{
		"nats://a:4222": true, "a:4222": true, "a, tls://b:4222 ,ws://c": true, "http://127.0.0.1:8480": false, "nats://": false, "a,": false, "nats://a:b:c": false,
	} {
		if _, err := (Options{URL: url}).prepare(); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	if got := hosts("nats://token@a:4222, tls://user:word@b"); got != "a:4222,b" {
		t.Errorf("brokers are shown as %s", got)
	}
	if diff := cmp.Diff([]int64{0, 1, 1, 2, -1}, []int64{millisUp(0), millisUp(1), millisUp(1e6), millisUp(1e6 + 1), millisUp(-1e6)}); diff != "" {
		t.Errorf("durations in ms: %s", diff)
	}
}
