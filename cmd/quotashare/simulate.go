package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/lab"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

type simulateCmd struct {
	Scenario  []string    `placeholder:"NAME" help:"Only these: ${scenarios} (all; none when a trace or a history is named)."`
	Rule      []string    `placeholder:"RULE" help:"Only these: first-come, threshold, guarantee (all)."`
	Threshold []threshold `default:"0.5,0.8" placeholder:"PART" help:"Of threshold: from which part of the limit on shares are enforced, each (0.5,0.8)."`
	Reserve   []int64     `default:"50,100,200" placeholder:"PERCENT" help:"Of guarantee: how much of its pace is kept back for a key, each (50,100,200)."`
	Kind      []string    `placeholder:"KIND" help:"Only these: sliding, our own window, or anchored, the provider's cycle (both)."`
	Keys      []int       `default:"2,10,100" placeholder:"N" help:"Of lone: among how many keys, each (2,10,100)."`
	Pools     int         `default:"120" placeholder:"N" help:"Of random: how many pools (120)."`
	Seed      uint64      `default:"1" placeholder:"N" help:"Of chance: the same one gives the same figures (1)."`
	recorded  `embed:""`
	JSON      bool   `name:"json" help:"Print JSON in place of tables."`
	SVG       string `name:"svg" placeholder:"DIR" help:"Draw a picture of each scenario into this directory."`
}

// Help is what the command's help adds.
func (c *simulateCmd) Help() string { return simulateHelp }

const simulateHelp = `
Nobody is asked and nothing is kept: keys and requests are made up, or taken from a file, and judged by the
code that judges in an engine. docs/FAIRNESS.md says what the figures mean.

Exit codes: 0 when there is a result; 1 when a file cannot be read, or more was let pass than a limit
allows; 2 when the command line is wrong.`

// threshold is a flag that is a part of the limit.
type threshold quota.Ratio

var errPart = errors.New("is no part of the limit: use a number above 0 and at most 1, such as 0.5")

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *threshold) UnmarshalText(text []byte) error {
	r, err := quota.ParseRatio(string(text))
	if err != nil || r <= 0 || r > quota.RatioOne {
		return fmt.Errorf("%q %w", text, errPart)
	}
	*t = threshold(r)
	return nil
}

// random is the name of the scenario that is many pools.
const random = "random"

// scenarioNames are for the help and for errors.
func scenarioNames() []string {
	var all []string
	for _, s := range lab.Scenarios() {
		all = append(all, slug(s.Name))
	}
	return append(all, random)
}

// slug is a name as it is typed, and as files are named.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
}

var (
	ruleNames = []string{"first-come", plans.Threshold.String(), plans.Guarantee.String()}
	kindNames = []string{lab.Sliding.String(), lab.Anchored.String()}
)

// Most of what a run may be asked for: beyond that it takes hours, or a mistyped number.
const (
	mostPools = 10_000
	mostKeys  = lab.MostKeys
)

// mostReserve is the highest that a pool may have.
const mostReserve = 400

// Validate refuses, for kong, what there is not.
func (c *simulateCmd) Validate() error {
	for _, f := range []struct {
		flag        string
		given, have []string
	}{{"scenario", c.Scenario, scenarioNames()}, {"rule", c.Rule, ruleNames}, {"kind", c.Kind, kindNames}} {
		for _, name := range f.given {
			if !slices.Contains(f.have, name) {
				return fmt.Errorf("--%s: there is no %q: use %s", f.flag, name, strings.Join(f.have, ", "))
			}
		}
	}
	for _, r := range c.Reserve {
		if r < 0 || r > mostReserve {
			return fmt.Errorf("--reserve: %d is not from 0 to %d percent", r, mostReserve)
		}
	}
	for _, n := range c.Keys {
		if n < 1 || n > mostKeys {
			return fmt.Errorf("--keys: %d is not from 1 to %d", n, mostKeys)
		}
	}
	if c.Pools < 1 || c.Pools > mostPools {
		return fmt.Errorf("--pools: %d is not from 1 to %d", c.Pools, mostPools)
	}
	return c.recorded.validate()
}

func (c *simulateCmd) run(ctx context.Context, p program.Process) error {
	x := experiment{seed: c.Seed, rules: c.rules(), kinds: c.kinds()}
	if err := c.scenarios(ctx, &x, p); err != nil {
		return err
	}
	if err := c.makeDir(); err != nil {
		return err
	}
	bar := runsBar{w: p.Stderr, shown: program.Terminal(p.Stderr)}
	found, err := x.run(ctx, bar.at)
	bar.end()
	if err != nil {
		return err
	}
	files, err := c.draw(found)
	if err != nil {
		return err
	}
	if c.JSON {
		err = simulatedJSON(p.Stdout, c.Seed, found)
	} else {
		err = saySimulated(p.Stdout, found, files)
	}
	return errors.Join(err, overAdmitted(found))
}

// overAdmitted is the error of a result that must not be.
func overAdmitted(found []compared) error {
	for i := range found {
		b := &found[i]
		for _, r := range b.Rows {
			if r.Over > 0 {
				return fmt.Errorf("%s, %s, %s: more was let pass than the limit allows, %d times: please report this with its seed", b.Name, b.Kind, r.Rule.Name, r.Over)
			}
		}
	}
	return nil
}

// rules are those to compare.
func (c *simulateCmd) rules() (all []lab.Rule) {
	wanted := func(name string) bool { return len(c.Rule) == 0 || slices.Contains(c.Rule, name) }
	if wanted(ruleNames[0]) {
		all = append(all, lab.FirstCome())
	}
	if wanted(ruleNames[1]) {
		for _, t := range c.Threshold {
			all = append(all, lab.Threshold(quota.Ratio(t)))
		}
	}
	if wanted(ruleNames[2]) {
		for _, r := range c.Reserve {
			all = append(all, lab.Guarantee(r))
		}
	}
	return all
}

func (c *simulateCmd) kinds() (all []lab.Kind) {
	for _, k := range []lab.Kind{lab.Sliding, lab.Anchored} {
		if len(c.Kind) == 0 || slices.Contains(c.Kind, k.String()) {
			all = append(all, k)
		}
	}
	return all
}

// scenarios adds those that are asked for, the recorded ones last.
func (c *simulateCmd) scenarios(ctx context.Context, x *experiment, p program.Process) error {
	wanted := func(name string) bool {
		return slices.Contains(c.Scenario, name) || len(c.Scenario) == 0 && !c.recorded.any()
	}
	for _, s := range lab.Scenarios() {
		switch name := slug(s.Name); {
		case !wanted(name):
		case name == lone:
			for _, n := range c.Keys {
				x.scenarios = append(x.scenarios, loneAmong(n))
			}
		default:
			x.scenarios = append(x.scenarios, s)
		}
	}
	if wanted(random) {
		x.pools = c.Pools
	}
	all, err := c.recorded.scenarios(ctx, p)
	x.scenarios = append(x.scenarios, all...)
	return err
}

// lone is the name of the scenario that is there for several numbers of keys.
const lone = "lone"

func loneAmong(keys int) *lab.Scenario {
	s := lab.Lone(keys)
	s.Name = fmt.Sprintf("%s of %d", lone, keys)
	return s
}

// makeDir makes the directory for pictures, before a run of minutes that would end without.
func (c *simulateCmd) makeDir() error {
	if c.SVG == "" {
		return nil
	}
	if err := os.MkdirAll(c.SVG, 0o755); err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	return nil
}

// draw draws a picture of each scenario, and returns the names of the files.
func (c *simulateCmd) draw(found []compared) (files []string, err error) {
	if c.SVG == "" {
		return nil, nil
	}
	for i := range found {
		name, svg := found[i].picture()
		file := filepath.Join(c.SVG, name)
		if err := os.WriteFile(file, svg, 0o644); err != nil {
			return nil, fmt.Errorf("--svg: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}
