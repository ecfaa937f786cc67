package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quotashare/quotashare/schemas"
	"github.com/quotashare/quotashare/tokens"
)

// Config is what New needs.
type Config struct {
	Engine Engine
	// Publisher takes the events.
	Publisher Publisher
	// Version is that of the program, for the OpenAPI document.
	Version string
	// Token is that of an admin, "" = none; Tokens has those of others, nil = none.
	// With either, one is asked for on every path but /healthz, /readyz and that of
	// the session.
	Token  string
	Tokens *tokens.File
	// Hosts are the names, beside the loopback ones, that callers may call this
	// server by; a port is ignored.
	Hosts []string
	// Registry takes this package's metrics and is served on /metrics.
	Registry *prometheus.Registry
	// SpoolDir is where the answer of a long stream waits for its reader, in
	// files without names; "" = the system's directory for such.
	SpoolDir string
	// Pages are what browsers are shown: GET and HEAD of "/", of "/icon.svg" and
	// of what is below "/assets/" go there, and no token is asked for. Nil = none.
	Pages http.Handler
	Log   *slog.Logger
}

// Bounds of time. Those of reading and writing hold for every request but a
// stream of NDJSON, which renews them as it goes.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 90 * time.Second
	idleTimeout   = 2 * time.Minute
	// streamIdle is how long a stream of NDJSON may be silent, and how long its
	// client may leave the answer unread.
	streamIdle = 2 * time.Minute
	// stateWait is how long GET /api/quota/state waits for minSeq.
	stateWait = 10 * time.Second

	maxHeader = 64 << 10 // bytes of all headers of one request
)

// api is the handler of New.
type api struct {
	document   []byte // OpenAPI, as it is served
	async      []byte // AsyncAPI
	engine     Engine
	publisher  Publisher
	guard      *guard
	log        *slog.Logger
	metrics    *metrics
	documents  room // for questions and configuration
	publishing room
	logins     room
	streams    streams
	reaching   chan struct{} // holds one while somebody's reach is worked out
	feed       *feed
	mux        *http.ServeMux
	pages      http.Handler
	spoolDir   string
	streamIdle time.Duration
	atOnce     time.Duration
	tryAgain   time.Duration
	stateWait  time.Duration
}

// New returns the handler of the API. It errs when the registry has its metrics
// already.
func New(c Config) (http.Handler, error) {
	m, err := newMetrics(&c)
	if err != nil {
		return nil, err
	}
	document, err := openAPIDocument(c.Version)
	if err != nil {
		return nil, err
	}
	async, err := schemas.AsyncAPI(c.Version)
	if err != nil {
		return nil, err
	}
	f, err := newFeed(&c)
	if err != nil {
		return nil, err
	}
	a := &api{
		feed:     f,
		document: document, async: async, engine: c.Engine, publisher: c.Publisher, guard: newGuard(&c), log: c.Log, metrics: m,
		mux: http.NewServeMux(), pages: c.Pages, spoolDir: c.SpoolDir,
		streams: streams{most: maxStreams}, documents: room{most: maxRoom, body: maxBody}, publishing: room{most: maxRoom, body: maxBody}, logins: room{most: loginRoom, body: maxLogin}, reaching: make(chan struct{}, 1),
		streamIdle: streamIdle, atOnce: answerAtOnce, tryAgain: tryAgain, stateWait: stateWait,
	}
	a.routes(a.table(promhttp.HandlerFor(c.Registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
	})))
	return a, nil
}

// NewServer returns a server for h with bounds on headers and time. What
// net/http itself has to say goes to log.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// handler answers a request, or returns why not before it has written anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// route is one path with what its methods do.
type route struct {
	path    string // a pattern of ServeMux
	methods methods
}

// methods are what a path answers to.
type methods map[string]method

// method is who may call it, nobody until somebody is named, and what it does.
type method struct {
	who access
	do  handler
}

// table lists every path there is. The OpenAPI document has the same.
func (a *api) table(metricsPage http.Handler) []route {
	caughtUp := a.whenReady
	return []route{
		{"/{$}", methods{"GET": {everyRole, root}}},
		{"/healthz", methods{"GET": {anyone, alive}}},
		{"/readyz", methods{"GET": {anyone, caughtUp(alive)}}},
		{"/metrics", methods{"GET": {viewers, func(w http.ResponseWriter, r *http.Request) error {
			metricsPage.ServeHTTP(w, r)
			return nil
		}}}},
		{"/api/openapi.json", methods{"GET": {everyRole, a.openAPI}}},
		{"/api/asyncapi.json", methods{"GET": {everyRole, a.asyncAPI}}},
		{"/api/schemas/{file}", methods{"GET": {everyRole, oneSchema}}},
		{sessionPath, methods{"GET": {anyone, a.getSession}, "POST": {anyone, a.beginSession}, "DELETE": {anyone, a.endSession}}},
		{"/api/quota/pools", methods{"GET": {viewers, caughtUp(a.listPools)}, "POST": {admins, caughtUp(a.createPool)}}},
		{"/api/quota/pools/{id}", methods{
			"GET": {viewers, caughtUp(a.getPool)}, "PATCH": {admins, caughtUp(a.patchPool)}, "DELETE": {admins, caughtUp(a.deletePool)},
		}},
		{"/api/quota/pools/{id}/usage", methods{"GET": {owners, caughtUp(a.poolUsage)}}},
		{"/api/quota/pools/{id}/history", methods{"GET": {viewers, caughtUp(a.poolHistory)}}},
		{"/api/quota/reach", methods{"POST": {viewers, caughtUp(a.reach)}}},
		{"/api/quota/connections", methods{"GET": {viewers, caughtUp(a.listConnections)}}},
		{"/api/quota/keys", methods{"GET": {owners, caughtUp(a.listKeys)}}},
		{"/api/quota/plans", methods{"GET": {viewers, caughtUp(a.listPlans)}}},
		{"/api/quota/plans/{connectionId}", methods{
			"GET": {viewers, caughtUp(a.getPlan)}, "PUT": {admins, caughtUp(a.putPlan)}, "DELETE": {admins, caughtUp(a.deletePlan)},
		}},
		{"/api/quota/settings", methods{"GET": {viewers, caughtUp(a.getSettings)}, "PUT": {admins, caughtUp(a.putSettings)}}},
		{"/api/quota/decide", methods{"POST": {askers, caughtUp(a.decide)}}},
		{"/api/quota/route", methods{"POST": {askers, caughtUp(a.route)}}},
		{"/api/quota/preview", methods{"GET": {owners, caughtUp(a.preview)}}},
		{"/api/quota/release", methods{"POST": {releasers, a.release}}},
		{"/api/quota/explain", methods{"GET": {viewers, a.explain}}},
		{"/api/quota/whatif", methods{"POST": {viewers, a.whatIf}}},
		{"/api/quota/decisions", methods{"GET": {viewers, a.decisions}}},
		{"/api/quota/events", methods{"POST": {publishers, a.ingest}}},
		{"/api/quota/state", methods{"GET": {viewers, a.state}}},
		{"/api/quota/snapshots", methods{"GET": {viewers, a.listSnapshots}, "POST": {admins, a.takeSnapshot}}},
		{"/api/quota/rejected", methods{"GET": {viewers, a.rejected}}},
		{"/api/quota/stream", methods{"GET": {viewers, a.watch}}},
		{"/api/quota/changes", methods{"GET": {viewers, caughtUp(a.changes)}}},
	}
}

// routes registers every path with its methods, and for each path the answer
// to other methods, which ServeMux would give as plain text.
func (a *api) routes(table []route) {
	for _, route := range table {
		var allow []string
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if m, ok := route.methods[method]; ok {
				a.handle(method+" "+route.path, m.who, m.do)
				allow = append(allow, method)
			}
		}
		a.handle(route.path, anyone, wrongMethod(allow))
	}
	a.handle("/", anyone, unknownPath)
}

func (a *api) handle(pattern string, who access, h handler) {
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		restore(r)
		err := who.check(callerOf(r))
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			a.refuse(w, r, err)
		}
	})
}

// ServeHTTP guards, routes, counts, and turns a panic into an answer.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w}
	end := a.metrics.begin()
	defer func() { end(r.Pattern, rec.status) }()
	defer func() {
		if p := recover(); p != nil {
			a.recovered(rec, r, p)
		}
	}()
	rec.Header().Set("X-Content-Type-Options", "nosniff")
	rec.Header().Set("Cache-Control", "no-store")
	if a.pages != nil && isPage(r) {
		a.page(rec, r)
		return
	}
	who, f := a.guard.check(r)
	if f != nil {
		a.refuse(rec, r, f)
		return
	}
	// ServeMux would redirect these, to a path that the caller did not mean.
	if p := r.URL.EscapedPath(); p != path.Clean(p) && p != path.Clean(p)+"/" {
		a.refuse(rec, r, unknownPath(rec, r))
		return
	}
	r = withCaller(routable(r), who)
	a.mux.ServeHTTP(rec, r)
}

// refuse writes the answer to an error. What nobody foresaw is logged: the
// caller learns nothing of it.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := faultOf(err)
	if f == nil {
		a.log.Error("http request failed", "method", r.Method, "path", r.URL.Path, "err", err)
		f = internal()
	}
	if f.status != http.StatusRequestTimeout {
		drain(w, r)
	}
	f.write(w)
}

// recovered logs a panic once and answers 500 if no answer has begun; one that
// has begun is cut off, so that half of it is not taken for the whole.
func (a *api) recovered(rec *recorder, r *http.Request, p any) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	a.log.Error("http handler panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	if rec.status != 0 {
		panic(http.ErrAbortHandler)
	}
	internal().write(rec)
}

// recorder remembers the status of an answer, 0 while none has begun.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader remembers the first final status.
func (rec *recorder) WriteHeader(status int) {
	if rec.status == 0 && status >= 200 {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write begins an answer of 200 when none has begun.
func (rec *recorder) Write(p []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	return rec.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

func wrongMethod(allow []string) handler {
	return func(_ http.ResponseWriter, r *http.Request) error {
		return &fault{
			status: http.StatusMethodNotAllowed, kind: "invalid_request_error", code: "method-not-allowed",
			message: "method: " + quote(r.Method) + " does nothing here: use " + strings.Join(allow, " or "),
			allow:   strings.Join(allow, ", "),
		}
	}
}

func unknownPath(_ http.ResponseWriter, r *http.Request) error {
	return notFound("path: " + quote(r.URL.EscapedPath()) + " is nothing here: GET / says what is")
}

// whenReady answers 503 until the fold has caught up: what it would say before
// is an old state, as if it were the present one.
func (a *api) whenReady(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !a.engine.Ready() {
			if e, ok := a.engine.(HeldUp); ok && e.HeldUp() != nil {
				return unavailable("not-ready", e.HeldUp().Error())
			}
			return unavailable("not-ready", "the engine has not caught up with the log yet: try again, GET /api/quota/state shows how far it is")
		}
		return h(w, r)
	}
}
