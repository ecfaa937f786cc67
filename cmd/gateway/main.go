// Command gateway is a reverse proxy for the clients of OpenAI and Anthropic that asks
// the quota engine before each call, and publishes after it what the call used.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/gateway"
	"github.com/quotashare/quotashare/ingest/spool"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/internal/vitals"
	"github.com/quotashare/quotashare/keyfile"
	"github.com/quotashare/quotashare/wire"
)

// spoolName is where in the data directory usage is kept while the log is away. An engine
// that has the same directory keeps what it takes itself under another name.
const spoolName = "gateway-spool"

// A clean end: calls in progress get most of the half minute that whoever stops a
// process usually leaves it, and what was published gets the rest.
const (
	drainWithin = 20 * time.Second
	flushWithin = 5 * time.Second
)

func main() {
	ctx, stop := program.Signals()
	code := run(ctx, program.System("gateway"))
	stop()
	os.Exit(code)
}

type cli struct {
	config.GatewayText `embed:"" group:"Configuration"`

	Version kong.VersionFlag `help:"Print the version."`
}

// run is the whole program.
func run(ctx context.Context, p program.Process) int {
	var c cli
	if _, err := p.Parse(&c, "Pass calls of OpenAI's and Anthropic's clients on to providers, as far as the quota allows."); err != nil {
		return program.Report(p.Stderr, p.Name, err)
	}
	cfg, connections, err := configure(c.GatewayText, p.Getenv)
	if err != nil {
		return program.Report(p.Stderr, p.Name, err)
	}
	said := p.Logger(cfg.LogLevel)
	defer hush(said)()
	dir := filepath.Join(cmp.Or(c.DataDir, config.Default().DataDir), spoolName)
	return program.Report(p.Stderr, p.Name, serve(ctx, cfg, dir, connections, said, p.Stdout))
}

// hush keeps to itself what libraries say through the process's logger until restore is
// called: net/http quotes there what a provider sends unasked, which has no level and
// may have a secret in it.
func hush(said *slog.Logger) (restore func()) {
	before := log.Writer()
	log.SetOutput(unsaid{said})
	return func() { log.SetOutput(before) }
}

// unsaid takes lines, and tells only that there was one.
type unsaid struct{ log *slog.Logger }

// Write implements io.Writer.
func (u unsaid) Write(line []byte) (int, error) {
	u.log.Debug("a library says something that is not repeated here: it may quote a provider", "bytes", len(line))
	return len(line), nil
}

// configure reads everything and says all that is wrong with it.
func configure(t config.GatewayText, getenv func(string) string) (config.Gateway, gateway.Config, error) {
	cfg, err := t.Parse(config.DefaultGateway(client.DefaultTimeout))
	var faults config.Faults
	if err != nil && !errors.As(err, &faults) {
		return cfg, gateway.Config{}, err
	}
	flag, text := "gateway-connections", []byte(cfg.Connections)
	if cfg.File != "" {
		flag = "gateway-config"
		if text, err = os.ReadFile(cfg.File); err != nil {
			return cfg, gateway.Config{}, append(faults, config.Fault{Flag: flag, Problem: "cannot be read: " + err.Error()})
		}
	}
	var connections gateway.Config
	if cfg.File != "" || cfg.Connections != "" { // else it is a fault already that there are none
		connections, err = gateway.ParseConfig(text, getenv)
		faults = append(faults, faultsOf(flag, cfg.File, err)...)
	}
	if len(faults) > 0 {
		return cfg, connections, faults
	}
	return cfg, connections, nil
}

// faultsOf are the faults of a document as those of the flag that named it. A line and
// a column are shown with their file.
func faultsOf(flag, file string, err error) (all config.Faults) {
	var faults wire.Faults
	switch {
	case err == nil:
	case errors.As(err, &faults):
		for _, f := range faults {
			all = append(all, config.Fault{Flag: flag, Problem: f.Error()})
		}
	default:
		all = config.Faults{{Flag: flag, Value: file, Problem: err.Error()}}
	}
	return all
}

// listen opens the port. With a certificate it speaks TLS.
func listen(cfg config.Gateway, log *slog.Logger) (l net.Listener, url string, err error) {
	var certificate *program.Certificate
	if cfg.HTTPTLS.Given() {
		if certificate, err = program.OpenCertificate(cfg.HTTPTLS.Cert, cfg.HTTPTLS.Key, log); err != nil {
			return nil, "", err
		}
	}
	l, err = net.Listen("tcp", cfg.HTTPAddr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, "", program.Hint(err, "another server listens there, maybe the engine, whose address %s is too; stop it, or name another address with --http-addr",
			config.Variable("http-addr"))
	case err != nil:
		return nil, "", err
	case certificate == nil:
		return l, "http://" + l.Addr().String(), nil
	}
	t := certificate.Server()
	t.NextProtos = []string{"http/1.1"} // as without TLS; HTTP/2 is for who has many streams on one connection
	return tls.NewListener(l, t), "https://" + l.Addr().String(), nil
}

// connect makes the client of the engine.
func connect(cfg config.Gateway, dir string, log *slog.Logger) (*client.Client, error) {
	o := client.Options{
		URL: cfg.StoreNATSURL, User: cfg.StoreNATSUser, CA: cfg.NATSCA, Name: "quotashare-gateway",
		Timeout: cfg.Timeout, FailClosed: cfg.FailClosed, SpoolDir: dir, Logger: log,
	}
	if o.User == "" {
		o.Token = cfg.APIToken // what an engine asks for that has no users
	}
	c, err := client.New(o)
	switch {
	case errors.Is(err, spool.ErrInUse):
		err = program.Hint(err, "another gateway has that directory: name one of its own with %s, and the clients' tokens with %s",
			config.Variable("data-dir"), config.Variable("keys-file"))
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		err = program.Hint(err, "usage of calls is kept there while the log is away: make it writable, or name another directory with %s", config.Variable("data-dir"))
	}
	return c, err
}

// serve is the gateway from its first connection to its last event.
func serve(ctx context.Context, cfg config.Gateway, dir string, connections gateway.Config, log *slog.Logger, out io.Writer) (err error) {
	l, url, err := listen(cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unused(l.Close())) }()
	keys, err := keyfile.Open(cfg.KeysFile, log)
	if err != nil {
		return err
	}
	c, err := connect(cfg, dir, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flush(ctx, c)) }()
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		vitals.New(vitals.Options{Program: "gateway", Version: program.Version, Connected: c.Connected}),
	)
	g, err := gateway.New(gateway.Options{
		Client: c, Config: connections, Keys: keys, Token: cfg.APIToken, MaxWait: cfg.MaxWait, Registry: registry, Log: log,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  HTTP   %s  for OpenAI's and Anthropic's clients\n", url)
	return g.Serve(ctx, l, drainWithin)
}

// unused leaves out that a server has closed its listener already.
func unused(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// flush brings into the log what was published.
func flush(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
	defer cancel()
	return c.Close(ctx)
}
