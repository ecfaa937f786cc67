package main

import (
	"context"
	"fmt"
	"io"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/assembly"
	"github.com/quotashare/quotashare/internal/program"
)

type upCmd struct {
	config.Text `embed:"" group:"Configuration"`
}

func (c *upCmd) run(ctx context.Context, p program.Process) error {
	cfg, err := c.Parse(config.Default())
	if err != nil {
		return err
	}
	parts := assembly.Parts{Name: p.Name, OwnsLog: true, Decides: true}
	return assembly.Run(ctx, parts, cfg, p.Logger(cfg.LogLevel), func(l assembly.Listening) { greet(p.Stdout, l) })
}

// greet says where everything is and what to try, with commands that work as
// they are in another terminal.
func greet(w io.Writer, l assembly.Listening) {
	fmt.Fprint(w, "quotashare is up.\n\n")
	l.Print(w)
	fmt.Fprintf(w, `
Try, in another terminal:

  curl %[1]s/api/quota/events -H 'content-type: application/json'%[3]s \
    -d '{"apiKeyId":"alice","connectionId":"demo","cost":{"tokens":1200}}'

  bin/quotashare decide alice --connection demo %[2]s

Or watch four keys share an account, for half a minute:

  bin/quotashare demo %[2]s %[4]s

README.md goes on from there. Ctrl-C stops; what was acknowledged stays.
`, l.HTTP, httpFlags(l), curlFlags(l), natsFlags(l))
}

// curlFlags is how curl is let in.
func curlFlags(l assembly.Listening) (flags string) {
	if l.HTTPCert != "" {
		flags = " --cacert " + l.HTTPCert
	}
	if l.Token {
		flags += " -H \"authorization: Bearer $" + config.Variable("api-token") + "\""
	}
	return flags
}

// httpFlags is how a command is told where the API is.
func httpFlags(l assembly.Listening) string {
	flags := "--http-addr " + l.HTTPAddr()
	if l.HTTPCert != "" {
		flags += " --http-cert " + l.HTTPCert
	}
	return flags
}

// natsFlags is how a command is told where the log is.
func natsFlags(l assembly.Listening) string {
	switch {
	case !l.Own:
		return "--store-nats-url " + l.NATS
	case l.NATSCert != "":
		return "--nats-addr " + l.NATSAddr() + " --nats-ca " + l.NATSCert
	}
	return "--nats-addr " + l.NATSAddr()
}
