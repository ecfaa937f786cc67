package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/internal/program"
)

// health asks as the health check of an image does, and returns what it exits with.
func health(t *testing.T, s *httptest.Server, args ...string) (code int, said string) {
	t.Helper()
	var out, errs strings.Builder
	p := program.Process{
		Name: "quotashare", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Env:  []string{"QUOTA_HTTP_ADDR=" + s.Listener.Addr().String()},
		Args: append([]string{"health"}, args...),
	}
	code = run(context.Background(), p)
	return code, out.String() + errs.String()
}

// A program that lives but has not caught up is not ready, and it says why.
func TestHealthIsThatOfReadyz(t *testing.T) {
	for status, code := range map[int]int{http.StatusOK: program.OK, http.StatusServiceUnavailable: program.Failure} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				status = http.StatusTeapot
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"catching up","type":"unavailable_error","code":"not-ready"}}`)
		}))
		got, said := health(t, s)
		s.Close()
		if got != code || (code != program.OK) != strings.Contains(said, "catching up") {
			t.Errorf("status %d: exit %d, want %d\n%s", status, got, code, said)
		}
	}
}

// Whose certificate it is does not matter on this machine; that it is asked for does.
func TestHealthOverTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	if code, said := health(t, s, "--http-cert", "any.pem"); code != program.OK || !strings.HasPrefix(said, s.URL+" is ready") {
		t.Errorf("exit %d\n%s", code, said)
	}
	if code, said := health(t, s); code != program.Failure {
		t.Errorf("without a certificate: exit %d\n%s", code, said)
	}
}
