package httpapi

import (
	"net/http"
	"strings"
)

const rootText = `quotashare: fair shares of one provider account for many API keys.

  GET    /api/quota/pools                 pools
  POST   /api/quota/pools                 create one, or import an array of them
  GET    /api/quota/pools/{id}            one pool
  PATCH  /api/quota/pools/{id}            change it; ?dryRun=true says what that would do
  DELETE /api/quota/pools/{id}            delete it
  GET    /api/quota/pools/{id}/usage      how it stands
  GET    /api/quota/pools/{id}/history    what it used by time
  GET    /api/quota/plans                 plans of all connections, and the catalogue
  GET    /api/quota/plans/{connectionId}  one plan, by hand or from the catalogue
  PUT    /api/quota/plans/{connectionId}  set it by hand
  DELETE /api/quota/plans/{connectionId}  back to the catalogue
  GET    /api/quota/settings              the numbers of the rules
  PUT    /api/quota/settings              store some
  POST   /api/quota/reach                 how far the keys of a pool could come
  GET    /api/quota/connections           every connection that was seen
  GET    /api/quota/keys                  every key that was seen
  POST   /api/quota/decide                may this key use this connection now?
  POST   /api/quota/route                 which connection shall it use, and hold it
  GET    /api/quota/preview               what decide would answer, without a trace
  POST   /api/quota/release               give a request up that was held
  POST   /api/quota/events                publish usage and readings
  GET    /api/quota/stream                what happens, as server-sent events
  GET    /api/quota/changes               who changed what in the configuration
  GET    /api/quota/decisions             what was answered, the newest first
  GET    /api/quota/explain               why an answer was what it was
  POST   /api/quota/whatif                what would have been under other rules
  GET    /api/quota/state                 how far the fold is
  GET    /api/quota/rejected              events that could not be folded
  GET    /api/quota/snapshots             the snapshots of the state that this server has
  POST   /api/quota/snapshots             take one now
  GET    /api/quota/session               who you are, and whether a token is needed
  POST   /api/quota/session               log a browser in: a token for a cookie
  DELETE /api/quota/session               log it out
  GET    /api/openapi.json                all of this in full, for programs
  GET    /api/asyncapi.json               what goes over NATS, for programs
  GET    /api/schemas/{file}              the schema of one event, question or answer
  GET    /metrics  /healthz  /readyz

Try:

  curl -H 'content-type: application/json' http://HOST/api/quota/decide \
    -d '{"apiKeyId":"alice","connectionId":"demo"}'
`

// root says what is here.
func root(w http.ResponseWriter, r *http.Request) error {
	// The guard has let only names of ours pass.
	text := strings.ReplaceAll(rootText, "HOST", r.Host)
	writeBody(w, http.StatusOK, "text/plain; charset=utf-8", []byte(text))
	return nil
}

// isPage reports whether a browser asks for the dashboard: for its files, or for
// "/" as a page. Who reads no HTML there, as curl, is told the list of paths.
func isPage(r *http.Request) bool {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return false
	case r.URL.Path == "/":
		return strings.Contains(r.Header.Get("Accept"), "text/html")
	}
	return r.URL.Path == "/icon.svg" || strings.HasPrefix(r.URL.Path, "/assets/")
}

// page answers with a file of the dashboard. What is at "/" depends on who asks.
func (a *api) page(w http.ResponseWriter, r *http.Request) {
	if f := a.guard.checkPlace(r); f != nil {
		a.refuse(w, r, f)
		return
	}
	r.Pattern = "pages"
	w.Header().Set("Vary", "Accept")
	a.pages.ServeHTTP(w, r)
}

// alive says that the process serves requests, nothing more.
func alive(w http.ResponseWriter, _ *http.Request) error {
	writeBody(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	return nil
}
