package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector/jetsource"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/wire"
)

type whatIfCmd struct {
	File        []string `short:"f" placeholder:"FILE" help:"Pools, plans and settings to try, YAML or JSON: the files that apply reads, or - for standard input. Several may be given."`
	WithoutPool []string `placeholder:"ID" help:"Try it without this pool. Several may be given."`
	Pool        []string `placeholder:"ID" help:"Try another --rule or --reserve of this pool, which stays as it was in all else. Several may be given."`
	Rule        string   `placeholder:"RULE" help:"How the pools of --pool share: threshold or guarantee."`
	Reserve     string   `placeholder:"PERCENT" help:"How much of its pace the rule guarantee keeps for a key, of the pools of --pool."`
	From        place    `placeholder:"PLACE" help:"Where the range begins: a sequence of the log, or a time (the last day)."`
	To          place    `placeholder:"PLACE" help:"Where it ends: a sequence of the log, or a time (the end of the log)."`
	Changed     bool     `help:"List only the keys for which something differs. The total is of all."`
	JSON        bool     `name:"json" help:"Print JSON in place of tables."`
	recording   `embed:""`
}

// Help is what the command's help adds.
func (c *whatIfCmd) Help() string { return whatIfCodes }

const whatIfCodes = `
Exit codes: 0 when there is a result; 1 when the files or the range are refused; 2 when the
command line is wrong; 3 when it could not be found out.`

// Validate refuses, for kong, what is nothing to try, or no range.
func (c *whatIfCmd) Validate() error {
	rule := c.Rule+c.Reserve != ""
	switch {
	case len(c.Pool) > 0 && !rule:
		return errors.New("--pool says nothing alone: name --rule or --reserve, or a file with -f")
	case rule && len(c.Pool) == 0:
		return errors.New("--rule and --reserve are of a pool: name it with --pool")
	case c.Rule != "" && c.Rule != "threshold" && c.Rule != "guarantee":
		return fmt.Errorf("--rule: %q is no rule: use threshold or guarantee", c.Rule)
	case !validReserve(c.Reserve):
		return fmt.Errorf("--reserve: %q is not a whole number of percent from 0 to 400", c.Reserve)
	case len(c.File)+len(c.WithoutPool)+len(c.Pool) == 0:
		return errors.New("nothing is tried: name a file with -f, as apply reads it, --without-pool, or --pool with --rule")
	}
	if at := slices.Index(c.File, "-"); at >= 0 && slices.Contains(c.File[at+1:], "-") {
		return errors.New("standard input is read once: name - once")
	}
	if c.To.before(c.From) {
		return fmt.Errorf("--to %s is before --from %s: swap them, or leave one out", c.To, c.From)
	}
	return nil
}

// validReserve reports whether it is what a pool may have, or not said. The trial's reader
// would refuse it too, by the name that its document has for it.
func validReserve(text string) bool {
	n, err := strconv.Atoi(text)
	return text == "" || err == nil && n >= 0 && n <= 400
}

func (c *whatIfCmd) run(ctx context.Context, p program.Process) (err error) {
	t, err := c.trial(ctx, p)
	if err != nil {
		return err
	}
	log, err := c.open(ctx, "whatif", p)
	if err != nil {
		return audited(err)
	}
	defer log.close()
	o := replay.WhatIfOptions{Options: log.Options}
	if o.Rows, err = livelog.NATSRows(log.conn, program.Logger(p.Stderr, slog.LevelWarn)); err != nil {
		return err
	}
	o.Part = onBothSides(&foldBar{w: p.Stderr, shown: program.Terminal(p.Stderr)})
	made, err := replay.WhatIf(ctx, o, t)
	switch {
	case errors.Is(err, jetsource.ErrAway), ctx.Err() != nil && err != nil:
		return audited(err)
	case err != nil:
		return err
	}
	c.hintOlder(p.Stderr, made.Replay.Missing > 0)
	if c.JSON {
		return show(p.Stdout, made.Append(nil))
	}
	return sayWhatIf(p.Stdout, made, c.Changed)
}

// onBothSides says how far a fold is that each side does for itself, in messages.
func onBothSides(bar *foldBar) func(done, all uint64) {
	return func(done, all uint64) {
		bar.last = all / whatif.NumSides
		bar.at(done / whatif.NumSides)
	}
}

// trial puts the files together as the body of POST /api/quota/whatif, so that one
// reader judges both.
func (c *whatIfCmd) trial(ctx context.Context, p program.Process) (*whatif.Trial, error) {
	var pools, plans []wire.Value
	var settings []wire.Field
	for _, name := range c.File {
		part, err := tried(ctx, name, p)
		if err != nil {
			return nil, err
		}
		pools, plans, settings = append(pools, part.pools...), append(plans, part.plans...), append(settings, part.settings...)
	}
	doc := wire.Value{Kind: wire.Object}
	add := func(name string, v wire.Value) { doc.Fields = append(doc.Fields, wire.Field{Name: name, Value: v}) }
	add("pools", wire.Value{Kind: wire.Array, Items: pools})
	add("plans", wire.Value{Kind: wire.Array, Items: plans})
	add("settings", wire.Value{Kind: wire.Object, Fields: settings})
	var without []wire.Value
	for _, id := range c.WithoutPool {
		without = append(without, wire.Value{Kind: wire.String, Text: id})
	}
	add("withoutPools", wire.Value{Kind: wire.Array, Items: without})
	add("rules", wire.Value{Kind: wire.Array, Items: c.rules()})
	for _, at := range [...]struct {
		name string
		at   place
	}{{"from", c.From}, {"to", c.To}} {
		if at.at != (place{}) {
			add(at.name, at.at.document())
		}
	}
	t, faults := whatif.Read(doc)
	return t, faults.Err()
}

// rules are the pools that share in another way.
func (c *whatIfCmd) rules() (list []wire.Value) {
	for _, id := range c.Pool {
		rule := wire.Value{Kind: wire.Object, Fields: []wire.Field{{Name: "poolId", Value: wire.Value{Kind: wire.String, Text: id}}}}
		if c.Rule != "" {
			rule.Fields = append(rule.Fields, wire.Field{Name: "rule", Value: wire.Value{Kind: wire.String, Text: c.Rule}})
		}
		if c.Reserve != "" { // as text: the reader takes a number in it
			rule.Fields = append(rule.Fields, wire.Field{Name: "reserve", Value: wire.Value{Kind: wire.String, Text: c.Reserve}})
		}
		list = append(list, rule)
	}
	return list
}

// document is the place in the form of the API.
func (l place) document() wire.Value {
	if l.ms != 0 {
		return wire.Value{Kind: wire.Number, Text: strconv.FormatInt(l.ms, 10)}
	}
	seq := wire.Value{Kind: wire.Number, Text: strconv.FormatUint(l.seq, 10)}
	return wire.Value{Kind: wire.Object, Fields: []wire.Field{{Name: "seq", Value: seq}}}
}

// triedDocuments are those of one file.
type triedDocuments struct {
	pools, plans []wire.Value
	settings     []wire.Field
}

// tried reads all sections of a file.
func tried(ctx context.Context, name string, p program.Process) (d triedDocuments, err error) {
	a := applying{File: name}
	file, err := a.parse(ctx, p)
	if err != nil {
		return d, err
	}
	if err := d.take(file); err != nil {
		return d, a.fault(err)
	}
	return d, nil
}

// take takes what the file has.
func (d *triedDocuments) take(file *configfile.File) (err error) {
	sections := file.Others("")
	if len(sections) == 0 {
		sections = []string{configfile.Pools} // a list alone, or one document
	}
	for _, s := range sections {
		switch s {
		case configfile.Pools:
			err = d.takePools(file)
		case configfile.Plans:
			err = d.takePlans(file)
		case configfile.Settings:
			err = d.takeSettings(file)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *triedDocuments) takePools(file *configfile.File) error {
	pools, err := file.Pools()
	if err != nil {
		return err
	}
	for _, p := range pools {
		doc, err := configfile.PoolDocument(p.Pool)
		if err != nil {
			return err
		}
		d.pools = append(d.pools, doc)
	}
	return nil
}

func (d *triedDocuments) takePlans(file *configfile.File) error {
	list, err := file.Plans()
	if err != nil {
		return err
	}
	for _, p := range list {
		doc, err := configfile.PlanDocument(p.ConnectionID, p.Dimensions)
		if err != nil {
			return err
		}
		d.plans = append(d.plans, doc)
	}
	return nil
}

// takeSettings finds the values that the file has, and those that it takes away: they
// are what becomes of settings of which none is stored, and of which all are.
func (d *triedDocuments) takeSettings(file *configfile.File) error {
	none := plans.DefaultSettings()
	all := none
	for i := range all {
		all[i].Origin = plans.Stored
	}
	given, err := file.Settings(none, false)
	if err != nil {
		return err
	}
	left, err := file.Settings(all, false)
	if err != nil {
		return err
	}
	for i := range plans.Setting(plans.NumSettings) {
		if given[i].Origin == plans.Stored || left[i].Origin != plans.Stored {
			d.settings = append(d.settings, field(i, given[i]))
		}
	}
	return nil
}
