package client

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/quotashare/quotashare/dialect"
)

// outgoing is a request that was read, on its way to the provider.
type outgoing struct {
	body  []byte // as it is sent
	plain bool   // it was decoded, and is sent so
	facts dialect.Request
	asked bool // to state its usage, which its client did not
	drop  func()
}

// Errors of a request's body.
var (
	errEncoding = errors.New("content-encoding of the request is none of gzip, deflate, zstd and identity: send it as one of them")
	errTooLong  = errors.New("the body of the request is too long")
)

// outgoing reads the body of a request, closes it, and makes what is sent of it.
func (m *Middleware) outgoing(req *http.Request, api dialect.API) (*outgoing, error) {
	most := needs(req, m.maxBody())
	if err := m.memory.take(req.Context(), most, m.maxBody()); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	o, err := m.open(req, api)
	if err != nil {
		m.memory.give(most)
		return nil, err
	}
	kept := min(most, int64(len(o.body)))
	m.memory.give(most - kept)
	o.drop = func() {
		o.body = nil // a response that lasts hours keeps its request
		m.memory.give(kept)
	}
	return o, nil
}

// open reads the body and makes what is sent of it.
func (m *Middleware) open(req *http.Request, api dialect.API) (*outgoing, error) {
	body, err := m.read(req)
	if err != nil {
		return nil, err
	}
	plain, err := decode(body, req.Header, m.maxBody())
	if err != nil {
		return nil, err
	}
	o := &outgoing{body: body}
	if o.facts, err = dialect.Read(api, plain); err != nil {
		return nil, err
	}
	if api != dialect.Chat || !o.facts.Stream || o.facts.UsageAsked {
		return o, nil
	}
	changed, asked, err := dialect.AskUsage(plain)
	if err != nil {
		return nil, err
	}
	if asked {
		o.body, o.asked, o.plain = changed, true, true
	}
	return o, nil
}

func (m *Middleware) maxBody() int64 {
	if m.MaxBody == 0 {
		return DefaultMaxBody
	}
	return m.MaxBody
}

// read takes all of the body. It is needed whole, to know how large the call may be
// before the provider is asked.
func (m *Middleware) read(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close() //nolint:errcheck // it is read
	return readAll(req.Body, m.maxBody())
}

func readAll(r io.Reader, most int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(body)) > most {
		err = fmt.Errorf("%w: at most %d bytes are taken", errTooLong, most)
	}
	return body, err
}

// decode undoes the encoding that the header names. Codex sends zstd
// (github.com/openai/codex, codex-rs/codex-client, request compression).
func decode(body []byte, h http.Header, most int64) ([]byte, error) {
	var r io.Reader
	var err error
	switch strings.ToLower(h.Get("Content-Encoding")) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		r, err = zlib.NewReader(bytes.NewReader(body))
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(most)+1)); err == nil {
			defer d.Close()
		}
		r = d
	default:
		return nil, errEncoding
	}
	if err == nil {
		body, err = readAll(r, most)
	}
	if err != nil && !errors.Is(err, errTooLong) {
		return nil, &dialect.SyntaxError{What: "is not what its content-encoding says: " + err.Error()}
	}
	return body, err
}

// request makes the request that is sent.
func (o *outgoing) request(req *http.Request, d *Decision) *http.Request {
	out := req.Clone(context.WithValue(req.Context(), decisionKey{}, *d))
	out.Header.Del(HeaderDeprioritize)
	if d.Deprioritize {
		out.Header.Set(HeaderDeprioritize, "true")
	}
	// What is compressed cannot be read on its way, and decoding it would hold back what
	// a stream has sent.
	out.Header.Set("Accept-Encoding", "identity")
	if o.plain {
		out.Header.Del("Content-Encoding")
	}
	out.Header.Del("Content-Length")
	out.ContentLength, out.TransferEncoding = int64(len(o.body)), nil
	out.Body = &sending{left: o.body}
	// So that it can be sent anew on a kept connection that turned out to be closed before
	// anything was written. With an Idempotency-Key http.Transport would do so after the
	// provider has seen it as well, and only one of two calls can be charged.
	out.GetBody = func() (io.ReadCloser, error) { return &sending{left: o.body}, nil }
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if _, there := out.Header[name]; there {
			out.GetBody = nil
		}
	}
	return out
}

// sending is the body of a request on its way. It keeps nothing of what was sent: the
// request is there as long as its response.
type sending struct {
	mu   sync.Mutex // it may be closed while it is read
	left []byte
}

// Read implements io.Reader.
func (s *sending) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) == 0 {
		s.left = nil
		return 0, io.EOF
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *sending) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = nil
	return nil
}

// misread answers a request whose body cannot be read. Whatever else goes wrong is the
// connection of whoever sends it.
func (m *Middleware) misread(req *http.Request, api dialect.API, err error) (*http.Response, error) {
	var syntax *dialect.SyntaxError
	r := dialect.Refusal{Message: err.Error()}
	switch {
	case errors.As(err, &syntax):
		r.Status = http.StatusBadRequest
	case errors.Is(err, errTooLong):
		r.Status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errEncoding):
		r.Status = http.StatusUnsupportedMediaType
	default:
		return nil, err
	}
	return answer(req, r, api, nil), nil
}

// unanswerable answers a request that nothing can be asked about. A model's name may be
// to blame, which is the caller's; all else is from whoever set the middleware up, and
// the caller cannot help it.
func (m *Middleware) unanswerable(req *http.Request, call *Call, err error) *http.Response {
	r := dialect.Refusal{Status: http.StatusBadRequest, Message: err.Error()}
	if !strings.HasPrefix(r.Message, "model ") {
		m.Client.tell("a call cannot be asked for: what Middleware was told is wrong", err)
		r = dialect.Refusal{Status: http.StatusInternalServerError, Message: "This gateway cannot ask for the call; tell whoever runs it."}
	}
	return answer(req, r, call.API, nil)
}

// refusal is a block, as the caller is told of it.
func refusal(d *Decision) dialect.Refusal {
	r := dialect.Refusal{Status: d.Status, Message: d.Message, WaitMs: d.RetryAfter.Milliseconds()}
	if !d.RetryAt.IsZero() {
		r.At = d.RetryAt.UnixMilli()
	}
	return r
}

// answer is a response that the provider did not give.
func answer(req *http.Request, r dialect.Refusal, api dialect.API, d *Decision) *http.Response {
	a := r.In(api)
	resp := &http.Response{
		Status: strconv.Itoa(a.Status) + " " + http.StatusText(a.Status), StatusCode: a.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(a.Body)), ContentLength: int64(len(a.Body)), Request: req,
	}
	for _, f := range a.Header {
		resp.Header.Set(f.Name, f.Value)
	}
	// As a transport's: a proxy copies the header alone, and would send it in chunks.
	resp.Header.Set("Content-Length", strconv.Itoa(len(a.Body)))
	if d != nil {
		mark(resp.Header, d)
		resp.Request = req.WithContext(context.WithValue(req.Context(), decisionKey{}, *d))
	}
	return resp
}
