package gateway

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
)

// provided is the way to providers. What they say before an answer is trimmed as the
// answer is: ReverseProxy sends it on by a trace of its own, and one that is added
// later sees the header first.
type provided struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p provided) RoundTrip(r *http.Request) (*http.Response, error) {
	c := callOf(r.Context())
	c.decided()
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
			c.trim(http.Header(h))
			return nil
		},
	})
	return p.RoundTripper.RoundTrip(r.WithContext(ctx))
}

// trim takes out of a header what is between a provider and us: what it has of the
// connection, and the credential wherever it is quoted.
func (c *call) trim(h http.Header) {
	for _, name := range []string{"Set-Cookie", "Alt-Svc", "Strict-Transport-Security"} {
		h.Del(name)
	}
	if !isSecret(c.credential) {
		return
	}
	for _, values := range h {
		for i, value := range values {
			values[i] = strings.ReplaceAll(value, c.credential, strings.Repeat("*", len(c.credential)))
		}
	}
}

// isSecret tells a credential from a word such as "none" or "ollama" that stands in for
// one, and which an answer may have for other reasons.
func isSecret(credential string) bool { return len(credential) >= 8 }

// masked is a body in which stars stand for a secret: as many as it has bytes, so that
// the length stays what the header says. It holds nothing back but what may be the
// secret's beginning, so neither the length of a body nor its pace is bounded. A body
// that is compressed, though it was asked not to be, passes as it is.
type masked struct {
	io.ReadCloser
	secret []byte

	buf   []byte // not passed yet
	ready int    // bytes of it that may pass
	err   error  // of the body, after all of buf
}

// Read implements io.Reader.
func (m *masked) Read(p []byte) (int, error) {
	for m.ready == 0 && m.err == nil {
		m.fill(len(p))
	}
	if m.ready == 0 {
		return 0, m.err
	}
	n := copy(p, m.buf[:m.ready])
	m.buf, m.ready = m.buf[n:], m.ready-n
	return n, nil
}

// fill takes what the body has next, at most most bytes of it.
func (m *masked) fill(most int) {
	old := len(m.buf)
	m.buf = append(m.buf, make([]byte, most)...)
	var n int
	n, m.err = m.ReadCloser.Read(m.buf[old:])
	m.buf = bytes.ReplaceAll(m.buf[:old+n], m.secret, bytes.Repeat([]byte("*"), len(m.secret)))
	m.ready = len(m.buf)
	if m.err == nil {
		m.ready -= begun(m.buf, m.secret)
	}
}

// begun returns how many bytes at the end of b may be the beginning of a secret.
func begun(b, secret []byte) int {
	for n := min(len(b), len(secret)-1); n > 0; n-- {
		if bytes.HasSuffix(b, secret[:n]) {
			return n
		}
	}
	return 0
}
