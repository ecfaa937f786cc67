package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/dialect"
)

// NewTransport returns a transport to providers: over HTTP/2 where they speak it,
// through a proxy where the environment names one. It keeps as many connections as
// there were calls at once, and waits as long for an answer as the SDKs do.
func NewTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.ResponseHeaderTimeout = 10 * time.Minute
	t.DisableCompression = true // what is compressed passes as it is
	return t
}

func (g *Gateway) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: rewrite,
		Transport: asking{&client.Middleware{Client: g.client, Base: provided{g.transport}, To: g.direct, Call: func(r *http.Request) client.Call {
			c := callOf(r.Context())
			return client.Call{
				APIKeyID: c.key, ConnectionID: c.to.ID, Others: c.others, Provider: c.to.Provider, API: c.api,
				MaxOutput: c.to.MaxOutput, MaxWait: g.maxWait,
			}
		}}, g.metrics},
		FlushInterval:  -1,
		BufferPool:     &buffers{},
		ModifyResponse: g.modify,
		ErrorHandler:   g.fail,
		ErrorLog:       slog.NewLogLogger(g.log.Handler(), slog.LevelDebug), // a copy that was cut: the client's, or the provider's doing
	}
}

// rewrite makes a client's request one of ours. One that is asked for goes where the
// answer says.
func rewrite(p *httputil.ProxyRequest) {
	clean(p.Out.Header)
	if c := callOf(p.In.Context()); !c.api.Metered() {
		c.credential = c.to.point(p.Out)
	}
}

// direct points a call at the connection that was chosen for it.
func (g *Gateway) direct(out *http.Request, connectionID string) {
	c := callOf(out.Context())
	if i := slices.IndexFunc(g.connections, func(x *connection) bool { return x.ID == connectionID }); i >= 0 {
		c.to = g.connections[i]
	}
	c.credential = c.to.point(out)
}

// personal are headers that say who a client is, or whom it came by, and those of its
// connection to us. ReverseProxy keeps Upgrade; a connection that becomes another
// protocol could not be metered.
var personal = []string{
	"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Cookie", "Openai-Organization", "Openai-Project",
	"Connection", "Upgrade", "Expect", "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip",
}

// clean takes off what is not for a provider.
func clean(h http.Header) {
	for _, name := range personal {
		h.Del(name)
	}
	for name := range h {
		for _, start := range []string{"X-Forwarded-", "X-Original-", "Cf-", "Proxy-", "Quota-"} {
			if strings.HasPrefix(name, start) {
				delete(h, name)
			}
		}
	}
}

// errUpgrade is an answer that makes the connection one of another protocol, which
// nobody asked for (see personal) and nobody could meter.
var errUpgrade = errors.New("the provider changes to another protocol")

// modify takes out of a provider's answer what is not for a client. An answer with an
// error is closed by ReverseProxy; it would leave open one with 101.
func (g *Gateway) modify(resp *http.Response) error {
	c := callOf(resp.Request.Context())
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return errUpgrade
	case resp.StatusCode == http.StatusUnauthorized:
		g.unauthorized(resp)
	}
	c.trim(resp.Header)
	if resp.StatusCode >= 300 && isSecret(c.credential) {
		resp.Body = &masked{ReadCloser: resp.Body, secret: []byte(c.credential)}
	}
	return nil
}

// unauthorized replaces a 401, which a client would take for one of its own token, and
// which may quote the credential. To try again has no point until somebody has put it
// right.
func (g *Gateway) unauthorized(resp *http.Response) {
	c := callOf(resp.Request.Context())
	g.log.Error("the provider refuses the credential", "connection", c.to.ID, "path", c.api.String())
	_ = resp.Body.Close() // nobody reads it
	a := dialect.Refusal{
		Status:  http.StatusBadGateway,
		Message: "The provider refuses the credential of connection " + c.to.ID + "; tell whoever runs this gateway.",
	}.In(voice(resp.Request))
	h := http.Header{"X-Should-Retry": {"false"}, "Content-Length": {strconv.Itoa(len(a.Body))}}
	for _, name := range []string{client.HeaderDecision, client.HeaderDeprioritize} {
		if value := resp.Header.Get(name); value != "" {
			h.Set(name, value)
		}
	}
	for _, f := range a.Header {
		h.Set(f.Name, f.Value)
	}
	resp.StatusCode, resp.Status, resp.Header = a.Status, strconv.Itoa(a.Status)+" "+http.StatusText(a.Status), h
	resp.Body, resp.ContentLength, resp.Trailer = io.NopCloser(bytes.NewReader(a.Body)), int64(len(a.Body)), nil
}

// gone is the status of a call whose client has left, for the metrics alone.
const gone = 499

// fail answers a call that the provider did not.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	c := callOf(r.Context())
	var timeout net.Error
	late := errors.As(err, &timeout) && timeout.Timeout()
	switch {
	case errors.Is(context.Cause(r.Context()), errStopping):
		refuse(w, r, http.StatusServiceUnavailable, "This gateway is being stopped; try again.")
		return
	case errors.Is(err, errBody) && late: // for the server, the client has gone then
		refuse(w, r, http.StatusRequestTimeout, "The body of the request did not come in time.")
		return
	case r.Context().Err() != nil, errors.Is(err, io.ErrUnexpectedEOF) && errors.Is(err, errBody):
		w.WriteHeader(gone)
		return
	case errors.Is(err, errBody):
		refuse(w, r, http.StatusBadRequest, "The body of the request cannot be read.")
		return
	case errors.Is(err, errUpgrade):
		refuse(w, r, http.StatusBadGateway, "The provider of connection "+c.to.ID+" answers in another protocol.")
	case late:
		refuse(w, r, http.StatusGatewayTimeout, "The provider of connection "+c.to.ID+" did not answer in time.")
	default:
		refuse(w, r, http.StatusBadGateway, "The provider of connection "+c.to.ID+" cannot be reached.")
	}
	g.log.Warn("a provider did not answer", "connection", c.to.ID, "path", c.api.String(), "err", err)
}

// refuse answers in the client's own words.
func refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	a := dialect.Refusal{Status: status, Message: message}.In(voice(r))
	for _, f := range a.Header {
		w.Header().Set(f.Name, f.Value)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // a client that is gone does not read it
}

// buffers keeps the buffers that bodies are copied through.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
