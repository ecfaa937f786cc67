package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// warning is something an operator should know of a document.
type warning struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

func (w warning) String() string {
	if w.Field == "" {
		return w.Problem
	}
	return w.Field + " " + w.Problem
}

// pool is a pool as the engine shows it.
type pool struct {
	*plans.Pool `json:"-"`
	Revision    uint64    `json:"revision"`
	UpdatedAt   string    `json:"updatedAt"`
	Actor       string    `json:"actor"`
	Reason      string    `json:"reason"`
	Enforcing   bool      `json:"enforcing"`
	Warnings    []warning `json:"warnings"`
}

func (c *client) pools(ctx context.Context) ([]pool, *listing, error) {
	l, err := c.list(ctx, poolsPath, configfile.Pools, nil)
	if err != nil {
		return nil, nil, err
	}
	all := make([]pool, len(l.items))
	for i, item := range l.items {
		if all[i], err = readPool(item); err != nil {
			return nil, nil, err
		}
	}
	return all, l, nil
}

// readPool reads a pool strictly: what this program does not understand it must
// not write back.
func readPool(view []byte) (pool, error) {
	doc, err := wire.ParseJSON(view)
	if err != nil {
		return pool{}, err
	}
	document, faults := plans.ParsePool("", doc)
	if err := faults.Err(); err != nil {
		return pool{}, fmt.Errorf("the engine has a pool that this program does not understand: %w", err)
	}
	p := pool{Pool: document}
	return p, readFields(view, &p)
}

// plan is the plan of a connection as the engine shows it.
type plan struct {
	ConnectionID string    `json:"connectionId"`
	Provider     string    `json:"provider"`
	Pool         string    `json:"poolId"`
	Source       string    `json:"source"`
	Revision     uint64    `json:"revision"`
	UpdatedAt    string    `json:"updatedAt"`
	Actor        string    `json:"actor"`
	Reason       string    `json:"reason"`
	Warnings     []warning `json:"warnings"`
	dimensions   []plans.Dimension
}

// manual reports whether somebody set the plan by hand.
func (p *plan) manual() bool { return p.Source == plans.Manual.String() }

func (c *client) plans(ctx context.Context) ([]plan, *listing, error) {
	l, err := c.list(ctx, plansPath, configfile.Plans, nil)
	if err != nil {
		return nil, nil, err
	}
	all := make([]plan, len(l.items))
	for i, item := range l.items {
		if all[i], err = readPlan(item); err != nil {
			return nil, nil, err
		}
	}
	return all, l, nil
}

func readPlan(view []byte) (p plan, err error) {
	if p.dimensions, err = readDimensions(view); err != nil {
		return p, err
	}
	return p, readFields(view, &p)
}

func readDimensions(doc []byte) ([]plans.Dimension, error) {
	v, err := wire.ParseJSON(doc)
	if err != nil {
		return nil, err
	}
	dimensions, faults := plans.ParsePlan(v)
	if err := faults.Err(); err != nil {
		return nil, fmt.Errorf("the engine has a plan that this program does not understand: %w", err)
	}
	return dimensions, nil
}

// settings are the settings as the engine shows them.
type settings struct {
	plans.Settings
	revision uint64
}

func (c *client) settings(ctx context.Context) (*settings, []byte, error) {
	answer, err := c.get(ctx, settingsPath, nil)
	if err != nil {
		return nil, nil, err
	}
	doc, err := wire.ParseJSON(answer)
	if err != nil {
		return nil, nil, err
	}
	var faults wire.Faults
	r, _ := wire.Read(doc, "", &faults)
	r, _ = r.Object("settings")
	s := &settings{Settings: plans.DefaultSettings()}
	for name := range plans.Setting(plans.NumSettings) {
		o, _ := r.Object(name.String())
		v := &s.Settings[name]
		if n, ok := plans.ReadSetting(o, "value", name); ok {
			v.N = n
		}
		v.From = o.ID("from")
		v.Origin = origins[o.Get("source").Text]
	}
	var view struct{ Settings struct{ Revision uint64 } }
	if err := readFields(answer, &view); err != nil {
		return nil, nil, err
	}
	s.revision = view.Settings.Revision
	return s, answer, faults.Err()
}

var origins = map[string]plans.Origin{
	plans.Stored.String():      plans.Stored,
	plans.Environment.String(): plans.Environment,
}

// table prints rows in columns.
func table(w io.Writer, rows ...[]string) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// limit writes a limit, of which 0 is unknown.
func limit(a quota.Amount, u quota.Unit) string {
	if a == 0 {
		return "unknown"
	}
	return a.Format(u)
}
