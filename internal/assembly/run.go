package assembly

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/ingest/intake"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/tokens"
	"github.com/quotashare/quotashare/web"
	"github.com/quotashare/quotashare/wire"
)

// stopWithin bounds a clean end: HTTP answers in progress get most of it.
const (
	stopWithin = 5 * time.Second
	httpWithin = 2 * time.Second
)

var errSlow = fmt.Errorf("not everything stopped within %s", stopWithin)

// Parts says what a process is made of.
type Parts struct {
	Name    string // of the program, as the broker shows it
	OwnsLog bool   // it makes the streams, and may run the server
	Decides bool   // it folds and answers; else it only takes events
}

// run is one process.
type run struct {
	parts   Parts
	cfg     config.Config
	log     *slog.Logger
	started func(Listening)

	certificates map[config.KeyPair]*program.Certificate // that are open
}

// Run runs the parts until ctx ends. It calls started once, when everything
// listens; the decider may still be catching up.
func Run(ctx context.Context, parts Parts, cfg config.Config, log *slog.Logger, started func(Listening)) error {
	r := &run{parts: parts, cfg: cfg, log: log, started: started}
	done := make(chan error, 1)
	go func() { done <- r.live(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		log.Info("stopping")
	}
	select {
	case err := <-done:
		log.Info("stopped")
		return err
	case <-time.After(stopWithin):
		return errSlow
	}
}

// live starts the parts, waits, and stops them. The HTTP door is open from the
// start and says what is missing, because the log may take long to answer; the
// log is closed last, when the answers in progress are given.
func (r *run) live(ctx context.Context) error {
	listener, err := listen(r.cfg.HTTPAddr)
	if err != nil {
		return err
	}
	secured, err := r.secured(listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	d, l := newDoor(), (*logOf)(nil)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serve(gctx, secured, httpapi.NewServer(d, r.log)) })
	g.Go(func() (err error) {
		if l, err = r.openLog(gctx); err == nil {
			return r.follow(gctx, listener, l, d)
		}
		if gctx.Err() != nil {
			return nil // told to stop while it waited
		}
		return err
	})
	err = g.Wait()
	if l != nil {
		err = errors.Join(err, l.close())
	}
	return err
}

// follow puts the engine between the log and the door, until ctx ends.
func (r *run) follow(ctx context.Context, listener net.Listener, l *logOf, d *door) error {
	settings, err := settingsOf(r.cfg.Given)
	if err != nil {
		return err
	}
	engine, err := decider.New(decider.Options{
		Conn: l.conn, Dir: filepath.Join(r.cfg.DataDir, "state"), Version: program.Version, PurgeAge: r.purgeAge(),
		Settings: settings, Log: r.log, Login: r.login(),
		SnapshotDir: filepath.Join(r.cfg.DataDir, "snapshots"), SnapshotInterval: r.cfg.SnapshotInterval, SnapshotKeep: r.cfg.SnapshotKeep,
	})
	if err != nil {
		return err
	}
	if l.intake, err = r.openIntake(l); err != nil {
		return err
	}
	handler, err := r.handler(engine, l)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	if r.parts.Decides {
		g.Go(func() error { return engine.Run(gctx) })
	}
	g.Go(func() error { return watch(gctx, l.failed()) })
	g.Go(func() error { return l.intake.Run(gctx) })
	if l.reach != nil {
		g.Go(func() error { return unlessEnded(gctx, l.reach(gctx)) })
	}
	d.lead(handler)
	r.started(r.listening(listener, l))
	return g.Wait()
}

// login is the name of who we are to somebody else's log.
func (r *run) login() string {
	other := r.other()
	return other.Login()
}

// unlessEnded is the error of what was not told to end.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// openIntake opens what takes events. Only a log that others have a part in is away while
// this process is not.
func (r *run) openIntake(l *logOf) (*intake.Intake, error) {
	o := intake.Options{Conn: l.conn, Logger: r.log}
	if !l.alone {
		o.SpoolDir = filepath.Join(r.cfg.DataDir, "spool")
	}
	return intake.Open(o)
}

// watch returns what is fatal to the embedded server; a process without its log
// ends, so that whoever runs it notices.
func watch(ctx context.Context, failed <-chan error) error {
	select {
	case err := <-failed:
		if errors.Is(err, ingest.ErrSameName) {
			err = program.Hint(err, "give each node a name of its own with --server-name or %s, and keep it: what the node stores belongs to its name",
				config.Variable("server-name"))
		}
		return err
	case <-ctx.Done():
		return nil
	}
}

// settingsOf reads the given settings as the log's own document has them, so
// that one place knows their ranges.
func settingsOf(given []config.Setting) (plans.Settings, error) {
	values := make([]wire.Field, len(given))
	for i, g := range given {
		values[i] = wire.Field{Name: g.Name, Value: wire.Value{Kind: wire.Object, Fields: []wire.Field{
			{Name: "value", Value: wire.Value{Kind: wire.Number, Text: g.Value}},
			{Name: "source", Value: wire.Value{Kind: wire.String, Text: plans.Environment.String()}},
		}}}
	}
	settings, faults := plans.ParseSettings(wire.Value{Kind: wire.Object, Fields: []wire.Field{
		{Name: "values", Value: wire.Value{Kind: wire.Object, Fields: values}},
	}})
	return settings, faults.Err()
}

// purgeAge is the age below which usage is still in the log.
func (r *run) purgeAge() time.Duration {
	return max(decider.DefaultPurgeAge, time.Duration(r.cfg.ConsumptionRetentionDays)*24*time.Hour)
}

func (r *run) natsLoopback() bool {
	host, _, err := net.SplitHostPort(r.cfg.NATSAddr)
	return err == nil && config.Loopback(host)
}

func (r *run) listening(listener net.Listener, l *logOf) Listening {
	at := l.conn.ConnectedUrlRedacted()
	if at == "" { // it is away
		at = program.WithoutSecrets(r.cfg.StoreNATSURL)
	}
	shown := Listening{
		NATS: at, DataDir: r.cfg.DataDir, HTTPCert: r.cfg.HTTPTLS.Cert, Own: l.server != nil,
		Token: r.cfg.APIToken != "" || r.cfg.TokensFile != "", Decides: r.parts.Decides,
	}
	shown.HTTP, shown.HTTPAll = dialable(r.scheme() + listener.Addr().String())
	if shown.Own {
		shown.NATS, shown.NATSAll = dialable(at)
		shown.NATSCert = r.cfg.NATSTLS.Cert
	}
	return shown
}

// listen takes the HTTP address before anything is started, because a port in
// use is the likeliest thing to go wrong.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, program.Hint(
			fmt.Errorf("http address %s: address already in use", addr),
			"another server listens there; stop it, or set %s to another address", config.Variable("http-addr"),
		)
	case err != nil:
		return nil, fmt.Errorf("http address %s: %w", addr, err)
	}
	return l, nil
}

// secured is the listener behind TLS, if there is to be any.
func (r *run) secured(l net.Listener) (net.Listener, error) {
	t, err := r.serverTLS(r.cfg.HTTPTLS)
	if err != nil || t == nil {
		return l, err
	}
	t.NextProtos = []string{"h2", "http/1.1"}
	return tls.NewListener(l, t), nil
}

func (r *run) scheme() string {
	if r.cfg.HTTPTLS.Given() {
		return "https://"
	}
	return "http://"
}

// handler is the HTTP door, with metrics of its own: two processes of this kind
// may live in one test.
func (r *run) handler(engine *decider.Engine, l *logOf) (http.Handler, error) {
	registry, err := r.registry(engine, l)
	if err != nil {
		return nil, err
	}
	others, err := r.tokens()
	if err != nil {
		return nil, err
	}
	c := httpapi.Config{
		Engine: engine, Publisher: l.intake, Version: program.Version, Token: r.cfg.APIToken, Tokens: others, Hosts: r.cfg.HTTPHosts, Registry: registry, Log: r.log,
	}
	if !r.parts.Decides {
		c.Engine = front{engine, l.server}
		h, err := httpapi.New(c)
		return eventsOnly(h), err
	}
	pages, err := web.New(web.Built())
	if err != nil {
		return nil, err
	}
	c.Pages = pages
	return httpapi.New(c)
}

// longToken is the length from which on a token that a person chose is taken for a
// random one.
const longToken = 16

// tokens opens the file of them, if there is to be one.
func (r *run) tokens() (*tokens.File, error) {
	host, _, err := net.SplitHostPort(r.cfg.HTTPAddr)
	if n := len(r.cfg.APIToken); err == nil && !config.Loopback(host) && n > 0 && n < longToken {
		r.log.Warn("the API token is short, and other machines may guess it: set a long random one, or use quotashare tokens add", "set", config.Variable("api-token"))
	}
	if r.cfg.TokensFile == "" {
		return nil, nil
	}
	return tokens.Open(r.cfg.TokensFile, r.log)
}

// serve answers until ctx ends, and lets answers in progress finish.
func serve(ctx context.Context, l net.Listener, s *http.Server) error {
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("http: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), httpWithin)
	defer cancel()
	err := s.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close() // somebody streams; what was acknowledged is stored
	}
	<-ended
	return err
}
