package httpapi

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
)

func TestCheckBind(t *testing.T) {
	const reachable = "can be reached from other machines: set an API token, or bind 127.0.0.1:8480"
	for _, c := range []struct{ addr, token, want string }{
		{"127.0.0.1:8480", "", ""},
		{"127.9.9.9:8480", "", ""},
		{"[::1]:8480", "", ""},
		{"[::ffff:127.0.0.1]:8480", "", ""},
		{"localhost:8480", "", ""},
		{"LOCALHOST:8480", "", ""},
		{":8480", "", reachable},
		{"0.0.0.0:8480", "", reachable},
		{"[::]:8480", "", reachable},
		{"10.0.0.7:8480", "", reachable},
		{"128.0.0.1:8480", "", reachable},
		{"gateway.internal:8480", "", reachable},
		{"localhost.evil.example:8480", "", reachable},
		{"0.0.0.0:8480", "secret", ""},
		{":8480", "secret", ""},
		{"8480", "secret", "use host:port, like 127.0.0.1:8480"},
	} {
		err := CheckBind(c.addr, c.token)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("CheckBind(%q, %q) = %v, want nil", c.addr, c.token, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("CheckBind(%q, %q) = %v, want ... %s", c.addr, c.token, err, c.want)
		}
	}
}

// The table is read as: a request with this Host, Origin and Authorization for
// this path is answered with this status and code, and a message that says that.
var guardCases = []struct {
	name, host, path string
	origin, auth     []string
	open, tls        bool
	status           int
	code, says       string
}{
	{name: "loopback name", host: "localhost:8480", path: "/", open: true},
	{name: "loopback name without port", host: "localhost", path: "/", open: true},
	{name: "loopback address", host: "127.0.0.1:8480", path: "/", open: true},
	{name: "loopback IPv6", host: "[::1]:8480", path: "/", open: true},
	{name: "loopback IPv6 without port", host: "[::1]", path: "/", open: true},
	{name: "rebound name", host: "evil.example:8480", path: "/", open: true, status: 403, code: "host-not-allowed"},
	{name: "rebound name for health", host: "evil.example:8480", path: "/healthz", open: true, status: 403, code: "host-not-allowed"},
	{name: "no host", host: "", path: "/", open: true, status: 403, code: "host-not-allowed"},
	{name: "another address", host: "10.0.0.7:8480", path: "/", open: true, status: 403, code: "host-not-allowed"},
	{name: "a probe by address", host: "10.0.0.7:8480", path: "/readyz", open: true},
	{name: "name that begins alike", host: "localhost.evil.example", path: "/", open: true, status: 403, code: "host-not-allowed"},
	{name: "configured name", host: "quota.EXAMPLE.com", path: "/", auth: []string{"Bearer s3cret"}},
	{name: "configured name, root dot", host: "quota.example.com.:443", path: "/", auth: []string{"bearer s3cret"}},
	{name: "configured with port", host: "gw:9999", path: "/", auth: []string{"Bearer s3cret"}},
	{name: "below a configured name", host: "x.quota.example.com", path: "/", auth: []string{"Bearer s3cret"}, status: 403, code: "host-not-allowed"},

	{name: "same origin", host: "localhost:8480", path: "/", origin: []string{"http://localhost:8480"}, open: true},
	{name: "same origin behind TLS", host: "quota.example.com", path: "/", origin: []string{"https://quota.example.com"}, auth: []string{"Bearer s3cret"}},
	{name: "default port said", host: "localhost:80", path: "/", origin: []string{"http://localhost"}, open: true},
	{name: "same origin of ours with TLS", host: "localhost:8480", path: "/", origin: []string{"https://localhost:8480"}, open: true, tls: true},
	{name: "the page came without TLS", host: "localhost:8480", path: "/", origin: []string{"http://localhost:8480"}, open: true, tls: true, status: 403, code: "origin-not-allowed"},
	{name: "the page came without TLS, from port 80", host: "localhost", path: "/", origin: []string{"http://localhost"}, open: true, tls: true, status: 403, code: "origin-not-allowed"},
	{name: "default port of TLS said", host: "localhost:443", path: "/", origin: []string{"https://localhost"}, open: true, tls: true},
	{name: "other site", host: "localhost:8480", path: "/", origin: []string{"https://evil.example"}, open: true, status: 403, code: "origin-not-allowed"},
	{name: "other port", host: "localhost:8480", path: "/", origin: []string{"http://localhost:3000"}, open: true, status: 403, code: "origin-not-allowed"},
	{name: "sandboxed page", host: "localhost:8480", path: "/", origin: []string{"null"}, open: true, status: 403, code: "origin-not-allowed"},
	{name: "two origins", host: "localhost:8480", path: "/", origin: []string{"http://localhost:8480", "http://localhost:8480"}, open: true, status: 403, code: "origin-not-allowed"},
	{name: "empty origin", host: "localhost:8480", path: "/", origin: []string{""}, open: true, status: 403, code: "origin-not-allowed"},
	{name: "other scheme", host: "localhost:8480", path: "/", origin: []string{"file://localhost:8480"}, open: true, status: 403, code: "origin-not-allowed"},
	{name: "other site for health", host: "localhost:8480", path: "/healthz", origin: []string{"https://evil.example"}, open: true, status: 403, code: "origin-not-allowed"},

	{name: "no token", host: "localhost", path: "/", status: 401, code: "unauthorized", says: "send"},
	{name: "wrong token", host: "localhost", path: "/", auth: []string{"Bearer s3cre"}, status: 401, code: "unauthorized", says: "not one of"},
	{name: "longer token", host: "localhost", path: "/", auth: []string{"Bearer s3crets"}, status: 401, code: "unauthorized", says: "not one of"},
	{name: "other scheme of authorization", host: "localhost", path: "/", auth: []string{"Basic s3cret"}, status: 401, code: "unauthorized", says: "send"},
	{name: "token alone", host: "localhost", path: "/", auth: []string{"s3cret"}, status: 401, code: "unauthorized", says: "send"},
	{name: "two authorizations", host: "localhost", path: "/", auth: []string{"Bearer s3cret", "Bearer x"}, status: 401, code: "unauthorized", says: "send"},
	{name: "scheme alone", host: "localhost", path: "/", auth: []string{"Bearer "}, status: 401, code: "unauthorized", says: "send"},
	{name: "metrics need it", host: "localhost", path: "/metrics", status: 401, code: "unauthorized", says: "send"},
	{name: "health does not", host: "localhost", path: "/healthz"},
	{name: "readiness does not", host: "localhost", path: "/readyz"},
	{name: "what looks like health does", host: "localhost", path: "/healthz/x", status: 401, code: "unauthorized", says: "send"},
}

func TestGuard(t *testing.T) {
	const token = "s3cret"
	g := newGuard(&Config{Hosts: []string{"Quota.example.com", "gw:8480"}, Token: token})
	open := newGuard(&Config{})
	for _, c := range guardCases {
		t.Run(c.name, func(t *testing.T) {
			r, err := http.NewRequest("GET", "http://x"+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = c.host
			if c.tls {
				r.TLS = &tls.ConnectionState{}
			}
			for _, o := range c.origin {
				r.Header.Add("Origin", o)
			}
			for _, a := range c.auth {
				r.Header.Add("Authorization", a)
			}
			by := g
			if c.open {
				by = open
			}
			who, f := by.check(r)
			if (f == nil) != (who != nil) {
				t.Errorf("it is %v, and refused with %v", who, f)
			}
			if f == nil {
				f = new(fault)
			}
			if f.status != c.status || f.code != c.code || !strings.Contains(f.message, c.says) {
				t.Errorf("got %d %s (%s), want %d %s (… %s …)", f.status, f.code, f.message, c.status, c.code, c.says)
			}
			if strings.Contains(f.message, token) {
				t.Errorf("the token is told: %s", f.message)
			}
		})
	}
}
