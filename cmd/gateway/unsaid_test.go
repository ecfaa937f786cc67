package main

import (
	"bufio"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/keyfile"
)

// TestWhatAProviderSendsUnasked is told of, for who debugs, and not repeated: not past
// the log either, as net/http would.
func TestWhatAProviderSendsUnasked(t *testing.T) {
	const answers = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" + "HTTP/1.1 400 of sk-account\r\n\r\n"
	closed := make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString(answers)
		_ = rw.Flush()
		_, _ = io.Copy(io.Discard, rw) // it is closed when the second has been told of
		close(closed)
	}))
	t.Cleanup(provider.Close)
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys.json")
	token, err := keyfile.Issue(keys, "alice", time.Now())
	must(t, err)
	var past lines
	before := log.Writer()
	log.SetOutput(&past)
	t.Cleanup(func() { log.SetOutput(before) })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	ended := make(chan string, 1)
	go func() {
		_, said := start(ctx, in, []string{"QUOTA_LOG_LEVEL=debug", "QUOTA_STORE_NATS_URL=nats://127.0.0.1:1", "QUOTA_HTTP_ADDR=127.0.0.1:0"},
			"--data-dir", dir, "--gateway-connections", `[{"id": "c", "provider": "openai", "url": "`+provider.URL+`/v1", "credential": "sk-account"}]`)
		ended <- said
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	req, err := http.NewRequestWithContext(t.Context(), "GET", regexp.MustCompile(`http://\S+`).FindString(line)+"/v1/models", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	must(t, resp.Body.Close())
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Error("the provider's connection was not closed")
	}
	stop()
	said := <-ended
	if past.String() != "" || strings.Contains(said, "of sk-account") || !strings.Contains(said, "a library says something") {
		t.Errorf("past the log %q, in it\n%s", past.String(), said)
	}
	if log.Print("after"); !strings.Contains(past.String(), "after") {
		t.Error("the process's logger is not as it was")
	}
}
