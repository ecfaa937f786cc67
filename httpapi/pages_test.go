package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

// The dashboard of these tests says who it is, and that no token was asked for.
var dashboard = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte("page of " + r.URL.Path))
})

func TestPages(t *testing.T) {
	for _, c := range []struct {
		name, request string
		token         string
		status        int
		body          string
	}{
		{"a browser at the root", "GET /\nAccept: text/html,*/*;q=0.8", "", 200, "page of /"},
		{"curl at the root", "GET /\nAccept: */*", "", 200, "quotashare: fair shares"},
		{"a file", "GET /assets/main-1a2b.js", "", 200, "page of /assets/main-1a2b.js"},
		{"the icon", "GET /icon.svg", "", 200, "page of /icon.svg"},
		{"no token is asked for", "GET /\nAccept: text/html", "s3cret", 200, "page of /"},
		{"but for data it is", "GET /api/quota/pools\nAccept: text/html", "s3cret", 401, "unauthorized"},
		{"and for the list of paths", "GET /\nAccept: */*", "s3cret", 401, "unauthorized"},
		{"names of others are refused", "GET /\nHost: evil.example\nAccept: text/html", "", 403, "host-not-allowed"},
		{"pages are not written", "POST /\nAccept: text/html", "", 405, "method-not-allowed"},
		{"a path that is near", "GET /assets", "", 404, "not-found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := serve(t, newDouble(), Config{Pages: dashboard, Token: c.token})
			resp, body := srv.send(t, c.request)
			if resp.StatusCode != c.status || !strings.Contains(body, c.body) {
				t.Errorf("%d %.200s", resp.StatusCode, body)
			}
		})
	}
}

// Without pages nothing is where they would be.
func TestNoPages(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	if resp, body := srv.send(t, "GET /assets/main-1a2b.js"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, body := srv.send(t, "GET /\nAccept: text/html"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(body, "quotashare:") {
		t.Errorf("%d %.200s", resp.StatusCode, body)
	}
}
