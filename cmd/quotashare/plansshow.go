package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
)

type plansShowCmd struct {
	ID     string `arg:"" name:"connection" help:"The connection."`
	JSON   bool   `name:"json" help:"Print the answer as it came."`
	server `embed:"" group:"Configuration"`
}

func (s *plansShowCmd) run(ctx context.Context, p program.Process) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	answer, err := c.get(ctx, pathOf(plansPath, s.ID), nil)
	if err != nil {
		return err
	}
	if s.JSON {
		return show(p.Stdout, answer)
	}
	var doc struct{ Plan json.RawMessage }
	if err := readFields(answer, &doc); err != nil {
		return err
	}
	view, err := readPlan(doc.Plan)
	if err != nil {
		return err
	}
	return sayPlan(p.Stdout, &view)
}

func sayPlan(w io.Writer, p *plan) error {
	fmt.Fprintf(w, "%s, provider %s, pool %s, plan from: %s\n", configfile.Show(p.ConnectionID), named(p.Provider), named(p.Pool), p.Source)
	if p.Revision > 0 {
		fmt.Fprintf(w, "revision %d, %s%s%s\n", p.Revision, p.UpdatedAt, after(" by ", oneLine(p.Actor)), after(": ", oneLine(p.Reason)))
	}
	for _, warn := range p.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warn)
	}
	if len(p.dimensions) == 0 {
		_, err := fmt.Fprintln(w, "nothing is limited")
		return err
	}
	rows := [][]string{{"UNIT", "WINDOW", "LIMIT"}}
	for _, d := range p.dimensions {
		rows = append(rows, []string{d.Unit.String(), d.Window.String(), limit(d.Limit, d.Unit)})
	}
	return table(w, rows...)
}
