package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/dialect"
)

// Keys knows whose a client's token is, as *keyfile.File does.
type Keys interface {
	KeyID(token string) (id string, ok bool)
}

// Options are what a gateway is made of. Client, Config and Keys are needed.
type Options struct {
	Client    *client.Client // stays the caller's, who closes it after the gateway
	Config    Config
	Keys      Keys
	Token     string               // shows /metrics to peers on other machines; "" = to none
	Transport http.RoundTripper    // to providers; nil = NewTransport()
	Registry  *prometheus.Registry // nil = one of its own
	Log       *slog.Logger         // nil = the default logger
}

// Gateway is the proxy, as an http.Handler.
type Gateway struct {
	client      *client.Client
	connections []*connection
	keys        Keys
	log         *slog.Logger
	proxy       *httputil.ReverseProxy
	pages       map[string]http.Handler
	metrics     *metrics
	transport   http.RoundTripper
	readWithin  time.Duration
	calls       sync.WaitGroup // in progress
}

// New returns a gateway. An error is wire.Faults of Config, or of a registry that has a
// gateway already.
func New(o Options) (*Gateway, error) {
	connections, faults := o.Config.build()
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if o.Client == nil || o.Keys == nil {
		return nil, errors.New("options.Client and Keys must be set")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Transport == nil {
		o.Transport = NewTransport()
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	g := &Gateway{client: o.Client, connections: connections, keys: o.Keys, log: o.Log, transport: o.Transport, readWithin: readTimeout}
	for _, c := range connections {
		c.secret.said = func(id string, err error) {
			o.Log.Warn("a credential cannot be read; the last one is used", "connection", id, "err", err)
		}
	}
	var err error
	if g.metrics, err = newMetrics(o.Registry, o.Client); err != nil {
		return nil, err
	}
	g.proxy = g.newProxy()
	g.pages = g.newPages(&o)
	return g, nil
}

// call is a request that has somewhere to go.
type call struct {
	api dialect.API
	key string
	to  *connection
}

// callKey is the call's place in a context.
type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if page := g.pages[r.URL.Path]; page != nil {
		page.ServeHTTP(w, r)
		return
	}
	g.calls.Add(1)
	defer g.calls.Done()
	api := apiOf(r)
	rec := g.metrics.begin(w, api)
	defer rec.end()
	watch(r)
	key, ok := g.keyOf(r)
	if !ok {
		drain(r)
		refuse(rec, r, http.StatusUnauthorized, noKey)
		return
	}
	to, problem := g.choose(api, r)
	if problem != "" {
		drain(r)
		refuse(rec, r, http.StatusNotFound, problem)
		return
	}
	c := &call{api: api, key: key, to: to}
	g.proxy.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
}

const noKey = `No key has this token; ask for one with "quotashare keys issue".`

// keyOf returns the key whose token the request has, in either of the headers that
// clients know. Claude Code sends both when a helper gives it the token.
func (g *Gateway) keyOf(r *http.Request) (id string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		id, ok = g.keys.KeyID(strings.TrimSpace(token))
	}
	if token = r.Header.Get("X-Api-Key"); !ok && token != "" {
		id, ok = g.keys.KeyID(token)
	}
	return id, ok
}

// wait returns when no call is in progress any more, or with the error of ctx. None may
// begin meanwhile.
func (g *Gateway) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { g.calls.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
