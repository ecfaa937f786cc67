package web

import (
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// policy is what a browser may do with the pages. Nothing is allowed that is
// not named: scripts, styles, images and calls of this server, no others. Text
// that would become a script, or a part of the page with one in it, is refused
// even when a script of ours is tricked into making it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// Names in hashed hold a hash of their content, so they mean the same for ever.
// All else is asked for again each time, and answered 304 while it is the same.
const (
	hashed   = "assets/"
	forever  = "public, max-age=31536000, immutable"
	askAgain = "no-cache"
)

// pages is the handler of New: every file by its path in the URL.
type pages map[string]*file

// New returns the handler of the files of built: "/" is its index.html, every
// other file has its own path, and all else is answered 404. Files whose names
// begin with a dot are left out. A file beside another with ".gz" at the end of
// its name is that other one, compressed.
//
// Without an index.html every path answers with a page that says how to build
// it. New errs when a file cannot be read or is of a kind that it does not know.
func New(built fs.FS) (http.Handler, error) {
	p := pages{}
	err := fs.WalkDir(built, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(path.Base(name), ".") || strings.HasSuffix(name, ".gz") {
			return err
		}
		p["/"+name], err = readFile(built, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	index, ok := p["/index.html"]
	if !ok {
		return http.HandlerFunc(unbuilt), nil
	}
	p["/"] = index
	return p, nil
}

// ServeHTTP answers GET and HEAD.
func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if refused(w, r) {
		return
	}
	f, ok := p[r.URL.Path]
	if !ok {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	f.serve(w, r)
}

// protect sets the headers that every answer has.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // ids of keys are in the addresses of pages
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// refused answers methods that do nothing here, and reports whether it did.
func refused(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return false
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "pages are read with GET", http.StatusMethodNotAllowed)
	return true
}

// unbuiltPage has no style of its own: the policy allows none in a page.
const unbuiltPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Quotashare: the dashboard is not built</title>
<h1>The dashboard is not built</h1>
<p>This program was compiled without its pages. Everything else works: the API is under
<a href="/api/openapi.json">/api/openapi.json</a>.</p>
<p>To have the pages, with Node 20.19 or newer, in the folder of the sources:</p>
<pre>make web build</pre>
<p>and start the program again.</p>
`

// unbuilt answers every path as long as there are no pages.
func unbuilt(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if refused(w, r) {
		return
	}
	if r.URL.Path != "/" && r.URL.Path != "/index.html" {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store") // the next program may have them
	w.Header().Set("Content-Length", strconv.Itoa(len(unbuiltPage)))
	_, _ = w.Write([]byte(unbuiltPage))
}
