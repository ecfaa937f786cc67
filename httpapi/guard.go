package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/tokens"
)

// guard decides whether a request may go further, and as whose.
type guard struct {
	hosts  map[string]bool // lower case, without port
	admin  *caller         // who has the one token that is set; nil = none is
	token  [sha256.Size]byte
	tokens *tokens.File // those of others; nil = there are none
	asks   bool         // for a token
}

func newGuard(c *Config) *guard {
	g := &guard{hosts: make(map[string]bool, len(c.Hosts)), tokens: c.Tokens, asks: c.Token != "" || c.Tokens != nil}
	for _, h := range c.Hosts {
		g.hosts[hostName(h)] = true
	}
	if c.Token != "" {
		// Hashed, so that the comparison's time does not depend on the length.
		g.admin, g.token = &caller{role: tokens.Admin, name: "api-token"}, sha256.Sum256([]byte(c.Token))
	}
	return g
}

// check returns who sent the request, or why it is refused.
func (g *guard) check(r *http.Request) (*caller, *fault) {
	if f := g.checkPlace(r); f != nil {
		return nil, f
	}
	if isHealth(r) {
		return nobody, nil
	}
	who, f := g.identify(r)
	if f != nil && f.status == http.StatusUnauthorized && isOpen(r) {
		return nobody, nil
	}
	return who, f
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
	if origin := r.Header["Origin"]; len(origin) > 0 && !samePage(origin, r) {
		return forbidden("origin-not-allowed",
			"origin: "+quote(strings.Join(origin, ", "))+" is another site than "+quote(r.Host)+": pages of other sites may not call this server")
	}
	return nil
}

// identify says who sent the request. A header that says so goes before a cookie, which
// a browser sends whether or not it was meant.
func (g *guard) identify(r *http.Request) (*caller, *fault) {
	if !g.asks {
		return everybody, nil
	}
	token, sent := bearer(r.Header["Authorization"])
	cookie := false
	if !sent && !bears(r.Header["Authorization"]) {
		if token, cookie = sessionToken(r); cookie {
			if f := checkPage(r); f != nil {
				return nil, f
			}
		}
	}
	if !sent && !cookie {
		return nil, unauthorized("authorization: send \"Authorization: Bearer <token>\", once, with a token of this server, or log in on its page")
	}
	who, problem := g.whose(token)
	switch {
	case problem == "":
		return who, nil
	case cookie:
		return nil, unauthorized("the session has ended: its token " + problem)
	}
	return nil, unauthorized("authorization: the token " + problem)
}

// bears says whether a header means to have a token for us, well formed or not. What a
// browser adds for a proxy in front of us is no reason to forget its session.
func bears(authorization []string) bool {
	return slices.ContainsFunc(authorization, func(value string) bool {
		scheme, _, _ := strings.Cut(value, " ")
		return strings.EqualFold(scheme, "bearer")
	})
}

// tokenGone ends what goes on for long.
func tokenGone() *fault {
	return unauthorized("authorization: the token is not good any more: begin again with another")
}

// whose returns who has a token, or what is wrong with it. Who sent it knows it, so
// nothing secret is said.
func (g *guard) whose(token string) (who *caller, problem string) {
	sum := sha256.Sum256([]byte(token))
	if g.admin != nil && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
		return g.admin, ""
	}
	if g.tokens == nil {
		return nil, tokens.ErrUnknown.Error()
	}
	t, err := g.tokens.Find(token)
	if err != nil {
		return nil, err.Error()
	}
	return &caller{role: t.Role, name: t.Name, keys: t.Keys, token: t, tokens: g.tokens}, ""
}

// checkPage makes sure that it was a page of this server that sent a cookie. Browsers
// name the origin of what changes something, and newer ones say of everything how far
// from here it comes; SameSite lets other ports and subdomains of the site through.
func checkPage(r *http.Request) *fault {
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case site != "" && site != "same-origin" && site != "none":
		return forbidden("origin-not-allowed", "sec-fetch-site: a page of another origin sent this: only this server's own may use its session")
	case len(r.Header["Origin"]) == 0 && r.Method != http.MethodGet && r.Method != http.MethodHead:
		return forbidden("origin-not-allowed", "origin: is missing, and with a session it says which page sent this: programs send \"Authorization: Bearer <token>\"")
	}
	return nil
}

func unauthorized(message string) *fault {
	return &fault{status: http.StatusUnauthorized, kind: "authentication_error", code: "unauthorized", message: message}
}

// isOpen reports whether nobody needs a token for the path: a probe has none, and who
// comes to log in has none yet.
func isOpen(r *http.Request) bool { return isHealth(r) || r.URL.Path == sessionPath }

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

// samePage reports whether the one Origin is the server that the request is for. Where we
// speak TLS a page that came without it is another's, which anybody on the way can write.
// Else the scheme may differ from ours: a proxy in front may speak TLS.
func samePage(origin []string, r *http.Request) bool {
	if len(origin) != 1 {
		return false
	}
	u, err := url.Parse(origin[0])
	if err != nil || u.Host == "" {
		return false // "null" too: sandboxed pages and files
	}
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	if port == "" || r.TLS != nil && u.Scheme != "https" {
		return false
	}
	return strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(r.Host, port))
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
