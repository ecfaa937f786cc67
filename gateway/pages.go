package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newPages are what the gateway says of itself.
func (g *Gateway) newPages(o *Options) map[string]http.Handler {
	figures := promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
	})
	return map[string]http.Handler{
		"/healthz": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok\n") }),
		"/readyz":  http.HandlerFunc(g.ready),
		"/metrics": guarded(o.Token, figures),
	}
}

// ready says whether the engine can be asked. Without it the answer is 200 too, unless
// calls are then blocked: taken out of service, a gateway would stop all traffic, which
// is what failing open is to prevent.
func (g *Gateway) ready(w http.ResponseWriter, _ *http.Request) {
	switch {
	case g.client.Connected():
		say(w, http.StatusOK, "ready\n")
	case g.client.FailClosed():
		say(w, http.StatusServiceUnavailable, "not connected to the quota engine's broker: calls are blocked\n")
	default:
		say(w, http.StatusOK, "ready; not connected to the quota engine's broker: calls pass unchecked\n")
	}
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // a caller that is gone does not read it
}

// guarded shows a page to peers on this machine, and to others with the token.
func guarded(token string, page http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token)) // so that comparing tells nothing of the length
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(given))
		known := token != "" && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], want[:]) == 1
		if !known && !local(r) {
			refuse(w, r, http.StatusUnauthorized, `Send "Authorization: Bearer <token>" with the token that this gateway was started with.`)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// local reports whether the request comes from this machine: by its address, by the
// name it calls us (a page of another site may have had its name resolved to us), and
// through no proxy.
func local(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() || r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
