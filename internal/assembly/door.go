package assembly

import (
	"io"
	"net/http"
	"sync/atomic"
)

// door is the HTTP handler of a process: one that says that the log does not
// answer yet, until there is an engine behind it.
type door struct{ to atomic.Pointer[http.Handler] }

func newDoor() *door {
	d := new(door)
	d.lead(http.HandlerFunc(closed))
	return d
}

// lead makes h the handler from the next request on.
func (d *door) lead(h http.Handler) { d.to.Store(&h) }

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*d.to.Load()).ServeHTTP(w, r) }

// closed answers while there is no log. The process is alive, and everything
// else has to wait; a caller that hung instead would learn neither.
func closed(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		_, _ = io.WriteString(w, "ok\n") // a caller that is gone does not read it
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, `{"error":{"message":"the log does not answer yet: try again","type":"unavailable_error","code":"not-ready"}}`+"\n")
}
