package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/wire"
)

type plansCmd struct {
	List   plansListCmd   `cmd:"" default:"withargs" help:"List the connections and their plans."`
	Show   plansShowCmd   `cmd:"" help:"Show the plan of one connection."`
	Apply  plansApplyCmd  `cmd:"" help:"Set plans by hand from a file: shows what is different, then writes it."`
	Export plansExportCmd `cmd:"" help:"Print the plans set by hand as a file that apply reads."`
	Delete plansDeleteCmd `cmd:"" help:"Take plans back that were set by hand: the catalogue's is in force again, or none."`
}

type plansListCmd struct {
	Catalogue bool `help:"Show what is known of providers, too."`
	JSON      bool `name:"json" help:"Print the answer as it came."`
	server    `embed:"" group:"Configuration"`
}

func (l *plansListCmd) run(ctx context.Context, p program.Process) error {
	c, err := l.client()
	if err != nil {
		return err
	}
	all, page, err := c.plans(ctx)
	if err != nil {
		return err
	}
	if l.JSON {
		return show(p.Stdout, page.json())
	}
	if err := sayPlans(p.Stdout, all); err != nil || !l.Catalogue {
		return err
	}
	fmt.Fprintln(p.Stdout)
	return sayCatalogue(p.Stdout, page.rest["catalogue"])
}

func sayPlans(w io.Writer, all []plan) error {
	rows := [][]string{{"CONNECTION", "POOL", "PROVIDER", "SOURCE", "DIMENSIONS"}}
	for _, p := range all {
		rows = append(rows, []string{
			configfile.Show(p.ConnectionID), named(p.Pool), named(p.Provider), p.Source, dimensions(p.dimensions),
		})
	}
	if err := table(w, rows...); err != nil {
		return err
	}
	for _, p := range all {
		for _, warn := range p.Warnings {
			fmt.Fprintf(w, "warning: plan %s: %s\n", configfile.Show(p.ConnectionID), warn)
		}
	}
	return nil
}

func sayCatalogue(w io.Writer, doc []byte) error {
	var providers []json.RawMessage
	if err := readFields(doc, &providers); err != nil {
		return err
	}
	rows := [][]string{{"CATALOGUE", "ALSO CALLED", "DIMENSIONS"}}
	for _, row := range providers {
		var names struct {
			Provider string
			Aliases  []string
		}
		if err := readFields(row, &names); err != nil {
			return err
		}
		sold, err := readDimensions(row)
		if err != nil {
			return err
		}
		rows = append(rows, []string{names.Provider, orDash(strings.Join(names.Aliases, ", ")), dimensions(sold)})
	}
	return table(w, rows...)
}

// dimensions are listed as in tokens/5h 1000000, usd/daily unknown.
func dimensions(all []plans.Dimension) string {
	parts := make([]string, len(all))
	for i, d := range all {
		parts[i] = d.Unit.String() + "/" + d.Window.String() + " " + limit(d.Limit, d.Unit)
	}
	return orDash(strings.Join(parts, ", "))
}

// orDash is a cell of a table that may be empty.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// named is a name in a table, where there may be none.
func named(id string) string {
	if id == "" {
		return "-"
	}
	return configfile.Show(id)
}

type plansExportCmd struct{ exporting }

func (x *plansExportCmd) run(ctx context.Context, p program.Process) error {
	c, err := x.client()
	if err != nil {
		return err
	}
	all, _, err := c.plans(ctx)
	if err != nil {
		return err
	}
	list := wire.Value{Kind: wire.Array}
	for i := range all {
		if !all[i].manual() {
			continue
		}
		doc, err := configfile.PlanDocument(all[i].ConnectionID, all[i].dimensions)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, doc)
	}
	return x.write(p.Stdout, configfile.Plans, list)
}

type plansDeleteCmd struct {
	IDs      []string `arg:"" name:"connection" help:"The connections."`
	deleting `embed:""`
}

func (d *plansDeleteCmd) run(ctx context.Context, p program.Process) error {
	e, err := d.start(p)
	if err != nil {
		return err
	}
	return d.each(p.Stdout, "plan", d.IDs, func(id string) (string, error) { return e.takeBack(ctx, id) })
}

// takeBack deletes the plan of a connection and says which it has now.
func (e *editor) takeBack(ctx context.Context, id string) (string, error) {
	var before, after struct{ Plan plan }
	path := pathOf(plansPath, id)
	answer, err := e.get(ctx, path, nil)
	if err != nil {
		return "", err
	}
	if err := readFields(answer, &before); err != nil {
		return "", err
	}
	if !before.Plan.manual() {
		return "", missing("connection " + configfile.Show(id) + " has no plan set by hand")
	}
	if _, err := e.send(ctx, http.MethodDelete, path, e.header, nil); err != nil {
		return "", err
	}
	if answer, err = e.get(ctx, path, nil); err != nil {
		return "", err
	}
	err = readFields(answer, &after)
	return "deleted, its plan is now from: " + after.Plan.Source, err
}

type plansApplyCmd struct {
	applying `embed:""`
}

func (c *plansApplyCmd) run(ctx context.Context, p program.Process) error {
	return c.applying.run(ctx, p, configfile.Plans, c.plan)
}

func (c *plansApplyCmd) plan(ctx context.Context, e *editor, file *configfile.File) ([]step, error) {
	wanted, err := file.Plans()
	if err != nil {
		return nil, c.fault(err)
	}
	all, _, err := e.plans(ctx)
	if err != nil {
		return nil, err
	}
	there := make(map[string]*plan, len(all))
	for i := range all {
		there[all[i].ConnectionID] = &all[i]
	}
	var steps []step
	for _, w := range wanted {
		s, err := putPlan(there[w.ConnectionID], w)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
		delete(there, w.ConnectionID)
	}
	for i := range all {
		if _, unlisted := there[all[i].ConnectionID]; unlisted && c.Prune && all[i].manual() {
			steps = append(steps, dropPlan(&all[i]))
		}
	}
	return steps, nil
}

// putPlan compares a plan with what there is. A plan of the catalogue is shown
// as what it was, and set by hand it is a new document all the same.
func putPlan(now *plan, w configfile.Plan) (step, error) {
	s := planStep(w.ConnectionID, create, http.MethodPut)
	if now == nil {
		now = &plan{ConnectionID: w.ConnectionID, Source: plans.None.String()}
	}
	before, err := configfile.PlanDocument(w.ConnectionID, now.dimensions)
	if err != nil {
		return s, err
	}
	after, err := configfile.PlanDocument(w.ConnectionID, w.Dimensions)
	if err != nil {
		return s, err
	}
	s.body = wire.AppendValue(nil, wire.JSON, after)
	s.revision = now.Revision
	s.diff = configfile.Diff(before, after)
	switch {
	case !now.manual():
		s.diff = append(s.diff, "source: "+now.Source+" -> manual")
	case bytes.Equal(wire.AppendValue(nil, wire.JSON, before), s.body):
		s.verb = unchanged
	default:
		s.verb = change
	}
	return s, nil
}

func dropPlan(p *plan) step {
	s := planStep(p.ConnectionID, remove, http.MethodDelete)
	s.revision = p.Revision
	for _, d := range p.dimensions {
		s.diff = append(s.diff, fmt.Sprintf("- dimensions[%s/%s] (limit %s)", d.Unit, d.Window, d.Limit.Format(d.Unit)))
	}
	return s
}

func planStep(id string, v verb, method string) step {
	return step{name: "plan " + configfile.Show(id), verb: v, method: method, path: pathOf(plansPath, id)}
}
