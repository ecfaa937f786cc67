// Command decider follows a running log and answers questions from it: over
// NATS, in the queue group of all deciders, and over HTTP.
package main

import (
	"context"
	"os"

	"github.com/alecthomas/kong"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/assembly"
	"github.com/quotashare/quotashare/internal/program"
)

func main() {
	ctx, stop := program.Signals()
	code := run(ctx, program.System("decider"))
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
	if _, err := p.Parse(&c, "Follow a running log, and answer what a key may use. Any number of deciders share the questions."); err != nil {
		return program.Report(p.Stderr, p.Name, err)
	}
	base := config.Default()
	base.StoreDriver, base.LogElsewhere = config.NATS, true
	cfg, err := c.Parse(base)
	if err != nil {
		return program.Report(p.Stderr, p.Name, err)
	}
	parts := assembly.Parts{Name: p.Name, Decides: true}
	err = assembly.Run(ctx, parts, cfg, p.Logger(cfg.LogLevel), func(l assembly.Listening) { l.Print(p.Stdout) })
	return program.Report(p.Stderr, p.Name, err)
}
