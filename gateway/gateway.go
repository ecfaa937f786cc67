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
	"github.com/quotashare/quotashare/plans"
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
	// MaxWait is how long a call may wait for room when the connections that would do
	// have as many calls as they take; 0 = not at all.
	MaxWait time.Duration
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
	maxWait     time.Duration
	readWithin  time.Duration
	restWithin  time.Duration
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
	g := &Gateway{client: o.Client, connections: connections, keys: o.Keys, log: o.Log, transport: o.Transport, maxWait: o.MaxWait, readWithin: readTimeout, restWithin: restTimeout}
	for _, c := range connections {
		c.secret.said = func(id string, err error) {
			o.Log.Warn("a credential cannot be read; the last one is used", "connection", id, "err", err)
		}
		warnOfProvider(c, o.Log)
	}
	var err error
	if g.metrics, err = newMetrics(o.Registry, o.Client); err != nil {
		return nil, err
	}
	g.proxy = g.newProxy()
	g.pages = g.newPages(&o)
	return g, nil
}

// warnOfProvider warns of a provider that may be misspelt. It is no fault: who has
// another one gives its connections plans of their own.
func warnOfProvider(c *connection, log *slog.Logger) {
	if plans.KnownProvider(c.Provider) {
		return
	}
	var names []string
	for _, p := range plans.Providers() {
		names = append(append(names, p.Name), p.Aliases...)
	}
	log.Warn("the catalogue has no such provider; if it is misspelt, put it right, else give the connection a plan, or nothing limits it",
		"connection", c.ID, "provider", c.Provider, "catalogue", strings.Join(names, ", "))
}

// call is a request that has somewhere to go.
type call struct {
	api dialect.API
	key string
	to  *connection // where it goes; until the engine has chosen, the first that would do
	// others are connections that would do as well.
	others []string
	// credential is the one it was sent with; "" = it was not sent.
	credential string
	// known is called once it is known whether it may go on; nil when it was, or when
	// that is not asked.
	known func()
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
	key, problem := g.keyOf(r)
	if problem != "" {
		g.reject(rec, r, http.StatusUnauthorized, problem)
		return
	}
	to, problem := g.choose(api, r)
	if problem != "" {
		g.reject(rec, r, http.StatusNotFound, problem)
		return
	}
	c := &call{api: api, key: key, to: to[0]}
	for _, other := range to[1:] {
		c.others = append(c.others, other.ID)
	}
	g.proxy.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
}

// keyOf returns the key whose token the request has, or why it has none. The token is
// in either of the headers that clients know: Claude Code sends both when a helper
// gives it the token.
func (g *Gateway) keyOf(r *http.Request) (id, problem string) {
	authorization, apiKey := r.Header.Get("Authorization"), r.Header.Get("X-Api-Key")
	scheme, bearer, _ := strings.Cut(authorization, " ")
	if bearer = strings.TrimSpace(bearer); !strings.EqualFold(scheme, "Bearer") {
		bearer = ""
	}
	for _, token := range []string{bearer, apiKey} {
		if token == "" {
			continue
		}
		if id, ok := g.keys.KeyID(token); ok {
			return id, ""
		}
	}
	return "", noKey(authorization, bearer, apiKey)
}

// noKey says why a request has no key, and nothing of what it has.
func noKey(authorization, bearer, apiKey string) string {
	const send = `send "Authorization: Bearer qs-..." or "x-api-key: qs-..."; "quotashare keys issue" makes a token.`
	switch {
	case bearer != "" && apiKey != "":
		return "No key has the token in Authorization, nor the one in x-api-key: " + send
	case bearer != "":
		return "No key has the token in Authorization: " + send
	case apiKey != "":
		return "No key has the token in x-api-key: " + send
	case authorization != "":
		return `The Authorization header is not "Bearer" and a token: ` + send
	}
	return "The request has no token: " + send
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
