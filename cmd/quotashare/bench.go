package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/quotashare/quotashare/bench"
	"github.com/quotashare/quotashare/internal/program"
)

type benchCmd struct {
	Only  []string `placeholder:"NAME" help:"Measure only these, or those that begin so: ${measures}."`
	Quick bool     `help:"Take seconds in place of minutes: shows that it works, its figures say little."`
	Dir   string   `placeholder:"DIR" help:"Where the data lies meanwhile; nothing is left there."`
	JSON  bool     `name:"json" help:"Print JSON in place of a table."`
}

func (b *benchCmd) run(ctx context.Context, p program.Process) error {
	o := bench.Options{Quick: b.Quick, Only: b.Only, Dir: b.Dir, JSON: b.JSON, Auditor: auditor()}
	if program.Terminal(p.Stderr) {
		o.Progress = func(name string) { fmt.Fprintf(p.Stderr, "measuring %s\n", name) }
	}
	return bench.Main(ctx, o, p.Stdout)
}

// auditor folds a log with this program; nil when its file is not known.
func auditor() bench.Auditor {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return func(url, dir string) *exec.Cmd {
		return exec.Command(self, "replay", "--offline", "--store-nats-url", url, "--temp", dir)
	}
}

// measures are the names for the help.
func measures() string { return strings.Join(bench.Names(), ", ") }
