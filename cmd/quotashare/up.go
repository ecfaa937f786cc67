package main

import (
	"context"
	"fmt"
	"io"
	"strings"

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
	token := ""
	if l.Token {
		token = " -H \"authorization: Bearer $" + config.Variable("api-token") + "\""
	}
	fmt.Fprintf(w, `
Try, in another terminal:

  curl %[1]s/api/quota/events -H 'content-type: application/json'%[3]s \
    -d '{"apiKeyId":"alice","connectionId":"demo","cost":{"tokens":1200}}'

  bin/quotashare decide alice --connection demo --http-addr %[2]s

Or watch four keys share an account, for half a minute:

  bin/quotashare demo --http-addr %[2]s --%[4]s

README.md goes on from there. Ctrl-C stops; what was acknowledged stays.
`, l.HTTP, l.HTTP[len("http://"):], token, natsFlag(l))
}

// natsFlag is how a command is told where the log is.
func natsFlag(l assembly.Listening) string {
	if l.Own {
		return "nats-addr " + strings.TrimPrefix(l.NATS, "nats://")
	}
	return "store-nats-url " + l.NATS
}
