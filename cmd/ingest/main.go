// Command ingest owns the log: it runs the embedded NATS server or prepares
// somebody else's, and takes events over HTTP. Deciders follow its log.
package main

import (
	"context"
	"os"

	"github.com/alecthomas/kong"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/assembly"
	"github.com/quotashare/quotashare/internal/program"
)

// httpAddr lets a decider on the same machine have its own default.
const httpAddr = "127.0.0.1:8481"

func main() {
	ctx, stop := program.Signals()
	code := run(ctx, program.System("ingest"))
	stop()
	os.Exit(code)
}

type cli struct {
	config.Text `embed:"" group:"Configuration"`

	Version kong.VersionFlag `help:"Print the version."`
}

// run is the whole program.
func run(ctx context.Context, p program.Process) int {
	var c cli
	if _, err := p.Parse(&c, "Own the log: take events over NATS and HTTP ("+httpAddr+"), and keep them."); err != nil {
		return program.Report(p.Stderr, p.Name, err)
	}
	base := config.Default()
	base.HTTPAddr = httpAddr
	cfg, err := c.Parse(base)
	if err != nil {
		return program.Report(p.Stderr, p.Name, err)
	}
	parts := assembly.Parts{Name: p.Name, OwnsLog: true}
	err = assembly.Run(ctx, parts, cfg, p.Logger(cfg.LogLevel), func(l assembly.Listening) { l.Print(p.Stdout) })
	return program.Report(p.Stderr, p.Name, err)
}
