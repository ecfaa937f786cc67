package client

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/quotashare/quotashare/dialect"
)

// body is the body of a response on its way to the caller. It holds nothing back but
// what of an event may have to be taken out.
type body struct {
	from  io.ReadCloser
	f     *passage
	strip *dialect.Stripper // nil = everything passes as it is
	out   bytes.Buffer      // what the stripper has let pass
	piece []byte            // as it came, for the stripper
	err   error             // of from, for when out is empty

	mu    sync.Mutex // Close may come while a Read waits
	meter *dialect.Meter
}

func newBody(from io.ReadCloser, meter *dialect.Meter, f *passage, strip bool) *body {
	b := &body{from: from, f: f, meter: meter}
	if strip {
		b.strip = dialect.NewStripper(&b.out)
		b.piece = make([]byte, 32<<10)
	}
	return b
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.strip == nil {
		return b.read(p)
	}
	for b.out.Len() == 0 && b.err == nil && len(p) > 0 {
		var n int
		n, b.err = b.read(b.piece)
		_, _ = b.strip.Write(b.piece[:n]) // into memory
		if b.err != nil {
			_ = b.strip.Close()
		}
	}
	if b.out.Len() > 0 {
		return b.out.Read(p)
	}
	return 0, b.err
}

// read takes what comes next, and ends the call at the end.
func (b *body) read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.mu.Lock()
	_, _ = b.meter.Write(p[:n])
	b.mu.Unlock()
	if err != nil {
		b.end()
	}
	return n, err
}

// Close implements io.Closer. Closed before its end, the body was cut.
func (b *body) Close() error {
	b.end()
	return b.from.Close()
}

func (b *body) end() {
	b.mu.Lock()
	_ = b.meter.Close()
	report := b.meter.Report()
	b.mu.Unlock()
	b.f.settle(&report)
}

// uncompress decodes a response that is compressed though it was asked not to be, as
// http.Transport does when it asked by itself. Of another encoding nothing can be
// read, and what it used is estimated.
func uncompress(resp *http.Response) {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return
	}
	resp.Body = &gunzip{from: resp.Body}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Uncompressed = -1, true
}

// gunzip decodes a body. Its header is read with the first bytes, because they may be
// long in coming.
type gunzip struct {
	from io.ReadCloser
	r    *gzip.Reader
	err  error
}

// Read implements io.Reader.
func (g *gunzip) Read(p []byte) (int, error) {
	if g.r == nil && g.err == nil {
		g.r, g.err = gzip.NewReader(g.from)
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.r.Read(p)
}

// Close implements io.Closer.
func (g *gunzip) Close() error { return g.from.Close() }
