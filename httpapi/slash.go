package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// The id of a pool or connection may be a slash, written %2F in a path. ServeMux
// takes a segment of that alone for the end of the path, whatever the pattern. So
// it is given another one there, which is no id, and the handlers get the slash
// back.
const (
	slash   = "%2f"
	standIn = "%01"
)

type slashKey struct{}

// routable returns the request as ServeMux understands it.
func routable(r *http.Request) *http.Request {
	path := r.URL.EscapedPath()
	segments := strings.Split(path, "/")
	found := false
	for i, s := range segments {
		if strings.EqualFold(s, slash) {
			segments[i], found = standIn, true
		}
	}
	if !found || strings.Contains(path, standIn) {
		return r
	}
	r = r.WithContext(context.WithValue(r.Context(), slashKey{}, true))
	u := *r.URL
	u.RawPath = strings.Join(segments, "/")
	u.Path, _ = url.PathUnescape(u.RawPath) // of escapes that are well formed
	r.URL = &u
	return r
}

// restore gives a handler the ids that were meant.
func restore(r *http.Request) {
	if r.Context().Value(slashKey{}) == nil {
		return
	}
	for _, name := range []string{"id", "connectionId"} {
		if r.PathValue(name) == "\x01" {
			r.SetPathValue(name, "/")
		}
	}
}
