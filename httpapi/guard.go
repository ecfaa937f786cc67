package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard decides whether a request may go further.
type guard struct {
	hosts map[string]bool // lower case, without port
	token [sha256.Size]byte
	asks  bool // a token is set
}

func newGuard(hosts []string, token string) *guard {
	g := &guard{hosts: make(map[string]bool, len(hosts)), asks: token != ""}
	for _, h := range hosts {
		g.hosts[hostName(h)] = true
	}
	// Hashed, so that the comparison's time does not depend on the length.
	g.token = sha256.Sum256([]byte(token))
	return g
}

// check returns why the request is refused, or nil.
func (g *guard) check(r *http.Request) *fault {
	if f := g.checkPlace(r); f != nil {
		return f
	}
	if g.asks && !isHealth(r) {
		return g.checkToken(r.Header["Authorization"])
	}
	return nil
}

// checkPlace looks at where the request was sent and what page sent it. It is
// all that is asked of who wants the dashboard: that is the same for everybody,
// and asks for a token where it asks for data.
func (g *guard) checkPlace(r *http.Request) *fault {
	health := isHealth(r)
	if !g.hostAllowed(r.Host, health) {
		return forbidden("host-not-allowed",
			"host: "+quote(r.Host)+" is not a name of this server: call it by a loopback name, or add the name to QUOTA_HTTP_HOSTS")
	}
	if origin := r.Header["Origin"]; len(origin) > 0 && !sameHost(origin, r.Host) {
		return forbidden("origin-not-allowed",
			"origin: "+quote(strings.Join(origin, ", "))+" is another site than "+quote(r.Host)+": pages of other sites may not call this server")
	}
	return nil
}

// checkToken tells a header that is none of ours from a token that is another:
// who sent it knows which of the two, so nothing secret is said.
func (g *guard) checkToken(authorization []string) *fault {
	token, sent := bearer(authorization)
	sum := sha256.Sum256([]byte(token))
	switch {
	case !sent:
		return unauthorized("authorization: send \"Authorization: Bearer <token>\", once, with the token this server was started with")
	case subtle.ConstantTimeCompare(sum[:], g.token[:]) != 1:
		return unauthorized("authorization: the token is not the one this server was started with")
	}
	return nil
}

func unauthorized(message string) *fault {
	return &fault{status: http.StatusUnauthorized, kind: "authentication_error", code: "unauthorized", message: message}
}

// isHealth reports whether the request asks for one of the two paths that
// probes call: they tell nothing, and probes have no token.
func isHealth(r *http.Request) bool {
	return r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
}

// hostAllowed is the defence against DNS rebinding: a page's own name that now
// resolves to us is still that page's name in Host. Kubernetes probes a pod by
// its bare address, which no page can rebind, so health takes any address.
func (g *guard) hostAllowed(host string, health bool) bool {
	name := hostName(host)
	if g.hosts[name] || isLoopback(name) {
		return true
	}
	_, err := netip.ParseAddr(name)
	return health && err == nil
}

// hostName is a Host header, or a configured host, without port, brackets and
// the dot of the root, in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// sameHost reports whether the one Origin is the server that host names. The
// scheme may differ from ours: a proxy in front may speak TLS.
func sameHost(origin []string, host string) bool {
	if len(origin) != 1 {
		return false
	}
	u, err := url.Parse(origin[0])
	if err != nil || u.Host == "" {
		return false // "null" too: sandboxed pages and files
	}
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return port != "" && strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
}

// bearer returns the token of the one header that has one.
func bearer(authorization []string) (token string, sent bool) {
	if len(authorization) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(authorization[0], " ")
	token = strings.TrimSpace(token)
	return token, token != "" && strings.EqualFold(scheme, "bearer")
}
