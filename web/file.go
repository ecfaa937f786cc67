package web

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// kinds are the content types of the files there may be. The system's own table
// is not asked: it is another on every machine.
var kinds = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".png":  "image/png",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// errKind is a file of which a browser would not be told what it is.
var errKind = errors.New("is of a kind that has no content type here: add it to kinds")

// file is one file in the memory of the process, ready to be sent.
type file struct {
	kind, cache   string
	plain, packed body // packed has no bytes when there is no compressed form
}

// body is one form of a file. Two forms have two tags: a cache that took the one
// for the other would hand compressed bytes to who cannot read them.
type body struct {
	bytes []byte
	tag   string
}

func newBody(bytes []byte) body {
	sum := sha256.Sum256(bytes)
	return body{bytes: bytes, tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
}

// readFile reads a file and its compressed form, if it has one.
func readFile(built fs.FS, name string) (*file, error) {
	kind, ok := kinds[path.Ext(name)]
	if !ok {
		return nil, fmt.Errorf("%s %w", name, errKind)
	}
	plain, err := fs.ReadFile(built, name)
	if err != nil {
		return nil, err
	}
	f := &file{kind: kind, cache: askAgain, plain: newBody(plain)}
	if strings.HasPrefix(name, hashed) {
		f.cache = forever
	}
	packed, err := fs.ReadFile(built, name+".gz")
	switch {
	case err == nil:
		f.packed = newBody(packed)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return f, nil
}

// serve answers with the form that the client reads. Ranges are not offered:
// nothing here is large.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h, b := w.Header(), f.plain
	h.Set("Cache-Control", f.cache)
	if f.packed.bytes != nil {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header) {
			b = f.packed
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", b.tag)
	if has(r.Header, b.tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(b.bytes)))
	_, _ = w.Write(b.bytes) // net/http leaves the bytes of HEAD out
}

// has reports whether the client has the form with this tag already.
func has(h http.Header, tag string) bool {
	for _, part := range list(h, "If-None-Match") {
		if part == "*" || strings.TrimPrefix(part, "W/") == tag {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether the client reads gzip: it names it, and not with
// the weight 0. What it likes better is not asked: there is no third form.
func acceptsGzip(h http.Header) bool {
	for _, part := range list(h, "Accept-Encoding") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, ok := strings.CutPrefix(strings.TrimSpace(weight), "q=")
			return !ok || strings.Trim(q, "0.") != ""
		}
	}
	return false
}

// list is all members of a header that holds a list.
func list(h http.Header, name string) []string {
	parts := strings.Split(strings.Join(h.Values(name), ","), ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
