package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

type poolsCmd struct {
	List   poolsListCmd   `cmd:"" default:"withargs" help:"List the pools."`
	Show   poolsShowCmd   `cmd:"" help:"Show one pool, its keys, and who has used how much."`
	Apply  poolsApplyCmd  `cmd:"" help:"Make the pools those of a file: shows what is different, then writes it."`
	Export poolsExportCmd `cmd:"" help:"Print the pools as a file that apply reads."`
	Delete poolsDeleteCmd `cmd:"" help:"Delete pools. What their keys consumed stays counted."`
}

type poolsListCmd struct {
	JSON   bool `name:"json" help:"Print the answer as it came."`
	server `embed:"" group:"Configuration"`
}

func (l *poolsListCmd) run(ctx context.Context, p program.Process) error {
	c, err := l.client()
	if err != nil {
		return err
	}
	all, page, err := c.pools(ctx)
	if err != nil {
		return err
	}
	if l.JSON {
		return show(p.Stdout, page.json())
	}
	return sayPools(p.Stdout, all)
}

func sayPools(w io.Writer, all []pool) error {
	rows := [][]string{{"ID", "NAME", "PROVIDER", "MODE", "CONNECTIONS", "KEYS", "WEIGHTS", "ENFORCING", "REV"}}
	for _, p := range all {
		rows = append(rows, []string{
			configfile.Show(p.ID), configfile.Show(p.Name), configfile.Show(p.Provider), p.Mode.String(),
			strconv.Itoa(len(p.Connections)), strconv.Itoa(len(p.Allocations)), p.weights().String(),
			yes(p.Enforcing), strconv.FormatUint(p.Revision, 10),
		})
	}
	if err := table(w, rows...); err != nil {
		return err
	}
	for _, p := range all {
		for _, warn := range p.Warnings {
			fmt.Fprintf(w, "warning: pool %s: %s\n", configfile.Show(p.ID), warn)
		}
	}
	return nil
}

// weights is the sum of the allocations' weights.
func (p *pool) weights() (sum quota.Ratio) {
	for _, a := range p.Allocations {
		sum += a.Weight
	}
	return sum
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

type poolsExportCmd struct{ exporting }

// exporting is how a file is written.
type exporting struct {
	JSON   bool `name:"json" help:"Write JSON instead of YAML."`
	server `embed:"" group:"Configuration"`
}

// write prints a file with one section.
func (x *exporting) write(w io.Writer, section string, v wire.Value) error {
	text, err := configfile.Encode(section, v, x.JSON)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func (x *poolsExportCmd) run(ctx context.Context, p program.Process) error {
	c, err := x.client()
	if err != nil {
		return err
	}
	all, _, err := c.pools(ctx)
	if err != nil {
		return err
	}
	list := wire.Value{Kind: wire.Array}
	for _, pool := range all {
		doc, err := configfile.PoolDocument(pool.Pool)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, configfile.Short(doc))
	}
	return x.write(p.Stdout, configfile.Pools, list)
}

type poolsDeleteCmd struct {
	IDs      []string `arg:"" name:"id" help:"The pools."`
	deleting `embed:""`
}

func (d *poolsDeleteCmd) run(ctx context.Context, p program.Process) error {
	e, err := d.start(p)
	if err != nil {
		return err
	}
	return d.each(p.Stdout, "pool", d.IDs, func(id string) (string, error) {
		_, err := e.send(ctx, http.MethodDelete, pathOf(poolsPath, id), e.header, nil)
		return "deleted", noPool(id, err)
	})
}

// noPool says that there is no such pool in words of this command line.
func noPool(id string, err error) error {
	if r := new(refused); errors.As(err, &r) && r.Code == "not-found" {
		return missing("pool " + configfile.Show(id) + " does not exist: quotashare pools lists those that do")
	}
	return err
}
