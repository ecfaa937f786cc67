package natsusers_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/ingest/natsusers"
)

// TestSubscriptionsEnd where they begin to cost the server something, with a file of a
// version that did not say so, and at any nats-server.
func TestSubscriptionsEnd(t *testing.T) {
	dir, file := configure(t, natsusers.Want{Gateways: []string{"omni"}})
	text := read(t, file)
	old := filepath.Join(dir, "old.conf")
	must(t, os.WriteFile(old, []byte(regexp.MustCompile(`(?m)^max_subscriptions.*$`).ReplaceAllString(text, "")), 0o600))
	for name, url := range map[string]string{"as it is": serve(t, "", file), "of old": serve(t, "", old), "included": included(t, dir)} {
		refused := make(chan error, 1100)
		nc := as(t, url, dir, "omni")
		nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })
		subscribe := func(from, to int) {
			for i := from; i < to; i++ {
				_, err := nc.Subscribe("_INBOX_omni."+strconv.Itoa(i), func(*nats.Msg) {})
				must(t, err)
			}
			must(t, nc.Flush())
		}
		subscribe(0, 900)
		if len(refused) > 0 {
			t.Errorf("%s: 900 are too many: %v", name, <-refused)
		}
		subscribe(900, 1100)
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		case <-within(t).Done():
			t.Errorf("%s: 1100 are not too many", name)
		}
		nc.Close()
	}
}

// included runs a server of somebody else's with the configuration of a directory.
func included(t *testing.T, dir string) string {
	t.Helper()
	main := filepath.Join(dir, "main.conf")
	must(t, os.WriteFile(main, []byte("listen: \"127.0.0.1:-1\"\ninclude "+natsusers.ConfigName+"\n"), 0o600))
	o, err := server.ProcessConfigFile(main)
	must(t, err)
	o.NoSigs, o.NoLog = true, true
	s, _ := run(t, o)
	return s.ClientURL()
}
