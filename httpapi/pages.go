package httpapi

import (
	"net/http"
	"strings"
)

const rootText = `quotashare: fair shares of one provider account for many API keys.

  POST /api/quota/pools                   create a pool
  GET  /api/quota/pools                   list pools
  GET  /api/quota/pools/{id}              one pool
  DELETE /api/quota/pools/{id}            delete it
  PUT  /api/quota/plans/{connectionId}    set the plan of a connection by hand
  GET  /api/quota/plans/{connectionId}    its plan, by hand or from the catalogue
  DELETE /api/quota/plans/{connectionId}  back to the catalogue
  POST /api/quota/decide                  may this key use this connection now?
  POST /api/quota/events                  publish usage and readings
  GET  /api/quota/state                   how far the fold is
  GET  /api/quota/rejected                events that could not be folded
  GET  /metrics  /healthz  /readyz

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

// alive says that the process serves requests, nothing more.
func alive(w http.ResponseWriter, _ *http.Request) error {
	writeBody(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	return nil
}
