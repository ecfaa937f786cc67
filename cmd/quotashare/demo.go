package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/demo"
	"github.com/quotashare/quotashare/internal/program"
)

type demoCmd struct {
	For    time.Duration `default:"30s" placeholder:"TIME" help:"How long it goes on, 5s to 10m (${default})."`
	Seed   uint64        `default:"1" placeholder:"N" help:"What the keys ask for follows from this (${default})."`
	broker `embed:"" group:"Configuration"`
	server `embed:"" group:"Configuration"`
}

// broker is how the commands that read or write the log themselves find it.
type broker struct {
	NatsAddr     string `placeholder:"ADDR" help:"Where its NATS server listens (127.0.0.1:4222)."`
	StoreNatsURL string `name:"store-nats-url" placeholder:"URL" help:"Or that server, when it is one of yours."`
	User         string `name:"store-nats-user" placeholder:"FILE" help:"Who we are there: a file with name:password, as quotashare nats-config makes it."`
	NatsCA       string `name:"nats-ca" placeholder:"FILE" help:"Certificates that the server's is checked with (the system's)."`
}

func (d *demoCmd) run(ctx context.Context, p program.Process) error {
	c, err := d.client()
	if err != nil {
		return err
	}
	if _, err := c.state(ctx, 0, false); err != nil {
		return unstarted(err, "http-addr")
	}
	nc, err := d.connect("quotashare demo", d.APIToken)
	if err != nil {
		return err
	}
	defer nc.Close()
	o := demo.Options{
		API: c.demoAPI, NATS: nc, For: d.For, Seed: d.Seed, Out: p.Stdout, Terminal: program.Terminal(p.Stdout),
		Log: program.Logger(p.Stderr, slog.LevelWarn), URL: c.base,
	}
	if d.HTTPAddr != "" {
		o.Flags = " --http-addr " + d.HTTPAddr
	}
	if d.APIToken != "" {
		o.Token = "Bearer $" + config.Variable("api-token")
	}
	return demo.Run(ctx, o, time.Now())
}

// unstarted is an engine that does not answer, to somebody who may just have cloned us.
func unstarted(err error, flag string) error {
	if errors.As(err, new(*refused)) {
		return err
	}
	return program.Hint(err, "start the engine with make run, in another terminal, or say where it is with --%s or %s", flag, config.Variable(flag))
}

// dialWithin is how long the broker has to answer.
const dialWithin = 5 * time.Second

// connect checks where the broker is with everything else that configuration is checked
// for. One of the engine's own may ask for the engine's token; to a server of somebody
// else it is not shown.
func (b *broker) connect(name, token string) (*nats.Conn, error) {
	to, err := b.at()
	if err != nil {
		return nil, err
	}
	if b.StoreNatsURL == "" && b.User == "" && token != "" {
		to.More = append(to.More, nats.Token(token))
	}
	options, err := to.Options()
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(to.URL, append(options, nats.Name(name), nats.Timeout(dialWithin), nats.MaxReconnects(-1))...)
	shown := program.WithoutSecrets(to.URL)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil, program.Hint(fmt.Errorf("%s does not let us in: %w", shown, err),
			"say who we are with --store-nats-user or %s, a file that quotashare nats-config makes", config.Variable("store-nats-user"))
	case untrusted(err):
		return nil, program.Hint(fmt.Errorf("%s shows a certificate that is not trusted: %w", shown, err),
			"%s", trust(err, "nats-ca"))
	case err != nil:
		return nil, unstarted(fmt.Errorf("nobody answers at %s: %w", shown, err), "nats-addr")
	}
	return nc, nil
}

// at is where the broker is.
func (b *broker) at() (to program.Broker, err error) {
	t := config.Text{NatsAddr: b.NatsAddr, StoreNatsURL: b.StoreNatsURL, APIToken: "unchecked"}
	if b.StoreNatsURL != "" {
		t.StoreDriver = config.NATS
	}
	cfg, err := t.Parse(config.Default())
	if err != nil {
		return to, err
	}
	to = program.Broker{URL: cfg.StoreNATSURL, User: b.User, CA: b.NatsCA}
	if to.URL == "" {
		addr, err := reachable(cfg.NATSAddr)
		if err != nil {
			return to, err
		}
		to.URL = "nats://" + addr
	}
	return to, nil
}

// demoAPI is how the demo speaks to the engine.
func (c *client) demoAPI(ctx context.Context, method, path string, h http.Header, body []byte) ([]byte, error) {
	answer, err := c.send(ctx, method, path, h, body)
	if r := new(refused); errors.As(err, &r) && r.Code == "not-found" {
		return nil, fmt.Errorf("%w: %w", demo.ErrNotFound, err)
	}
	return answer, err
}
