// Command quotashare is the command line: it starts everything in one process,
// brings recorded traffic into a running engine, and asks it things.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/quotashare/quotashare/internal/program"
)

func main() {
	ctx, stop := program.Signals()
	code := run(ctx, program.System("quotashare"))
	stop()
	os.Exit(code)
}

// cli is the command line.
type cli struct {
	Up        upCmd        `cmd:"" help:"Start everything in one process: the log, the decider and the HTTP API."`
	Import    importCmd    `cmd:"" help:"Publish recorded traffic: a file of events, or an Azure trace."`
	Export    exportCmd    `cmd:"" help:"Write the usage of the log as events, one per line, as import reads them."`
	Decide    decideCmd    `cmd:"" help:"Ask whether a key may use a connection now."`
	Route     routeCmd     `cmd:"" help:"Ask which connection a key shall use, and hold it."`
	Release   releaseCmd   `cmd:"" help:"Give up requests that were held."`
	Pools     poolsCmd     `cmd:"" help:"List, show, apply, export and delete pools."`
	Plans     plansCmd     `cmd:"" help:"List, show, apply, export and delete the plans of connections."`
	Settings  settingsCmd  `cmd:"" help:"List, apply, export and delete settings."`
	Changes   changesCmd   `cmd:"" help:"List who changed pools, plans and settings, when and why."`
	Decisions decisionsCmd `cmd:"" help:"List what was answered: blocks, and a sample of the allows."`
	Explain   explainCmd   `cmd:"" help:"Say why an answer was what it was: rules, readings, holds, and the events of the consumption."`
	Seen      seenCmd      `cmd:"" help:"List the connections and the keys that events have named, to find misspelt ones."`
	Keys      keysCmd      `cmd:"" help:"Issue, list and revoke the tokens of a gateway's clients."`
	Tokens    tokensCmd    `cmd:"" help:"Add, list and remove the tokens of the API, each with a role."`
	Health    healthCmd    `cmd:"" help:"Say whether a program is ready, for those who look after it: without a token, and without a shell."`
	Users     natsUsersCmd `cmd:"" name:"nats-config" help:"Make users of the broker, each with the rights that it needs and a login."`
	State     stateCmd     `cmd:"" help:"Say how far the engine has folded the log."`
	Rejected  rejectedCmd  `cmd:"" help:"List the events that could not be folded, and why."`
	Snapshot  snapshotCmd  `cmd:"" help:"Take a snapshot of the state, or list those there are."`
	Replay    replayCmd    `cmd:"" help:"Fold the log again, and hold the engine and its snapshots to it."`
	Verify    verifyCmd    `cmd:"" help:"Derive recorded decisions and the verdicts on holds again, and list those that differ."`
	Whatif    whatIfCmd    `cmd:"" name:"whatif" help:"Say what a part of the history would have been under other pools, plans or settings."`
	Simulate  simulateCmd  `cmd:"" help:"Compare the rules of sharing: made-up or recorded traffic, judged by each of them."`
	Demo      demoCmd      `cmd:"" help:"Show sharing: four keys with different habits, through a gateway, on a running engine."`
	Bench     benchCmd     `cmd:"" help:"Measure the engine beside its bare parts, on this machine."`

	Version kong.VersionFlag `help:"Print the version."`
}

// command is what every command does.
type command interface {
	run(ctx context.Context, p program.Process) error
}

// run is the whole program.
func run(ctx context.Context, p program.Process) int {
	if len(p.Args) == 0 {
		p.Args = []string{"--help"}
	}
	for _, arg := range p.Args {
		if !utf8.ValidString(arg) {
			return program.Report(p.Stderr, p.Name, fmt.Errorf("the argument %q is not valid UTF-8: ids and texts must be", arg))
		}
	}
	var c cli
	k, err := p.Parse(&c, "Fair shares of one LLM provider account for many API keys.", kong.Vars{"measures": measures(), "scenarios": strings.Join(scenarioNames(), ", ")})
	if err != nil {
		return program.Report(p.Stderr, p.Name, misread(err, p))
	}
	picked, _ := k.Selected().Target.Addr().Interface().(command) // each is; a test runs them all
	return program.Report(p.Stderr, p.Name, cutShort(ctx, misconfigured(picked.run(ctx, p), p, k)))
}
